"""Does attention between candidates matter: a re-ranker with it against the same without, query by query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from cear.core.errors import MismatchError
from cear.core.types import Bools, Ints
from cear.evaluation import MRR, Evaluation, compare_seeds
from cear.evaluation import Difference as Paired

KNOWN = {"0": (0, 0), "1": (1, 1), "2-5": (2, 5), "6-20": (6, 20), ">20": (21, np.inf)}  # answers, both ends included
ENOUGH = 50  # distinct queries of a relation that is compared on its own


@dataclass(frozen=True)
class Difference:
    """Cross minus independent on some queries, each with the mean over all seeds."""

    name: str
    queries: int
    mrr: Paired
    hits1: Paired

    @classmethod
    def on(cls, name: str, cross: Sequence[Evaluation], independent: Sequence[Evaluation], which: Bools) -> Difference:
        """The paired difference on these queries, (query,)."""
        found = compare_seeds(independent, cross, which=which)
        return cls(name, int(which.sum()), found["mrr"], found["hits@1"])

    def as_json(self) -> dict[str, Any]:
        """The difference as a value of JSON; in each measure `first` is independent and `second` cross."""
        measures = {"mrr": self.mrr, "hits@1": self.hits1}
        found = {name: {"difference": each.difference, **asdict(each)} for name, each in measures.items()}
        return {"name": self.name, "queries": self.queries, **found}


@dataclass(frozen=True)
class AttentionEffect:
    """What attention between candidates brings: on all queries, by their known answers, and by relation."""

    all: Difference
    by_seed: tuple[float, ...]
    """The difference of MRR of each pair of trainings: how much it depends on the seed."""
    by_known: tuple[Difference, ...]
    """By how many answers of a query are known, where there are such queries."""
    by_relation: tuple[Difference, ...]
    """Relations with enough distinct queries, the most queries first."""

    def differing(self, level: float = 0.05) -> tuple[str, ...]:
        """The relations whose MRR differs, by Holm's correction for having looked at so many of them."""
        corrected = holm([each.mrr.p for each in self.by_relation])
        return tuple(each.name for each, p in zip(self.by_relation, corrected, strict=True) if p < level)

    def as_json(self) -> dict[str, Any]:
        """The effect as a value of JSON."""
        return {
            "all": self.all.as_json(),
            "by_seed": [*self.by_seed],
            "by_known": [each.as_json() for each in self.by_known],
            "by_relation": [each.as_json() for each in self.by_relation],
            "differing": [*self.differing()],
        }


def attention_effect(
    cross: Sequence[Evaluation], independent: Sequence[Evaluation], known_answers: Ints, *, enough: int = ENOUGH
) -> AttentionEffect:
    """What attention brings, from evaluations of both arms with the same seeds in the same order, on the same queries.

    `known_answers` is how many answers of each query training facts have, (query,). A relation with fewer than
    `enough` distinct queries, of both sides together, is not compared on its own.
    """
    _refuse_unpaired(cross, independent, known_answers)
    first, everything = cross[0], np.ones(len(known_answers), np.bool_)
    known = {name: (known_answers >= low) & (known_answers <= high) for name, (low, high) in KNOWN.items()}
    return AttentionEffect(
        all=Difference.on("all", cross, independent, everything),
        by_seed=tuple(_gain(one, other) for one, other in zip(cross, independent, strict=True)),
        by_known=tuple(Difference.on(name, cross, independent, each) for name, each in known.items() if each.any()),
        by_relation=tuple(
            Difference.on(first.relations.get(each, str(each)), cross, independent, first.asked_relations == each)
            for each in _relations(first, enough)
        ),
    )


def holm(p: Sequence[float]) -> list[float]:
    """The p-values of several tests, corrected so that one below a level is a mistake no more often than that.

    The least of n is multiplied by n, the next by n - 1, and so on, and none falls below one before it (Holm 1979).

    >>> holm([0.5, 0.01, 0.02])
    [0.5, 0.03, 0.04]
    """
    order = np.argsort(p, kind="stable")
    corrected = np.empty(len(p))
    corrected[order] = np.maximum.accumulate(np.asarray(p)[order] * np.arange(len(p), 0, -1))
    return [float(each) for each in np.minimum(corrected, 1.0)]


def _gain(cross: Evaluation, independent: Evaluation) -> float:
    return float((cross.values([MRR()]) - independent.values([MRR()])).mean())


def _relations(evaluation: Evaluation, enough: int) -> list[int]:
    """The relations with so many distinct queries, those with the most first."""
    asked = evaluation.asked_relations
    found = {int(each): len(evaluation.queries[asked == each].distinct()[0]) for each in np.unique(asked)}
    return sorted((each for each in found if found[each] >= enough), key=lambda each: -found[each])


def _refuse_unpaired(cross: Sequence[Evaluation], independent: Sequence[Evaluation], known_answers: Ints) -> None:
    if not cross or len(cross) != len(independent):
        raise MismatchError(
            f"There are {len(cross)} evaluations with attention and {len(independent)} without. "
            "Give one of each for every seed."
        )
    if len(known_answers) != len(cross[0].queries):
        raise MismatchError(
            f"The known answers of {len(known_answers)} queries were given, but {len(cross[0].queries)} were "
            'evaluated. Take kb.known("train").of_queries(evaluation.queries).counts.'
        )
