"""Where the golds of queries stand: Stage 1's ranks and the lists, ready for any re-ranker's scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cear.candidates import Lists, joined
from cear.core.errors import ScoreError
from cear.core.types import NO_ENTITY, Bools, Floats, Ints, Queries, Ragged, Ranks
from cear.data import KnownAnswers
from cear.evaluation import EntityClusters


@dataclass(frozen=True, eq=False)
class Places:
    """What is known of queries and their golds before Stage 2 speaks. Validation asks again and again from here."""

    queries: Queries
    golds: Ragged
    ranks: Mapping[str, Ranks]
    """By Stage 1, under each filter."""
    gold_scores: Floats  # (query,), Stage 1's score of each gold's best mention
    lists: Lists | None
    """What Stage 2 reads; None where there is no second stage."""
    listed_scores: Floats | None
    """Stage 1's scores of the listed, (query, candidate), by the same computation as those of the golds; where clusters
    are ranked, of the best mention of their clusters."""
    clusters: EntityClusters | None = None
    """What is ranked in the place of entities, if not these."""

    @classmethod
    def concat(cls, parts: Sequence[Places], queries: Queries, golds: Ragged, back: Ints) -> Places:
        """The places of several blocks, each query back where it was asked."""
        lists = [part.lists for part in parts if part.lists is not None]
        scores = [part.listed_scores for part in parts if part.listed_scores is not None]
        ranks = {name: _concat_ranks([part.ranks[name] for part in parts])[back] for name in parts[0].ranks}
        return cls(
            queries,
            golds,
            ranks,
            np.concatenate([part.gold_scores for part in parts])[back],
            joined(lists)[back] if lists else None,
            np.concatenate(scores)[back] if scores else None,
            parts[0].clusters,
        )

    def after(self, final_scores: Floats, known: KnownAnswers, *, name: str = "ranks") -> Ranks:
        """The filtered ranks when the lists are ordered by these scores; `known` is what the filter `name` removes."""
        assert self.lists is not None
        assert self.listed_scores is not None
        stage1 = self.gold_scores, self.listed_scores
        return rank_in_lists(
            self.lists, final_scores, self.golds, known, self.ranks[name], stage1, clusters=self.clusters
        )

    @property
    def listed(self) -> Bools | None:
        """Whether the list of each query holds its gold, (query,)."""
        if self.lists is None:
            return None
        return np.asarray(self.golds.contains(self.lists.candidates.entities).any(axis=1))


def rank_in_lists(
    lists: Lists,
    scores: Floats,
    golds: Ragged,
    known: KnownAnswers,
    outside: Ranks,
    stage1: tuple[Floats, Floats],
    *,
    clusters: EntityClusters | None = None,
) -> Ranks:
    """The filtered rank of each gold: within its list by `scores`, or behind its list as Stage 1 ranked it.

    Nothing is dropped: a gold that its list lacks keeps its Stage-1 rank, `outside`, behind whoever got into the list
    from below it or from a tie with it. Of several mentions of a gold the best counts. `stage1` are Stage 1's scores
    of the golds, (query,), and of the listed, (query, candidate).

    With `clusters` each competes once, by the best mention that the list has. Stage 1's score of a listed entity is
    then that of its cluster's best mention, listed or not: it is where `outside` has counted the cluster.
    """
    entities = lists.candidates.entities
    _refuse_bad_scores(scores, entities)
    is_gold = golds.contains(entities)
    competes = (entities != NO_ENTITY) & ~is_gold & ~known.of_queries(lists.queries).contains(entities)
    if clusters is not None:
        competes &= clusters.leads(entities, scores)
    found = is_gold.any(axis=1)
    best = np.max(scores, axis=1, where=is_gold, initial=-np.inf, keepdims=True)
    above, tied = ((competes & mark).sum(axis=1) for mark in (scores > best, scores == best))
    of_gold, of_listed = stage1
    from_below = (competes & (of_listed < of_gold[:, None])).sum(axis=1)
    from_tie = np.minimum((competes & (of_listed == of_gold[:, None])).sum(axis=1), outside.tied)
    behind = Ranks(outside.above + from_below + from_tie, outside.tied - from_tie)
    return Ranks(np.where(found, above, behind.above), np.where(found, tied, behind.tied))


def _refuse_bad_scores(scores: Floats, entities: Ints) -> None:
    if scores.shape != entities.shape:
        raise ScoreError(f"Scores of shape {scores.shape} for lists of shape {entities.shape}.")
    bad = ~np.isfinite(scores) & (entities != NO_ENTITY)
    if bad.any():
        raise ScoreError(
            f"The re-ranker gave {int(bad.sum())} scores that are not finite, the first in list "
            f"{int(np.argmax(bad.any(axis=1)))}. Was its training stable?"
        )


def _concat_ranks(parts: Sequence[Ranks]) -> Ranks:
    return Ranks(np.concatenate([part.above for part in parts]), np.concatenate([part.tied for part in parts]))
