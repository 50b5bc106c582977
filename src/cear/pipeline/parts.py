"""What retrievers learn from: all training facts, or all but a fold."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from cear.candidates import CrossfitConfig, folds_of, hold_out
from cear.data import KnowledgeBase


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
    def asked(self) -> KnowledgeBase:
        """The facts whose questions make lists to learn from."""
        return self.kb


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
    def asked(self) -> KnowledgeBase:
        """The held-out facts."""
        return self._split[1]

    @cached_property
    def _split(self) -> tuple[KnowledgeBase, KnowledgeBase]:
        fold_of = folds_of(self.kb.facts("train"), self.crossfit, seed=self.seed)
        return hold_out(self.kb, fold_of, self.number)


Part = Whole | Fold
