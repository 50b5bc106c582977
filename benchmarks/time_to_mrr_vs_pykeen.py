"""Seconds of training until ComplEx has validation MRR .33 on FB15K-237: ours against PyKEEN's, in one run.

    CEAR_DATA=path/to/data python benchmarks/time_to_mrr_vs_pykeen.py                # about an hour
    CEAR_DATA=path/to/data python benchmarks/time_to_mrr_vs_pykeen.py --minutes 30   # as far as it gets; repeat it

Both sides train ComplEx of one recipe, `--config`: the same rank and fresh scale, reciprocal relations, softmax
cross-entropy over all entities, an N3 regulariser and fused Adagrad, in one process with one number of threads. First
each side tunes itself by short trials, over the same weights of N3 and the same batch sizes; PyKEEN also chooses
whether a query counts as often as it has answers (its `loss_weighter`), as in our loss, or once. The seconds of the
trials are told and not charged. Then both race with what they chose, one after the other. After each epoch the clock
stops and *our* evaluator measures the validation MRR of either model, so that PyKEEN's slower evaluation is not held
against its training. In the race the filter holds the test facts too, as in figures that are published elsewhere (the
MRR is about .03 higher); trials are blind to them. PyKEEN is given `--patience` times our seconds.

A trial that is done is kept in `--trials`, and the same command goes on behind it. The race is never continued: speed
is a ratio in one run. docs/races.md says what each side gets and why.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from racing import (
    Choice,
    Curve,
    Finish,
    Follower,
    Kept,
    equal_mrr,
    first_facts,
    per_epoch,
    seconds_to,
    train_ours,
    tuned,
)

from cear.config import RunConfig, load_config
from cear.core.context import Deadline
from cear.core.errors import CearError, ConfigError, OutOfTime
from cear.core.files import write_json
from cear.core.types import SPLITS
from cear.data import KnowledgeBase, load
from cear.reports import Provenance
from cear.retrieval import ComplExConfig

CONFIG = Path("configs/fb15k-237/complex-n3-fast.yaml")
RECORD = Path("results/benchmarks/time_to_mrr_vs_pykeen.json")
TRIALS = Path("runs/time_to_mrr_vs_pykeen.trials.json")

Train = Callable[[KnowledgeBase, ComplExConfig, Choice, Follower], None]


class Race:
    """Two sides, one knowledge base, one recipe."""

    def __init__(self, options: argparse.Namespace) -> None:
        run = load_config(options.config)
        self.options, self.kb, self.config = options, load(run.data), _complex(options.config, run)
        self.deadline = Deadline.after(options.minutes)
        self.kept = Kept(options.trials, self.settings)

    @property
    def settings(self) -> dict[str, Any]:
        """What the curve of a trial depends on beside the choice that it tries."""
        told = {"threads": self.options.threads, "tuning_epochs": self.options.tuning_epochs}
        return {"data": self.kb.digest, "stage1": self.config.model_dump(mode="json"), **told}

    @property
    def grid(self) -> dict[str, list[Any]]:
        """What both sides choose from."""
        return {"n3": self.options.n3, "batch": self.options.batches}

    @property
    def start(self) -> Choice:
        """What the recipe says, where tuning begins."""
        return Choice(self.config.regularizer.weight, self.config.batch)

    def warm_up(self, train: Train) -> None:
        """Train on a few facts, unmeasured: what is imported and compiled once belongs to nobody's first epoch."""
        few = first_facts(self.kb, 200)
        train(few, self.config, self.start, Follower("warm-up", few, few.known("train"), Finish(epochs=1)))

    def tune(self, side: str, train: Train, grid: dict[str, list[Any]]) -> tuple[Choice, dict[str, Any]]:
        """What a side chooses, and the report of its trials."""
        finish = Finish(epochs=self.options.tuning_epochs)
        blind = self.kb.known("train", "valid")

        def trial(choice: Choice) -> Curve:
            return self.follow(side, train, choice, Follower(side, self.kb, blind, finish, self.deadline))

        self.warm_up(train)
        best, trials = tuned(self.start, grid, lambda choice: self.kept.trial(side, choice, trial))
        told = [{"choice": asdict(choice), "curve": _told(curve)} for choice, curve in trials.items()]
        return best, {"seconds": sum(curve[-1].seconds for curve in trials.values()), "trials": told}

    def run(self, side: str, train: Train, choice: Choice, finish: Finish) -> Curve:
        """A side's way to the finish."""
        everything = self.kb.known(*SPLITS)
        return self.follow(side, train, choice, Follower(side, self.kb, everything, finish, self.deadline))

    def follow(self, side: str, train: Train, choice: Choice, follower: Follower) -> Curve:
        """The curve of one training; none begins when the time is up."""
        if self.deadline.passed():
            raise OutOfTime(f"--minutes are over before a training of {side}. The same command goes on here.")
        print(f"{side:>8}: {choice}", flush=True)
        train(self.kb, self.config, choice, follower)
        return follower.curve


