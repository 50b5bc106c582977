"""What `cear fit` makes of ten or thirty minutes, against the default that it starts from.

    CEAR_DATA=path/to/data python benchmarks/fit_vs_own.py demo mokb6-en --minutes 10
    python benchmarks/fit_vs_own.py demo --minutes 1 --folder quick

The default is `configs/own.yaml` as it is, for as long as it takes; `cear fit` has the minutes that it is given. Each
has a store of its own, so that neither finds what the other has made. Both are measured on validation, by which
`cear fit` chose, and on test, by which nobody did, and compared query by query. What has been made in the folder is
reused.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from cear.config import load_config
from cear.core.files import read_json, write_json
from cear.core.types import Split
from cear.evaluation import Evaluation, compare
from cear.pipeline import Run, run
from cear.reports import Provenance
from cear.tuning import fit

Found = dict[str, Any]

RECORD = Path("results/benchmarks/fit_vs_own.json")
FACTS = 5000  # of a split, at most
SPLITS: tuple[Split, ...] = ("valid", "test")


def compared(own: Run, fitted: Run) -> Found:
    """MRR and H@1 of both on both splits, with what the fitted run gains."""
    return {split: _on(split, own, fitted) for split in SPLITS}


def _on(split: Split, own: Run, fitted: Run) -> Found:
    facts = min(FACTS, len(own.kb.facts(split)))
    one, other = (each.evaluate(split, facts=facts) for each in (own, fitted))
    gains = {name: asdict(gain) | {"difference": gain.difference} for name, gain in compare(one, other).items()}
    return {"queries": len(one.queries), "inverse": _by_inverse(one, other), **gains}


def _by_inverse(one: Evaluation, other: Evaluation) -> Found:
    """MRR on queries whose fact train has the other way round, and on the rest."""
    return {name: [group["mrr"], other.by_inverse()[name]["mrr"]] for name, group in one.by_inverse().items()}


def race(data: str, minutes: float, folder: Path) -> Found:
    """The default and the fitted run on a knowledge base."""
    place = folder / data
    own = run(load_config("own", [f"data={data}"]), place / "own", store=place / "own" / "steps")
    start = time.perf_counter()
    name = f"fit-{minutes:g}"
    fitted = fit(data, place / name, minutes=minutes, store=place / name / "steps")
    seconds = {"own": sum(report.spent.seconds for report in own.steps()), "fit": time.perf_counter() - start}
    found = {"minutes": minutes, "seconds": seconds, "chosen": fitted.overrides, "trials": fitted.found["trials"]}
    return found | compared(own, fitted.run) | {"digest": own.kb.digest}


def told(data: str, found: Found) -> str:
    """A line for people."""
    test = found["test"]["mrr"]
    return (
        f"{data}, {found['minutes']:g} minutes: test MRR {test['first']:.4f} by own ({found['seconds']['own']:.0f} s), "
        f"{test['second']:.4f} by fit ({found['seconds']['fit']:.0f} s): {test['difference']:+.4f} "
        f"({test['low']:+.4f} to {test['high']:+.4f})"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the races that are asked for, and put them into the record beside those that are there."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="+", help="known data sets")
    parser.add_argument("--minutes", type=float, nargs="+", default=[10.0])
    parser.add_argument("--folder", type=Path, default=Path("runs/fit_vs_own"))
    parser.add_argument("--out", type=Path, default=RECORD, help="where the record goes")
    options = parser.parse_args(arguments)
    for data in options.data:
        for minutes in options.minutes:
            start = time.perf_counter()
            found = race(data, minutes, options.folder)
            asked = {"data": data, "minutes": minutes}
            seconds = time.perf_counter() - start
            provenance = Provenance.collect(config=asked, data=data, digest=found.pop("digest"), seconds=seconds)
            races = read_json(options.out)["races"] if options.out.exists() else {}
            races[f"{data}, {minutes:g} minutes"] = found | {"provenance": provenance.as_json()}
            what = "cear fit against configs/own.yaml on the same machine, each with its own steps"
            write_json(options.out, {"what": what, "races": races})
            print(told(data, found), flush=True)


if __name__ == "__main__":
    main()
