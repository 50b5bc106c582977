"""Whether a promise holds: `--max-false` on random splits of the embedded knowledge base.

    python benchmarks/promises.py --splits 20

All facts are pooled and split anew, in the sizes that they came in; every entity and relation stays in train. The
demo's system learns from each split, and a promise is made about its proposals that are neither in train nor in valid:
at most so many of those above a threshold are false. It holds if so many are test facts; all else counts as false.
Beside it what is right among the first proposals, and the calibration. A split that is done is kept in the work folder
and not made again, and an interrupted one goes on.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from completing import demo_config, write_facts

from cear.completion import among, fact_keys, promise
from cear.core.files import read_json, write_json
from cear.core.types import SPLITS
from cear.data import KnowledgeBase, load
from cear.pipeline import CompletionEvaluation, Run, run
from cear.pipeline.parts import Whole
from cear.reports import Provenance

RECORD, WORK = Path("results/benchmarks/promises.json"), Path("runs/benchmarks/promises")
MAX_FALSE = (0.1, 0.2)
TOPS = (100, 300)


def split_anew(kb: KnowledgeBase, folder: Path, *, seed: int) -> Path:
    """A folder with the facts of all splits, dealt anew by the seed in the same sizes."""
    pool = np.concatenate([kb.facts(split) for split in SPLITS])
    pooled = write_facts(folder / "pooled", {"train": pool}, kb) / "train.txt"
    valid, test = (len(kb.facts(split)) / len(pool) for split in ("valid", "test"))
    dealt = load(pooled, seed=seed, valid_share=valid, test_share=test, cache=False)
    named = write_facts(folder / "data", {split: dealt.facts(split) for split in SPLITS}, dealt)
    for texts in ("entity2text.txt", "relation2text.txt"):  # one file of facts has no names
        shutil.copyfile(folder / "pooled" / texts, named / texts)
    return named


def kept_promise(finished: Run, found: CompletionEvaluation, max_false: float) -> dict[str, Any]:
    """A promise about the proposals, and what came of it; without a threshold nothing was promised."""
    steps, kb = finished.plan.completion, finished.kb
    proposals = steps.proposed(Whole(kb))
    proposals = proposals[~among(fact_keys(proposals.facts, kb), kb.facts("valid"), kb)]
    made = promise(steps.calibrator, proposals, max_false, seed=finished.plan.context.seed)
    if made.threshold is None:
        return {"max_false": max_false, "threshold": None}
    above = found.probability >= made.threshold
    right, count = int(found.proposed.right[above].sum()), int(above.sum())
    told = {"max_false": max_false, "threshold": made.threshold, "proposals": count, "right": right}
    return told | {"precision": right / count, "holds": right / count >= 1 - max_false}


def measure_split(kb: KnowledgeBase, folder: Path, *, seed: int, settings: Sequence[str]) -> dict[str, Any]:
    """The promises and the figures of one split."""
    data = split_anew(kb, folder, seed=seed)
    finished = run(demo_config([f"data={data}", *settings]), folder / "run")
    found = finished.evaluate_completion()
    return {
        "seed": seed,
        "settings": [*settings],
        "sizes": {split: len(finished.kb.facts(split)) for split in SPLITS},
        "promises": [kept_promise(finished, found, max_false) for max_false in MAX_FALSE],
        "right": {str(n): found.proposed.right_at(n) for n in TOPS},
        "ece": found.calibration.ece,
        "expected": found.calibration.expected,
        "came_true": found.calibration.right,
        "seconds": sum(report.spent.seconds for report in finished.steps()),
    }


def kept_split(kb: KnowledgeBase, work: Path, *, seed: int, settings: Sequence[str]) -> dict[str, Any]:
    """The same from the work folder, where an earlier call with the same settings has left it."""
    path, folder = work / f"split-{seed:02d}.json", work / f"split-{seed:02d}"
    if path.exists() and read_json(path)["settings"] == [*settings]:
        found: dict[str, Any] = read_json(path)
        return found
    found = measure_split(kb, folder, seed=seed, settings=settings)
    write_json(path, found)
    shutil.rmtree(folder)
    return found


def summary(splits: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """In how many splits each promise was made and held, and the spread of the other figures."""
    promises = {}
    for place, max_false in enumerate(MAX_FALSE):
        made = [each["promises"][place] for each in splits if each["promises"][place]["threshold"] is not None]
        columns = {key: spread([each[key] for each in made]) for key in ("precision", "proposals")} if made else {}
        promises[str(max_false)] = {"made": len(made), "held": sum(each["holds"] for each in made), **columns}
    right = {str(n): spread([each["right"][str(n)] for each in splits]) for n in TOPS}
    return {"promises": promises, "right": right, "ece": spread([each["ece"] for each in splits])}


def spread(values: Sequence[float]) -> dict[str, float]:
    """The mean of some numbers, their standard deviation, the least and the greatest."""
    deviation = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
    return {"mean": float(np.mean(values)), "deviation": deviation, "least": min(values), "greatest": max(values)}


def parse(arguments: list[str]) -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=20, help="how many, with the seeds from 0 on")
    parser.add_argument("--data", default="demo", help="another knowledge base that the demo's system learns from")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--set", nargs="*", default=[], help="settings of the runs, such as stage1.epochs=2")
    parser.add_argument("--work", type=Path, default=WORK, help="where what is done is kept")
    parser.add_argument("--json", type=Path, default=RECORD, help="where the record goes")
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> None:
    """Measure, and write the record."""
    options, splits = parse(arguments), []
    kb, settings = load(options.data), [f"threads={options.threads}", *options.set]
    for seed in range(options.splits):
        splits.append(kept_split(kb, options.work, seed=seed, settings=settings))
        print(f"split {seed}: right {splits[-1]['right']}, {splits[-1]['promises']}", flush=True)
    told = summary(splits)
    for max_false, each in told["promises"].items():
        print(f"at most {max_false} false: promised in {each['made']} of {len(splits)} splits, held in {each['held']}")
    config = {"splits": options.splits, "run": demo_config([f"data={options.data}", *settings]).model_dump()}
    spent = sum(each["seconds"] for each in splits)
    provenance = Provenance.collect(config=config, data=kb.name, digest=kb.digest, seconds=spent)
    what = "promises about the share of false proposals, on random splits: made from validation, held by test facts"
    write_json(options.json, {"what": what, **told, "splits": splits, "provenance": provenance.as_json()})
    print(options.json)


if __name__ == "__main__":
    main(sys.argv[1:])
