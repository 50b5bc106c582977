"""The training of ExtremeText: each side on its own, in parts, with checkpoints from which it goes on."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from cear.data import KnowledgeBase
from cear.errors import MismatchError
from cear.files import remove_leftovers
from cear.nouns import SIDES, Ints, Side
from cear.progress import Bar, Progress, silent
from cear.retrieval.extreme_text import kernels
from cear.retrieval.extreme_text.config import ExtremeTextConfig
from cear.retrieval.extreme_text.examples import Examples
from cear.retrieval.extreme_text.fresh import fresh_model
from cear.retrieval.extreme_text.model import ExtremeText, side_file
from cear.retrieval.extreme_text.side import SideModel
from cear.retrieval.threads import torch_threads
from cear.tensors import read_tensors, write_tensors

PART = 2**18  # examples between two looks at the clock


@dataclass
class SideTraining:
    """How far the training of a side is."""

    step: int = 0
    """Parts done, over all epochs."""
    seconds: float = 0.0
    losses: list[float] = field(default_factory=list)
    """The mean loss of an example, for each part."""


def train_extreme_text(
    kb: KnowledgeBase, config: ExtremeTextConfig, folder: Path, *, seed: int = 0, progress: Progress = silent
) -> tuple[ExtremeText, dict[Side, SideTraining]]:
    """The trained retriever, its arrays mapped from files in `folder`, and how training went; resumes what is there.

    It uses PyTorch's number of threads. With one, the result is a function of data, settings and seed; with more,
    they write to the same vectors without waiting for each other, and the last digits depend on their timing.
    """
    remove_leftovers(folder)
    fingerprint = hashlib.sha256(f"{config.model_dump_json()} {seed} {kb.digest}".encode()).hexdigest()
    # One side after the other: only one is ever in memory.
    trainings = {side: _train_side(kb, config, side, folder, fingerprint, seed, progress) for side in SIDES}
    return ExtremeText.load(folder), trainings


def _train_side(
    kb: KnowledgeBase,
    config: ExtremeTextConfig,
    side: Side,
    folder: Path,
    fingerprint: str,
    seed: int,
    progress: Progress,
) -> SideTraining:
    path, seeds = side_file(folder, side), [seed, SIDES.index(side)]
    resumed = _resume(path, fingerprint)
    examples = Examples.of(kb, side, config)
    model, state = resumed or (fresh_model(examples, config, seeds), SideTraining())
    start, saved = time.monotonic() - state.seconds, state.seconds
    with progress(f"Training, {side}", config.epochs * len(examples)) as bar:
        for epoch_ends in _parts(model, examples, config, state, seeds, bar):
            state.seconds = time.monotonic() - start
            if epoch_ends or state.seconds - saved >= config.checkpoint_seconds:
                _save(path, model, state, fingerprint)
                saved = state.seconds
    return state


def _parts(
    model: SideModel, examples: Examples, config: ExtremeTextConfig, state: SideTraining, seeds: list[int], bar: Bar
) -> Iterator[bool]:
    """Train on one part after the other, from where `state` is; after each say whether an epoch has ended."""
    parts = -(-len(examples) // PART)
    steps = config.epochs * parts
    bar.advance(min(state.step * PART, config.epochs * len(examples)))
    order: Ints = np.zeros(0, np.int64)
    while state.step < steps:
        epoch, part = divmod(state.step, parts)
        if not len(order) or part == 0:
            order = np.random.default_rng([*seeds, epoch]).permutation(len(examples))
        facts = order[part * PART : (part + 1) * PART]
        rates = [config.learning_rate * (1 - (state.step + i) / steps) for i in (0, 1)]
        state.losses.append(_train_part(model, examples, facts, (rates[0], rates[1])))
        state.step += 1
        bar.advance(len(facts))
        bar.describe(f"epoch {epoch + 1}: loss {state.losses[-1]:.4f}")
        yield part == parts - 1


def _train_part(model: SideModel, examples: Examples, facts: Ints, rates: tuple[float, float]) -> float:
    """One pass over these facts; the mean loss."""
    texts = model.texts.features
    rows, answers = examples.rows(facts), examples.answer[facts]
    with torch_threads() as threads:
        loss = kernels.train(
            rows, answers, texts.offsets, texts.values, model.tree, model.features, model.nodes, rates, threads
        )
    return float(loss) / len(facts)


def _save(path: Path, model: SideModel, state: SideTraining, fingerprint: str) -> None:
    write_tensors(path, model.tensors(), {"state": json.dumps(asdict(state)), "fingerprint": fingerprint})


def _resume(path: Path, fingerprint: str) -> tuple[SideModel, SideTraining] | None:
    """What a file holds, if there is one; the mapped arrays can be written to, and the file does not change."""
    if not path.exists():
        return None
    tensors, metadata = read_tensors(path)
    there = metadata.get("fingerprint", "no fingerprint")
    if there != fingerprint:
        raise MismatchError(
            f"{path} belongs to another configuration or knowledge base ({there[:12]}, this one is "
            f"{fingerprint[:12]}). Use another folder, or delete this one to start afresh."
        )
    return SideModel.from_tensors(tensors), SideTraining(**json.loads(metadata["state"]))