def compare(race: Race) -> dict[str, Any]:
    """The record of both sides: what they chose, their curves, and the ratios of their seconds."""
    from racing.with_pykeen import train_pykeen

    start, options = time.perf_counter(), race.options
    ours_chose, ours_tried = race.tune("ours", train_ours, race.grid)
    theirs_chose, theirs_tried = race.tune("pykeen", train_pykeen, {"facts_count": [True, False], **race.grid})
    ours = race.run("ours", train_ours, ours_chose, Finish(mrr=options.target, epochs=race.config.epochs))
    finish = Finish(mrr=options.target, seconds=options.patience * ours[-1].seconds)
    theirs = race.run("pykeen", train_pykeen, theirs_chose, finish)
    told = {**vars(options), "config": race.config.model_dump()}
    seconds = time.perf_counter() - start
    provenance = Provenance.collect(config=told, data=race.kb.name, digest=race.kb.digest, seconds=seconds)
    return {
        "what": f"seconds of training to validation MRR {options.target} on {race.kb.name}, ComplEx",
        "ours": _side(ours_chose, ours, options.target),
        "pykeen": _side(theirs_chose, theirs, options.target),
        **ratios(ours, theirs, options.target),
        "tuning": {"charged": False, "ours": ours_tried, "pykeen": theirs_tried},
        "pykeen_version": version("pykeen"),
        "provenance": provenance.as_json(),
    }


def ratios(ours: Curve, theirs: Curve, target: float) -> dict[str, Any]:
    """How many times faster we are: in an epoch, to the target, and to every MRR that PyKEEN had after an epoch.

    To the target it is a lower bound where PyKEEN ran out of time, and None where we did not get there.
    """
    one, other = per_epoch(ours), per_epoch(theirs)
    a, b = seconds_to(ours, target), seconds_to(theirs, target)
    return {
        "times_faster_per_epoch": {kind: other[kind] / one[kind] for kind in one},
        "times_faster": None if a is None else (b or theirs[-1].seconds) / a,
        "times_faster_is_a_lower_bound": b is None,
        "equal_mrr": equal_mrr(ours, theirs),
    }


def _side(choice: Choice, curve: Curve, target: float) -> dict[str, Any]:
    to_target = seconds_to(curve, target)
    told = {"choice": asdict(choice), "per_epoch": per_epoch(curve)}
    return {**told, "seconds_to_target": to_target, "curve": _told(curve)}


def _told(curve: Curve) -> list[dict[str, float]]:
    return [asdict(lap) for lap in curve]


def _complex(path: Path, run: RunConfig) -> ComplExConfig:
    if isinstance(run.stage1, ComplExConfig):
        return run.stage1
    raise ConfigError(f"{path} has `model: {run.stage1.model}`; the race is one of `model: complex`.")


def parse(arguments: list[str]) -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", type=Path, default=CONFIG, help="data and recipe of both sides")
    parser.add_argument("--target", type=float, default=0.33)
    parser.add_argument("--patience", type=float, default=5.5, help="times our seconds that PyKEEN may train")
    parser.add_argument("--n3", type=float, nargs="*", default=[0.005, 0.02, 0.05, 0.2], help="weights to choose from")
    parser.add_argument("--batches", type=int, nargs="*", default=[500, 1000, 2000], help="sizes to choose from")
    parser.add_argument("--tuning-epochs", type=int, default=2, help="epochs of a trial")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--minutes", type=float, help="stop after so many, finished trials kept, with exit code 3")
    parser.add_argument("--trials", type=Path, default=TRIALS, help="where they are kept until the record is written")
    parser.add_argument("--out", type=Path, default=RECORD)
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> None:
    """Tune, race and write the record."""
    options = parse(arguments)
    torch.set_num_threads(options.threads)
    try:
        race = Race(options)
        record = compare(race)
    except CearError as error:
        print(error, file=sys.stderr)
        raise SystemExit(3 if isinstance(error, OutOfTime) else 2) from None
    write_json(options.out, record)
    race.kept.clear()
    print(summary(record), options.out, sep="\n")


def summary(record: dict[str, Any]) -> str:
    """The ratios in a sentence."""
    an_epoch = f"An epoch is {record['times_faster_per_epoch']['seconds']:.1f} times faster"
    if record["times_faster"] is None:
        return f"{an_epoch}; we did not reach the target in the epochs of the configuration."
    at_least = "at least " if record["times_faster_is_a_lower_bound"] else ""
    return f"{an_epoch}, the target is reached {at_least}{record['times_faster']:.1f} times faster."


if __name__ == "__main__":
    main(sys.argv[1:])
