"""What chooses the best epoch and the fusion: the ranker, asked for a fixed sample of validation facts."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from cear.core.progress import Progress, silent
from cear.core.types import Floats, Ints
from cear.evaluation import Asked, sample_facts
from cear.ranking.places import Places
from cear.ranking.ranker import Ranker
from cear.reranking import Fusion, Reranker, choose_fusion


@dataclass(frozen=True, eq=False)
class Validation:
    """Validation queries with their places and lists, which are the same for every re-ranker."""

    ranker: Ranker
    asked: Asked
    places: Places

    @classmethod
    def of(
        cls, ranker: Ranker, facts: int, *, among: Ints | None = None, seed: int = 0, progress: Progress = silent
    ) -> Validation:
        """A fixed sample of so many validation facts; test facts are not read, not even to filter.

        `among` has the places of those that are drawn from, if not all are.
        """
        asked = Asked.of(ranker.kb, "valid", sample_facts(ranker.kb, "valid", facts, among=among, seed=seed))
        places = ranker.places(asked.queries, asked.golds, {"ranks": asked.known}, with_lists=True, progress=progress)
        return cls(ranker, asked, places)

    @classmethod
    def again(
        cls, ranker: Ranker, places: Places, facts: int, *, among: Ints | None = None, seed: int = 0
    ) -> Validation:
        """The same from places that were kept."""
        asked = Asked.of(ranker.kb, "valid", sample_facts(ranker.kb, "valid", facts, among=among, seed=seed))
        return cls(ranker, asked, replace(places, queries=asked.queries, golds=asked.golds))

    def mrr(self, reranker: Reranker) -> float:
        """Filtered MRR after re-ranking."""
        return float(self._reciprocal_ranks(self._scores(reranker)).mean())

    def best_fusion(self, reranker: Reranker) -> Fusion:
        """The weights of both stages with the best MRR."""
        assert self.places.lists is not None
        return choose_fusion(self.places.lists, self._scores(reranker), self.ranker.kb, self._reciprocal_ranks)

    def _scores(self, reranker: Reranker) -> Floats:
        assert self.places.lists is not None
        return self.ranker.with_reranker(reranker).final_scores(self.places.lists)

    def _reciprocal_ranks(self, scores: Floats) -> Floats:
        return np.asarray(1 / self.places.after(scores, self.asked.known).under("expected"))
