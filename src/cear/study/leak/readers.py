"""Readers of lists that are written by hand and learn nothing: what there is to be found, whoever learns to find it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from cear.candidates import Lists, labels
from cear.core.types import SPLITS, Floats
from cear.data import KnowledgeBase

Reader = Callable[[Lists, KnowledgeBase], Floats]


def equal_scores(lists: Lists, kb: KnowledgeBase) -> Floats:
    """Whoever shares its score with another comes first, (query, candidate); Stage 1's order decides the rest.

    It needs to know no fact: the block is there to be seen.
    """
    del kb
    scores = lists.candidates.scores  # in order, so equals are neighbours
    same = scores[:, 1:] == scores[:, :-1]
    shared = np.pad(same, ((0, 0), (0, 1))) | np.pad(same, ((0, 0), (1, 0)))
    return np.where(shared, lists.candidates.k, 0.0) - _places(lists)


def remembered_places(lists: Lists, kb: KnowledgeBase) -> Floats:
    """Whoever stands among the training answers of its query comes first, then whoever is nearest to them.

    It knows the training facts by heart and reads the order alone, as the paper's re-ranker does. Where it remembers
    no answer, the order is all that it has.
    """
    place, answers = _places(lists), labels(lists, kb.known("train"))
    first = np.min(place, axis=1, where=answers, initial=lists.candidates.k, keepdims=True)
    last = np.max(place, axis=1, where=answers, initial=-1, keepdims=True)
    away = np.maximum(np.maximum(first - place, place - last), 0.0)
    return np.where(last < 0, 0.0, -lists.candidates.k * away) - place


READERS: Mapping[str, Reader] = {"equal scores": equal_scores, "remembered places": remembered_places}
"""By name."""


def unsettled(lists: Lists, kb: KnowledgeBase) -> float:
    """The share of lists in which a stranger stands before a training answer.

    The others teach to trust Stage 1's order, and nothing else. A stranger is no known answer of any split.
    """
    answers, strangers = labels(lists, kb.known("train")), ~labels(lists, kb.known(*SPLITS))
    last = np.max(_places(lists), axis=1, where=answers, initial=-1, keepdims=True)
    return float((strangers & (_places(lists) < last)).any(axis=1).mean())


def _places(lists: Lists) -> Floats:
    """Where each candidate stands in its list, (query, candidate), from 0."""
    return np.broadcast_to(np.arange(lists.candidates.k, dtype=np.float64), lists.candidates.entities.shape)
