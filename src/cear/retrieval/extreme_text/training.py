"""The training of ExtremeText: each side on its own, in parts, with checkpoints from which it goes on."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from cear.core.context import NO_DEADLINE, Deadline
from cear.core.errors import OutOfTime
from cear.core.files import remove_leftovers
from cear.core.progress import Bar, Progress, silent
from cear.core.records import from_json
from cear.core.threads import torch_threads
from cear.core.types import SIDES, Ints, Side
from cear.data import KnowledgeBase
from cear.retrieval.extreme_text import kernels
from cear.retrieval.extreme_text.config import TreeSettings
from cear.retrieval.extreme_text.examples import Examples
from cear.retrieval.extreme_text.learner import Learner
from cear.retrieval.extreme_text.model import ExtremeText, side_file
from cear.retrieval.extreme_text.origin import origin_of

PART = 2**18  # examples between two looks at the clock


@dataclass
class SideTraining:
    """How far the training of a side is."""

    step: int = 0
    """Parts done, over all epochs."""
    losses: list[float] = field(default_factory=list)
    """The mean loss of an example, for each part."""
    done: bool = False


def train_extreme_text(
    kb: KnowledgeBase,
    config: TreeSettings,
    folder: Path,
    *,
    seed: int = 0,
    deadline: Deadline = NO_DEADLINE,
    progress: Progress = silent,
) -> tuple[ExtremeText, dict[Side, SideTraining]]:
    """The trained retriever, its arrays mapped from files in `folder`, and how training went; resumes what is there.

    It uses PyTorch's number of threads. With one, the result is a function of data, settings and seed; with more,
    they write to the same vectors without waiting for each other, and the result depends a little on their timing.
    At the deadline everything is saved and `OutOfTime` raised; every call gets some way, so that it ends some day.
    """
    remove_leftovers(folder)
    # One side after the other: only one is ever in memory.
    trainings = {side: _train_side(kb, config, side, folder, seed, deadline, progress) for side in SIDES}
    return ExtremeText.load(folder, origin_of(kb, config)), trainings


def _train_side(
    kb: KnowledgeBase,
    config: TreeSettings,
    side: Side,
    folder: Path,
    seed: int,
    deadline: Deadline,
    progress: Progress,
) -> SideTraining:
    path, seeds = side_file(folder, side), [seed, SIDES.index(side)]
    origin = {**origin_of(kb, config), "seed": str(seed), "side": side}
    resumed = Learner.resume(path, origin)
    state = from_json(SideTraining, json.loads(resumed[1]), path) if resumed else SideTraining()
    if state.done:
        return state
    examples = Examples.of(kb, side, config)
    learner = resumed[0] if resumed else Learner.fresh(examples, config, seeds)
    saved = time.monotonic()
    with progress(f"Training, {side}", config.epochs * len(examples)) as bar:
        for epoch_ends in _parts(learner, examples, config, state, seeds, bar):
            late = deadline.passed() and not state.done
            if epoch_ends or late or time.monotonic() - saved >= config.checkpoint_seconds:
                learner.save(path, json.dumps(asdict(state)), origin)
                saved = time.monotonic()
            if late:
                raise OutOfTime(
                    f"The time is over after part {state.step} of the training in {path}. "
                    "Everything is saved: the same command continues."
                )
    return state


def _parts(
    learner: Learner, examples: Examples, config: TreeSettings, state: SideTraining, seeds: list[int], bar: Bar
) -> Iterator[bool]:
    """Train on one part after the other, from where `state` is; after each say whether an epoch has ended."""
    parts = -(-len(examples) // PART)
    steps = config.epochs * parts
    bar.advance(state.step // parts * len(examples) + state.step % parts * PART)
    order: Ints = np.zeros(0, np.int64)
    while state.step < steps:
        epoch, part = divmod(state.step, parts)
        if not len(order) or part == 0:  # a function of seed and epoch, so that a training can go on inside of one
            order = np.random.default_rng([*seeds, epoch]).permutation(len(examples))
        facts = order[part * PART : (part + 1) * PART]
        rates = (config.learning_rate * (1 - state.step / steps), config.learning_rate * (1 - (state.step + 1) / steps))
        state.losses.append(_train_part(learner, examples, facts, rates))
        state.step += 1
        state.done = state.step == steps
        bar.advance(len(facts))
        bar.describe(f"epoch {epoch + 1}: loss {state.losses[-1]:.4f}")
        yield part == parts - 1


def _train_part(learner: Learner, examples: Examples, facts: Ints, rates: tuple[float, float]) -> float:
    """One pass over these facts; the mean loss."""
    model = learner.model
    rows, answers = examples.rows(facts), examples.answer[facts]
    with torch_threads() as threads:
        loss = kernels.train(
            rows, answers, model.texts.arrays, model.tree, model.weights, learner.squares, rates, threads
        )
    return float(loss) / len(facts)
