"""What retrievers learn from, and whose questions make the lists that Stage 2 learns from.

All training facts, or all but a fold, whose questions are asked, or all, and half of the validation facts are asked.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from cear.candidates import CrossfitConfig, fold_by_pair, folds_of, hold_out
from cear.core.errors import DataError
from cear.core.types import SPLITS, Bools, Ints, Queries
from cear.data import KnowledgeBase, KnownAnswers

log = logging.getLogger("cear.pipeline")

FACT = {"subject": pl.Int64, "relation": pl.Int64, "object": pl.Int64}


@dataclass(frozen=True, eq=False)
class Whole:
    """All training facts."""

    kb: KnowledgeBase

    @property
    def key(self) -> list[Any]:
        """What decides which facts these are."""
        return [self.kb.digest]

    @property
    def seen(self) -> KnowledgeBase:
        """What retrievers learn from."""
        return self.kb

    @property
    def queries(self) -> Queries:
        """The questions that make lists to learn from."""
        return self.kb.known("train").queries


@dataclass(frozen=True, eq=False)
class Fold:
    """All training facts but one fold, whose questions make lists to learn from."""

    kb: KnowledgeBase
    crossfit: CrossfitConfig
    number: int
    seed: int

    @property
    def key(self) -> list[Any]:
        """What decides which facts these are, without dealing them."""
        return [self.kb.digest, self.crossfit.folds, self.crossfit.by, self.number, self.seed]

    @property
    def seen(self) -> KnowledgeBase:
        """What retrievers learn from."""
        return self._split[0]

    @property
    def queries(self) -> Queries:
        """The questions of the held-out facts."""
        return self._split[1].known("train").queries

    @property
    def held_out(self) -> Ints:
        """The facts that are held out, (fact, 3)."""
        return self._split[1].facts("train")

    def forget(self) -> None:
        """Give back the memory of the dealt facts; asked again, they are dealt again."""
        vars(self).pop("_split", None)

    @cached_property
    def _split(self) -> tuple[KnowledgeBase, KnowledgeBase]:
        fold_of = folds_of(self.kb.facts("train"), self.crossfit, seed=self.seed)
        return hold_out(self.kb, fold_of, self.number)


@dataclass(frozen=True, eq=False)
class Everything:
    """The facts of all splits: for use, when everything is measured and nothing needs to be held out any more."""

    kb: KnowledgeBase

    @property
    def key(self) -> list[Any]:
        """What decides which facts these are."""
        return [self.kb.digest, "all splits"]

    @cached_property
    def seen(self) -> KnowledgeBase:
        """What retrievers learn from. Validation facts are among them, and so choose nothing."""
        every = pl.concat([pl.DataFrame(self.kb.facts(split), schema=FACT) for split in SPLITS])
        facts = every.unique().sort(*FACT).to_numpy()  # as np.unique by rows, which takes minutes for tens of millions
        return self.kb.with_facts({"train": facts, "valid": self.kb.facts("valid")})

    @property
    def queries(self) -> Queries:
        """The questions of all facts."""
        return self.seen.known("train").queries


@dataclass(frozen=True, eq=False)
class HalfOfValid:
    """All training facts; half of the validation facts, which retrievers have not seen, make lists to learn from.

    The other half chooses. Facts of the same two entities are in the same half, and a question that both halves ask
    makes no list: nothing is learned and chosen on the same facts, nor on the same questions.
    """

    kb: KnowledgeBase
    seed: int

    @property
    def key(self) -> list[Any]:
        """What decides which facts these are."""
        return [self.kb.digest, "half of valid", self.seed]

    @property
    def seen(self) -> KnowledgeBase:
        """What retrievers learn from."""
        return self.kb

    @cached_property
    def queries(self) -> Queries:
        """The questions of the half to learn from that the other half does not ask."""
        asked = self._known(self._learned).queries
        return asked[self._known(~self._learned).of_queries(asked).counts == 0]

    @cached_property
    def labelled(self) -> KnowledgeBase:
        """The facts whose answers are right in a list: those of training and of the half to learn from."""
        valid = self.kb.facts("valid")[self._learned]
        facts = np.concatenate([self.kb.facts("train"), valid])
        return self.kb.with_facts({"train": facts})

    @property
    def learned(self) -> Ints:
        """The places of the validation facts that are learned from."""
        return np.flatnonzero(self._learned)

    @property
    def choosing(self) -> Ints:
        """The places of the validation facts that choose."""
        return np.flatnonzero(~self._learned)

    @cached_property
    def _learned(self) -> Bools:
        """Which validation facts are learned from, (fact,)."""
        return np.asarray(fold_by_pair(self.kb.facts("valid"), 2, seed=self.seed) == 0)

    def _known(self, which: Bools) -> KnownAnswers:
        return KnownAnswers.of(self.kb.facts("valid")[which], self.kb.n_entities, self.kb.n_relations)


Part = Whole | Fold | HalfOfValid | Everything


def tell_cost(half: HalfOfValid) -> None:
    """Say what it costs to learn from validation facts; refuse where there are too few."""
    lists, choosing, total = len(half.queries), len(half.choosing), len(half.kb.facts("valid"))
    if not lists or not choosing:
        raise DataError(
            f"learn_from: valid deals the {total} validation facts of {half.kb.name!r} into two halves, and one has "
            "no question of its own. Give more validation facts, or learn from folds (leave learn_from out)."
        )
    log.warning(
        "learn_from: valid: Stage 2 learns from %d lists, and %d of %d validation facts choose. Figures on valid are "
        "of those alone.",
        lists,
        choosing,
        total,
    )
