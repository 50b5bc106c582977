"""Kill workers, machines and the driver of a run on a cluster at random moments, and compare what it leaves.

The run of `cluster_equal.py` on three machines, nodes of Ray on this one. It runs once undisturbed. Then, trial by
trial, it begins in an empty store, and is disturbed up to eight times, each time within a third of the length of a
run: a worker that is making a step is killed (SIGKILL); or a machine other than the head, with its workers, and
another comes in its place; or the driver, and it is started again. Every trial must end, and every file of every
step must hold the bytes that it holds in the undisturbed run; step.json, which tells dates and seconds, and its seal
are left out. The seconds that a trial takes longer than the undisturbed run, by its kills, are what a kill costs.

    python benchmarks/cluster_kills.py              # 30 kills
    python benchmarks/cluster_kills.py --kills 3 --config small.yaml --out kills.json
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from kill_and_resume import differing
from on_ray import Driver, Machines, descendants, kill, working, written

from cear.config import load_config
from cear.core.files import write_json
from cear.data import load
from cear.reports import Provenance

RECORD = Path("results/benchmarks/cluster_kills.json")
KINDS = ("worker", "machine", "driver")
MOST = 8  # kills in one trial
LIMIT = 20.0  # a trial that takes so many times as long as an undisturbed run has not ended


@dataclass(frozen=True)
class Kill:
    """What was killed, when, and what the workers were doing."""

    what: str
    second: float
    making: list[str]


@dataclass
class Trial:
    """A run that is disturbed."""

    driver: Driver
    machines: Machines
    rng: random.Random
    length: float
    kills: list[Kill] = field(default_factory=list)

    lost_with_a_machine: int = 0
    """Drivers that were: Ray connects each to one of the machines."""

    def run(self, kinds: Sequence[str]) -> float:
        """The seconds to its end, through kills of these kinds."""
        shutil.rmtree(self.driver.place.folder, ignore_errors=True)
        start, self._process = time.perf_counter(), self.driver.start()
        for kind in kinds:
            if self._ends_within(self.rng.uniform(0, self.length / 3)):
                break
            self._disturb(kind, time.perf_counter() - start)
        if not self._ends_within(LIMIT * self.length):
            self._process.kill()
            sys.exit(f"A run did not end:\n{self.driver.said()}")
        return time.perf_counter() - start

    def _disturb(self, kind: str, second: float) -> None:
        workers = working(descendants(os.getpid()))
        if kind == "worker" and not workers:
            kind = "machine"  # nobody is making a step
        self.kills.append(Kill(kind, second, sorted(workers.values())))
        match kind:
            case "worker":
                kill(self.rng.choice([*workers]))
            case "machine":
                self.machines.lose_one(self.rng)
            case _:
                self._process.kill()
                self._process.wait()
                self._process = self.driver.start()

    def _ends_within(self, seconds: float) -> bool:
        """Whether the run ends in so many seconds; a driver that was lost with its machine is started again."""
        until = time.perf_counter() + seconds
        while True:
            try:
                code = self._process.wait(timeout=max(until - time.perf_counter(), 0))
            except subprocess.TimeoutExpired:
                return False
            if code == 0:
                return True
            if not self.kills or self.kills[-1].what != "machine":
                sys.exit(f"A run failed after {self.kills}:\n{self.driver.said()}")
            self.lost_with_a_machine += 1
            self._process = self.driver.start()


def run_trials(place: Path, options: argparse.Namespace) -> dict[str, Any]:
    """An undisturbed run, then trials until there were as many kills as are wanted."""
    config, rng = written(place, options.config), random.Random(options.seed)
    trials: list[dict[str, Any]] = []
    with Machines(options.machines, place / "cache of machines") as machines:
        Driver.on(place / "compiled", config, machines.address).finish()  # numba compiles once, and keeps it
        whole = Driver.on(place / "whole", config, machines.address)
        length, expected = whole.finish(), whole.place.artefacts()
        print(f"undisturbed: {length:.1f} s, {len(expected)} files", flush=True)
        while (left := options.kills - sum(len(trial["kills"]) for trial in trials)) > 0:
            trial = Trial(Driver.on(place / "trial", config, machines.address), machines, rng, length)
            seconds = trial.run([rng.choice(KINDS) for _ in range(min(left, rng.randint(1, MOST)))])
            if trial.kills:
                trials.append(told(trial, seconds, expected))
    return {"undisturbed_seconds": length, "files": expected, "each_trial": trials}


def told(trial: Trial, seconds: float, expected: dict[str, str]) -> dict[str, Any]:
    """How a trial went; it is printed, too."""
    different = differing(expected, trial.driver.place.artefacts())
    what = ", ".join(f"{each.what} at {each.second:.0f} s" for each in trial.kills)
    lost = (seconds - trial.length) / len(trial.kills)
    print(f"{what}: {'DIFFERENT' if different else 'equal'}, {lost:.1f} s lost for each", flush=True)
    kills = [asdict(each) for each in trial.kills]
    gone = {"drivers_lost_with_a_machine": trial.lost_with_a_machine}
    return {"kills": kills, "seconds": seconds, "seconds_lost_per_kill": lost, "different": different, **gone}


def record(
    found: dict[str, Any], options: argparse.Namespace, config: dict[str, Any], seconds: float
) -> dict[str, Any]:
    """What was compared, every trial, and where it comes from."""
    trials = found["each_trial"]
    kills = [each["what"] for trial in trials for each in trial["kills"]]
    lost = sum(trial["seconds"] - found["undisturbed_seconds"] for trial in trials)
    settings = {"run": config, "kills": options.kills, "machines": options.machines, "seed": options.seed}
    provenance = Provenance.collect(
        config=settings, data=config["data"], digest=load(config["data"]).digest, seconds=seconds
    )
    return {
        "what": "a run on several machines, whose workers, machines and driver are killed at random moments",
        "compared": "every file in the store but step.json and seal.json, by its bytes",
        "kills": len(kills),
        "kills_of": dict(sorted(Counter(kills).items())),
        "trials": len(trials),
        "equal": sum(not trial["different"] for trial in trials),
        "seconds_lost_per_kill": lost / max(len(kills), 1),
        **found,
        "provenance": provenance.as_json(),
    }


def parse(words: Sequence[str] | None) -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=30, help="how many kills")
    parser.add_argument("--machines", type=int, default=3, help="two or more")
    parser.add_argument("--seed", type=int, default=0, help="of what is killed, and when")
    parser.add_argument("--config", type=Path, help="another run than the benchmark's own")
    parser.add_argument("--out", type=Path, default=RECORD, help="where the record goes")
    return parser.parse_args(words)


def main(words: Sequence[str] | None = None) -> None:
    """Run all trials, write the record, and fail if one of them differs."""
    options, start = parse(words), time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        found = run_trials(place, options)
        config = load_config(place / "config.yaml").model_dump(mode="json")
        made = record(found, options, config, time.perf_counter() - start)
    write_json(options.out, made)
    lost = f"{made['seconds_lost_per_kill']:.1f} s lost for each"
    print(f"{made['equal']} of {made['trials']} trials, {made['kills']} kills, ended equal, {lost}; {options.out}")
    if made["equal"] < made["trials"]:
        sys.exit(1)


if __name__ == "__main__":
    main()
