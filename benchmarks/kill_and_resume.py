"""Kill a training at random moments, let it resume, and see whether anything in its result changed.

`cear run` trains on the embedded knowledge base once without interruption; then, trial by trial, it starts afresh,
is killed (SIGKILL) at random moments from its start to its end, and is run again until it finishes. The best
weights, to the bit, the history of the training and the test figures must be those of the first run.

python benchmarks/kill_and_resume.py --trials 20
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import yaml
from safetensors import safe_open

from cear.core.files import read_json, write_json
from cear.data import load
from cear.reports import Provenance

RECORD = Path("results/benchmarks/kill_and_resume.json")
CEAR = Path(sys.executable).with_name("cear")
CONFIG: dict[str, Any] = {
    "data": "demo",
    "threads": 1,
    "stage1": {
        "rank": 64,
        "batch": 200,
        "epochs": 30,
        "validate_every": 3,
        "relation_prediction": 0.1,
        "loss": {"negatives": 1500},  # random choices in every step, so that a wrong resume would show
        "checkpoint_seconds": 0.2,
    },
}


@dataclass(frozen=True)
class Kill:
    """When a run was killed, and the place of the checkpoint that it left."""

    second: float
    epoch: int
    step: int


@dataclass(frozen=True)
class Outcome:
    """What must not depend on interruptions."""

    weights: str
    """SHA-256 of the best weights."""
    history: list[dict[str, float]]
    figures: dict[str, Any]


def main() -> None:
    """Run all trials, write the record, and fail if one of them differs."""
    options = parse()
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as place:
        config = Path(place) / "config.yaml"
        config.write_text(yaml.safe_dump(CONFIG))
        whole_seconds, expected = run_whole(config, Path(place) / "whole")
        print(f"without interruption: {whole_seconds:.1f} s, test MRR {expected.figures['both']['mrr']:.4f}")
        trials = [
            run_trial(config, Path(place) / "trial", number, whole_seconds, expected, options.seed)
            for number in range(1, options.trials + 1)
        ]
    write_json(options.out, record(trials, whole_seconds, expected, time.perf_counter() - start))
    different = [trial["trial"] for trial in trials if not trial["equal"]]
    print(f"{len(trials) - len(different)} of {len(trials)} trials ended as if never killed; {options.out}")
    if different:
        sys.exit(f"Different results in trials {different}.")


def run_whole(config: Path, out: Path) -> tuple[float, Outcome]:
    """The seconds and the outcome of a run that nobody interrupts."""
    start = time.perf_counter()
    if start_run(config, out).wait() != 0:
        sys.exit(f"The run without interruption failed: {CEAR} run {config}")
    return time.perf_counter() - start, outcome(out)


def run_trial(
    config: Path, out: Path, number: int, whole_seconds: float, expected: Outcome, seed: int
) -> dict[str, Any]:
    """Start afresh, be killed once to three times, finish, compare."""
    rng = random.Random(f"{seed} {number}")
    wanted, latest = rng.randint(1, 3), whole_seconds
    kills: list[Kill] = []
    shutil.rmtree(out, ignore_errors=True)
    while len(kills) < wanted:
        second, start = rng.uniform(0, latest), time.perf_counter()
        if not finishes_before(start_run(config, out), second):
            kills.append(Kill(second, *place_of(out)))
        elif kills:
            break
        else:  # too late for a kill, for the machine is quicker than it was: the trial begins again
            latest = min(latest, time.perf_counter() - start)
            shutil.rmtree(out)
    finished = start_run(config, out).wait() == 0
    found = outcome(out) if finished else None
    equal = found == expected and not leftovers(out)
    where = ", ".join(f"{kill.second:.1f} s (epoch {kill.epoch}, step {kill.step})" for kill in kills)
    print(f"trial {number}: killed at {where}: {'equal' if equal else 'DIFFERENT'}", flush=True)
    return {"trial": number, "equal": equal, "kills": [asdict(kill) for kill in kills]}


def start_run(config: Path, out: Path) -> subprocess.Popen[bytes]:
    """The training, in a process of its own."""
    command = [str(CEAR), "run", str(config), "--out", str(out)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def finishes_before(process: subprocess.Popen[bytes], second: float) -> bool:
    """Whether a process ends by itself within so many seconds; if not, it is killed."""
    try:
        process.wait(timeout=second)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return False
    return True


def outcome(out: Path) -> Outcome:
    """What a finished run leaves, without times."""
    weights = hashlib.sha256((out / "stage1" / "best.safetensors").read_bytes()).hexdigest()
    history = read_json(out / "stage1" / "training.json")["history"]
    return Outcome(weights, history, read_json(out / "test.json")["stage1"])


def place_of(out: Path) -> tuple[int, int]:
    """Epoch and step of the checkpoint in a run folder; (0, 0) when there is none yet."""
    path = out / "stage1" / "checkpoint.safetensors"
    if not path.exists():
        return 0, 0
    with safe_open(path, framework="np") as file:
        state = json.loads(file.metadata()["state"])
    return state["epoch"], state["step"]


def leftovers(out: Path) -> list[Path]:
    """Files of interrupted writes that nobody cleared away."""
    return list(out.rglob("*.partial"))


def record(trials: list[dict[str, Any]], whole_seconds: float, expected: Outcome, seconds: float) -> dict[str, Any]:
    """The record: what was compared, every trial, and where it comes from."""
    provenance = Provenance.collect(config=CONFIG, data="demo", digest=load("demo").digest, seconds=seconds)
    return {
        "what": "a training killed (SIGKILL) at random moments and resumed, against one that was not",
        "compared": ["best weights, SHA-256", "training history", "test figures", "no partial files left"],
        "trials": len(trials),
        "equal": sum(trial["equal"] for trial in trials),
        "kills": sum(len(trial["kills"]) for trial in trials),
        "whole_seconds": whole_seconds,
        "weights_sha256": expected.weights,
        "figures": expected.figures,
        "each_trial": trials,
        "provenance": provenance.as_json(),
    }


def parse() -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=20, help="how many trainings are killed and resumed")
    parser.add_argument("--seed", type=int, default=0, help="of the moments of the kills")
    parser.add_argument("--out", type=Path, default=RECORD, help="where the record goes")
    return parser.parse_args()


if __name__ == "__main__":
    main()
