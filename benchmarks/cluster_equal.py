"""One run made by one process, by workers of Ray, and by a cluster of machines: every file must be equal.

The run of `kill_and_resume.py` on the embedded knowledge base, with a third fold and probabilities: ComplEx, rules,
texts and a label tree on all facts and on folds, lists, features, a re-ranker, fusion, evaluation, and a completion.
Each begins in an empty store. Every file of every step must hold the same bytes. Left out are step.json, which tells
dates and seconds, and its seal. The machines are nodes of Ray on this one, with a processor each.

    python benchmarks/cluster_equal.py
    python benchmarks/cluster_equal.py --workers 2 --machines 0 --config small.yaml --out equal.json
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from kill_and_resume import differing
from on_ray import Driver, Machines, written

from cear.config import load_config
from cear.core.files import write_json
from cear.data import load
from cear.reports import Provenance

RECORD = Path("results/benchmarks/cluster_equal.json")


def on_machines(count: int, place: Path, config: Path) -> Driver:
    """The run, made by so many machines."""
    with Machines(count, place / "cache of machines") as machines:
        driver = Driver.on(place / f"machines-{count}", config, machines.address)
        driver.finish()
    return driver


def on_workers(count: int, place: Path, config: Path) -> Driver:
    """The run, made by so many workers on this machine."""
    driver = Driver.on(place / f"workers-{count}", config, "ray", cpus=count)
    driver.finish()
    return driver


def alone(place: Path, config: Path) -> Driver:
    """The run, made by one process."""
    driver = Driver.on(place / "alone", config)
    driver.finish()
    return driver


def ways(options: argparse.Namespace) -> dict[str, Callable[[Path, Path], Driver]]:
    """Who makes the run, by name; the first is what the others are compared with."""
    found: dict[str, Callable[[Path, Path], Driver]] = {"one process": alone}
    found |= {f"Ray, workers: {count}": partial(on_workers, count) for count in options.workers}
    if options.machines:
        found[f"Ray, machines: {options.machines}"] = partial(on_machines, options.machines)
    return found


def compare(place: Path, options: argparse.Namespace) -> dict[str, Any]:
    """The files of the run by one process, and of every other way how long it took and which files differ."""
    config, expected = written(place, options.config), dict[str, str]()
    each: dict[str, Any] = {}
    for name, make in ways(options).items():
        start = time.perf_counter()
        found = make(place, config).place.artefacts()
        seconds, expected = time.perf_counter() - start, expected or found
        each[name] = {"seconds": seconds, "files": len(found), "different": differing(expected, found)}
        print(f"{name}: {seconds:.1f} s, {len(found)} files, {len(each[name]['different'])} different", flush=True)
    return {"files": expected, "each": each}


def record(
    found: dict[str, Any], options: argparse.Namespace, config: dict[str, Any], seconds: float
) -> dict[str, Any]:
    """What was compared, and where it comes from."""
    settings = {"run": config, "workers": options.workers, "machines": options.machines}
    digest = load(config["data"]).digest
    provenance = Provenance.collect(config=settings, data=config["data"], digest=digest, seconds=seconds)
    return {
        "what": "a run of both stages, folds and a completion by one process, by workers of Ray, by several machines",
        "compared": "every file in the store but step.json and seal.json, by its bytes",
        "equal": all(not each["different"] for each in found["each"].values()),
        **found,
        "provenance": provenance.as_json(),
    }


def parse(words: Sequence[str] | None) -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, nargs="*", default=[1, 2, 4], help="numbers of workers on this machine")
    parser.add_argument("--machines", type=int, default=3, help="of a cluster on this machine; 0 leaves it out")
    parser.add_argument("--config", type=Path, help="another run than the benchmark's own")
    parser.add_argument("--out", type=Path, default=RECORD, help="where the record goes")
    return parser.parse_args(words)


def main(words: Sequence[str] | None = None) -> None:
    """Make the run in every way, write the record, and fail if one of them differs."""
    options, start = parse(words), time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        found = compare(place, options)
        config = load_config(place / "config.yaml").model_dump(mode="json")
        made = record(found, options, config, time.perf_counter() - start)
    write_json(options.out, made)
    print(f"{'equal' if made['equal'] else 'DIFFERENT'}; {options.out}")
    if not made["equal"]:
        sys.exit(1)


if __name__ == "__main__":
    main()
