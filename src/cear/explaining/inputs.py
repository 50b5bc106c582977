"""Which inputs moved an answer: its log-probability in the list minus the one that it has without them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cear.core.types import Floats
from cear.explaining.lists import AnswerLists
from cear.reranking import STAGE1_INPUTS, GroupsInputs

STAGE2 = "stage 2"


def input_effects(asked: AnswerLists, stage2: Floats, final: Floats) -> list[dict[str, float]]:
    """For each answer what every group of inputs does for it, by name; below zero it speaks against the answer.

    `stage2` are the re-ranker's own scores and `final` the fused ones, (list, candidate).
    """
    whole = asked.of_answer(asked.shares(final))
    found: list[dict[str, float]] = [{} for _ in range(len(asked))]
    for name, without in _without_each(asked, stage2):
        for effects, effect in zip(found, (whole - without).tolist(), strict=True):
            effects[name] = effect
    return found


def _without_each(asked: AnswerLists, stage2: Floats) -> Iterator[tuple[str, Floats]]:
    """Each group of inputs, and the answers' log-probabilities without it, (list,)."""
    flat, reranker = asked.with_flat_stage1(), asked.ranker.reranker
    if reranker is None:
        yield STAGE1_INPUTS, asked.of_answer(asked.shares(flat.lists.candidates.scores))
    elif isinstance(reranker, GroupsInputs):
        once, place = asked.distinct()
        for group in reranker.input_groups():
            lists = flat if group == STAGE1_INPUTS else asked  # the fusion reads Stage 1's scores once more
            scores = lists.fused(reranker.rerank_without(once, group)[place])
            yield group, asked.of_answer(asked.shares(scores))
    else:
        yield STAGE1_INPUTS, asked.of_answer(asked.shares(flat.fused(stage2)))
        nothing = np.where(np.isneginf(stage2), -np.inf, 0.0)
        yield STAGE2, asked.of_answer(asked.shares(asked.fused(nothing)))
