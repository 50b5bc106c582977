"""What Ray costs and gains on one machine, as ratios in one run.

Folds: ComplEx learns from FB15K-237 without each of four folds, every training on one thread. One process makes them
one after the other; so does one worker of Ray, whose seconds above those are Ray's overhead, its start included; and
two workers make two at a time. All three take turns, and the median counts. The trained models must be equal.

Stage 2: the re-ranker of `kill_and_resume.py` learns from lists of the embedded knowledge base, by one process and
by two that share every batch (Ray Train, Gloo), on a thread each: seconds of training, lists a second, and how far
the losses of all epochs lie apart.

    CEAR_DATA=... python benchmarks/cluster_speed.py
    python benchmarks/cluster_speed.py --folds small.yaml --stage2 small.yaml --repeats 1 --out speed.json
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kill_and_resume import CONFIG, differing
from on_ray import Driver, written

from cear.config import load_config
from cear.core.files import write_json
from cear.data import load
from cear.reports import Provenance

RECORD = Path("results/benchmarks/cluster_speed.json")
FOLDS: dict[str, Any] = {
    "data": "fb15k-237",
    "threads": 1,
    "stage1": {"model": "complex", "rank": 64, "batch": 1000, "epochs": 2, "validate_every": 2},
    "candidates": {"k": 20, "crossfit": {"folds": 10, "held_out_folds": 4, "epochs": 2}},
    "reranker": {"kind": "wide"},  # whose folds they are; it is not trained
}
STAGE2: dict[str, Any] = CONFIG | {
    "candidates": {"k": 50, "crossfit": {"folds": 10}},
    "reranker": {"kind": "wide", "text": False, "width": 128, "dropout": 0, "epochs": 4, "validate_facts": 100},
}
WAYS: dict[str, dict[str, Any]] = {
    "one process": {},
    "Ray, one worker": {"on": "ray", "cpus": 1},
    "Ray, two workers": {"on": "ray", "cpus": 2},
}


def measure_folds(place: Path, config: Path, repeats: int) -> dict[str, Any]:
    """The seconds of each way in turn, and which files differ."""
    seconds: dict[str, list[float]] = {name: [] for name in WAYS}
    expected, different = dict[str, str](), set[str]()
    for repeat in range(repeats):
        for name, way in WAYS.items():
            driver = Driver.on(place / f"{name} {repeat}", config, part="folds", **way)
            seconds[name].append(driver.finish())
            expected = expected or driver.place.artefacts()
            different |= {*differing(expected, driver.place.artefacts())}
            print(f"{name}: {seconds[name][-1]:.1f} s", flush=True)
    return compared(seconds) | {"different": sorted(different)}


def compared(seconds: Mapping[str, Sequence[float]]) -> dict[str, Any]:
    """All times, their medians, and the two ratios."""
    alone, one, two = (statistics.median(seconds[name]) for name in WAYS)
    return {"seconds": seconds, "overhead": one / alone - 1, "two_workers_to_one": one / two}


def measure_stage2(place: Path, config: Path) -> dict[str, Any]:
    """One training of Stage 2 by one process and by two together, from the same lists."""
    Driver.on(place / "lists", config, part="lists").finish()
    found = {}
    for processes in (1, 2):
        folder = place / f"together {processes}"
        shutil.copytree(place / "lists" / "store", folder / "store")
        Driver.on(folder, config, "ray", part="reranker", cpus=processes, data_parallel=processes).finish()
        found[processes] = training_of(folder / "store")
        print(f"Stage 2, {processes} processes: {found[processes]['seconds']:.1f} s", flush=True)
    return told(found[1], found[2])


def training_of(store: Path) -> dict[str, Any]:
    """The seconds of the re-ranker's step, its lists, and the losses of its epochs."""
    (folder,) = (path for path in store.glob("reranker-*/*") if path.is_dir())
    training, step = (json.loads((folder / name).read_text()) for name in ("training.json", "step.json"))
    losses = [row["loss"] for phase in training["phases"].values() for row in phase["history"]]
    epochs = sum(phase["epoch"] for phase in training["phases"].values())
    return {"seconds": step["seconds"], "lists": epochs * training["lists"], "losses": losses}


def told(one: dict[str, Any], two: dict[str, Any]) -> dict[str, Any]:
    """Both trainings, their rates, and the largest difference of their losses."""
    rates = {name: each["lists"] / each["seconds"] for name, each in (("one", one), ("two", two))}
    apart = max(abs(a - b) for a, b in zip(one["losses"], two["losses"], strict=True))
    return {
        "one": one,
        "two": two,
        "lists_per_second": rates,
        "two_to_one": rates["two"] / rates["one"],
        "largest_difference_of_losses": apart,
    }


def record(found: dict[str, Any], configs: Mapping[str, Path], seconds: float) -> dict[str, Any]:
    """What was measured, and where it comes from."""
    settings = {name: load_config(path).model_dump(mode="json") for name, path in configs.items()}
    data = settings["folds"]["data"]
    provenance = Provenance.collect(config=settings, data=data, digest=load(data).digest, seconds=seconds)
    return {"what": "the overhead and the gain of Ray on one machine", **found, "provenance": provenance.as_json()}


def parse(words: Sequence[str] | None) -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folds", type=Path, help="another run whose folds are trained")
    parser.add_argument("--stage2", type=Path, help="another run whose re-ranker is trained")
    parser.add_argument("--repeats", type=int, default=3, help="how often each way has its turn")
    parser.add_argument("--out", type=Path, default=RECORD, help="where the record goes")
    return parser.parse_args(words)


def main(words: Sequence[str] | None = None) -> None:
    """Measure both, write the record, and fail if what was trained differs."""
    options, start = parse(words), time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        places = {name: Path(folder) / name for name in ("folds", "stage2")}
        for place in places.values():
            place.mkdir()
        configs = {
            "folds": written(places["folds"], options.folds, FOLDS),
            "stage2": written(places["stage2"], options.stage2, STAGE2),
        }
        found = {
            "folds": measure_folds(places["folds"], configs["folds"], options.repeats),
            "stage2": measure_stage2(places["stage2"], configs["stage2"]),
        }
        made = record(found, configs, time.perf_counter() - start)
    write_json(options.out, made)
    folds, stage2 = made["folds"], made["stage2"]
    print(f"overhead {folds['overhead']:.1%}, two workers {folds['two_workers_to_one']:.2f} times one")
    apart = stage2["largest_difference_of_losses"]
    print(f"Stage 2 by two {stage2['two_to_one']:.2f} times one, losses {apart:.1e} apart; {options.out}")
    if folds["different"]:
        sys.exit(f"What was trained differs: {folds['different']}")


if __name__ == "__main__":
    main()
