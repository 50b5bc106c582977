"""Kill `cear run` at random moments of all its steps, let it continue, and compare what it leaves byte by byte.

A two-stage run on the embedded knowledge base: ComplEx, and beside it rules, texts and a label tree, each trained
on all facts and again without each of two folds; lists, features, a re-ranker with a second phase, fusion and the
evaluation on test. It runs once undisturbed. Then, trial by trial, it begins in an empty store, is killed (SIGKILL) up
to twelve times, each time within a third of the length of a run, and is started again until it ends. Every file of
every step must hold the bytes that it holds in the undisturbed run. Left out are step.json, which tells dates and
seconds, and its seal.

    python benchmarks/kill_and_resume.py              # 20 kills
    python benchmarks/kill_and_resume.py --kills 200
    python benchmarks/kill_and_resume.py --kills 2 --out /tmp/kills.json
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import yaml

from cear.core.files import file_digest, write_json
from cear.data import load
from cear.reports import Provenance

RECORD = Path("results/benchmarks/kill_and_resume.json")
OFTEN = {"checkpoint_seconds": 0.2}  # so that a kill falls between two checkpoints of one epoch
CONFIG: dict[str, Any] = {
    "data": "demo",
    "threads": 1,
    "stage1": {
        "model": "complex",
        "rank": 32,
        "batch": 200,
        "epochs": 6,
        "validate_every": 2,
        "loss": {"negatives": 1500},  # random choices in every step, so that a wrong resumption would show
        **OFTEN,
    },
    "candidates": {
        "k": 20,
        "crossfit": {"folds": 10, "held_out_folds": 2},
        "extra_retrievers": {
            "rules": {"model": "rules"},
            "texts": {"model": "text", "tokens": 8, "words": 32, "hidden": 64, "batch": 500, "epochs": 2, **OFTEN},
            "tree": {"model": "extreme_text", "dim": 20, "pair_bits": 12, "epochs": 2, **OFTEN},
        },
    },
    "reranker": {
        "kind": "wide",
        "width": 32,
        "text_tokens": 8,
        "max_tokens": 2000,
        "epochs": 2,
        "validate_facts": 200,
        "end_to_end": {"layers": 1, "lists_per_epoch": 50},
        **OFTEN,
    },
}
MOST = 12
"""Kills in one trial."""
IGNORED = ("step.json", "seal.json", ".lock")  # dates, seconds and memory; and who was making a step


@dataclass(frozen=True)
class Kill:
    """When a run was killed, and what it was doing."""

    second: float
    making: list[str]
    """The kinds of the steps that were unfinished; none between two steps, before the first and after the last."""
    finished: int
    """Steps that were."""


@dataclass(frozen=True)
class Place:
    """Where a run works: its folder, its store, and its cache, which keeps text vectors."""

    folder: Path

    @property
    def store(self) -> Path:
        """Where its steps are kept."""
        return self.folder / "store"

    def start(self, config: Path) -> subprocess.Popen[bytes]:
        """`cear run` in a process of its own."""
        command = [sys.executable, "-c", "from cear.cli import main; main()", "run", str(config)]
        command += ["--out", str(self.folder / "run"), "--store", str(self.store)]
        environment = os.environ | {"CEAR_CACHE": str(self.folder / "cache")}
        self.folder.mkdir(exist_ok=True)
        with (self.folder / "output.txt").open("ab") as output:
            return subprocess.Popen(command, stdout=output, stderr=output, env=environment)

    def finish(self, config: Path) -> float:
        """The seconds of a run to its end."""
        start = time.perf_counter()
        if self.start(config).wait() != 0:
            sys.exit(f"A run failed:\n{(self.folder / 'output.txt').read_text()}")
        return time.perf_counter() - start

    def artefacts(self) -> dict[str, str]:
        """The SHA-256 of every file of every step, by its path in the store."""
        files = (path for path in sorted(self.store.rglob("*")) if path.is_file() and not path.name.endswith(IGNORED))
        return {str(path.relative_to(self.store)): file_digest(path) for path in files}

    def killed_at(self, second: float) -> Kill:
        """What a run that was killed has left."""
        steps = [path for path in self.store.glob("*/*") if path.is_dir()]
        unfinished = [path.parent.name for path in steps if path.suffix == ".partial"]
        return Kill(second, sorted(unfinished), len(steps) - len(unfinished))


def run_trial(place: Place, config: Path, rng: random.Random, length: float) -> list[Kill]:
    """Begin afresh, be killed up to twelve times, and finish; the kills."""
    shutil.rmtree(place.folder, ignore_errors=True)
    kills: list[Kill] = []
    for _ in range(rng.randint(1, MOST)):
        second = rng.uniform(0, length / 3)  # short enough that many fall into one run, long enough to get on
        if ends_before(place.start(config), second):
            return kills
        kills.append(place.killed_at(second))
    place.finish(config)
    return kills


def ends_before(process: subprocess.Popen[bytes], second: float) -> bool:
    """Whether a process ends by itself within so many seconds; if not, it is killed."""
    try:
        if process.wait(timeout=second) != 0:
            sys.exit("A run failed before it was killed.")
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return False
    return True


def differing(expected: dict[str, str], found: dict[str, str]) -> list[str]:
    """The files that are not the same in both, or only in one."""
    return sorted(path for path in expected.keys() | found.keys() if expected.get(path) != found.get(path))


def run_trials(place: Path, options: argparse.Namespace) -> dict[str, Any]:
    """An undisturbed run, then trials until there were as many kills as are wanted."""
    config = place / "config.yaml"
    config.write_text(yaml.safe_dump(CONFIG))
    whole = Place(place / "whole")
    Place(place / "compiled").finish(config)  # numba compiles once, and keeps it: later runs are shorter
    seconds, expected = whole.finish(config), whole.artefacts()
    length = seconds
    print(f"undisturbed: {seconds:.1f} s, {len(expected)} files", flush=True)
    trials: list[dict[str, Any]] = []
    rng = random.Random(options.seed)
    while sum(len(trial["kills"]) for trial in trials) < options.kills:
        trial = Place(place / "trial")
        kills = run_trial(trial, config, rng, length)
        if not kills:
            length *= 0.8  # it ended before its kill: the machine is quicker than it was
            continue
        different = differing(expected, trial.artefacts())
        trials.append({"kills": [asdict(kill) for kill in kills], "different": different})
        tell(len(trials), kills, different)
    return {"undisturbed_seconds": seconds, "files": expected, "each_trial": trials}


def tell(number: int, kills: Sequence[Kill], different: Sequence[str]) -> None:
    """Print how a trial went."""
    where = "; ".join(f"{kill.second:.1f} s, {' and '.join(kill.making) or 'between steps'}" for kill in kills)
    print(f"trial {number}: killed at {where}: {'DIFFERENT' if different else 'equal'}", flush=True)
    for path in different:
        print(f"    {path}", flush=True)


def record(found: dict[str, Any], options: argparse.Namespace, seconds: float) -> dict[str, Any]:
    """What was compared, every trial, and where it comes from."""
    trials = found["each_trial"]
    kills = [kill for trial in trials for kill in trial["kills"]]
    where = Counter(" and ".join(kill["making"]) or "between steps" for kill in kills)
    settings = {"run": CONFIG, "kills": options.kills, "seed": options.seed}
    provenance = Provenance.collect(config=settings, data="demo", digest=load("demo").digest, seconds=seconds)
    return {
        "what": "a two-stage run, killed (SIGKILL) at random moments of all its steps, against an undisturbed one",
        "compared": "every file in the store but step.json and seal.json, by its bytes",
        "kills": len(kills),
        "kills_while_making": dict(sorted(where.items())),
        "trials": len(trials),
        "equal": sum(not trial["different"] for trial in trials),
        **found,
        "provenance": provenance.as_json(),
    }


def parse() -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=20, help="how many kills at least")
    parser.add_argument("--seed", type=int, default=0, help="of the moments of the kills")
    parser.add_argument("--out", type=Path, default=RECORD, help="where the record goes")
    return parser.parse_args()


def main() -> None:
    """Run all trials, write the record, and fail if one of them differs."""
    options, start = parse(), time.perf_counter()
    with tempfile.TemporaryDirectory() as place:
        found = run_trials(Path(place), options)
    made = record(found, options, time.perf_counter() - start)
    write_json(options.out, made)
    print(json.dumps(made["kills_while_making"], indent=2))
    print(f"{made['equal']} of {made['trials']} trials, {made['kills']} kills, ended as if never killed; {options.out}")
    if made["equal"] < made["trials"]:
        sys.exit(1)


if __name__ == "__main__":
    main()
