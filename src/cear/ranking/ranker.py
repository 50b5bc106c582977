"""The ranker: what finds candidates, what orders them, and what becomes of answers that are known already.

Evaluation, validation, questions and whatever comes later ask this object and no other. Behind the list that Stage 2
has ordered, Stage 1's order goes on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from cear.candidates import (
    AllScores,
    Found,
    Known,
    Lists,
    Manifest,
    Retrievers,
    Scored,
    distinct_lists,
    union,
    with_given,
)
from cear.core.blocks import blocks
from cear.core.progress import Progress, silent
from cear.core.types import NO_ENTITY, SPLITS, Bools, Floats, Ints, Queries, Ragged, RankedLists, Split
from cear.data import KnowledgeBase, KnownAnswers
from cear.evaluation import Filter, as_mentions, checked_scores, rank_block, ranked_clusters
from cear.ranking.places import Places
from cear.ranking.reading import Reading
from cear.reranking import STAGE2_ALONE, Fusion, Reranker


@dataclass(frozen=True, eq=False)
class Ranker:
    """Retrievers, a re-ranker of their best k, and the fusion of both. Immutable: threads may share it."""

    retrievers: Retrievers
    k: int = 40
    """Candidates that Stage 2 reads together."""
    known: Known = "drop"
    """drop keeps training answers out of the lists that Stage 2 reads, keep leaves them in: as it was trained."""
    reranker: Reranker | None = None
    fusion: Fusion = STAGE2_ALONE

    @property
    def kb(self) -> KnowledgeBase:
        """The knowledge base whose training facts are known."""
        return self.retrievers.kb

    def with_reranker(self, reranker: Reranker) -> Ranker:
        """The same with another re-ranker, alone."""
        return replace(self, reranker=reranker, fusion=STAGE2_ALONE)

    def rank(
        self, queries: Queries, k: int = 10, *, without: Sequence[Split] = ("train",), progress: Progress = silent
    ) -> RankedLists:
        """The k best entities of each query in their final order.

        Training answers need no ranking: they are left out, as are the answers that other splits in `without` know.
        Everybody else stands where the evaluation has it.
        """
        left_out = self.kb.known(*(split for split in SPLITS if split == "train" or split in without))
        return self._ranked(queries, k, left_out, progress)

    def rank_known_too(self, queries: Queries, k: int = 10, *, progress: Progress = silent) -> RankedLists:
        """The k best entities of each query in their final order, nobody left out: what a filter has yet to pass."""
        nobody = KnownAnswers.of(np.zeros((0, 3), np.int64), self.kb.n_entities, self.kb.n_relations)
        return self._ranked(queries, k, nobody, progress)

    def _ranked(self, queries: Queries, k: int, left_out: KnownAnswers, progress: Progress) -> RankedLists:
        once, place = queries.distinct()
        k = min(k, self.kb.n_entities)
        parts = [_nothing(k)]
        with progress("Ranking", len(once)) as bar:
            for block in blocks(len(once), self.retrievers.block_rows):
                parts.append(self._rank_block(once[block], k, left_out))
                bar.advance(block.stop - block.start)
        return RankedLists.concat(parts)[place]

    def read(self, queries: Queries) -> Reading:
        """What both stages say of the candidates of a block of queries; training answers are left out."""
        lists = self.lists(queries, self.retrievers.score_block(queries))
        return self._reading(lists, self._gone(lists, self.kb.known("train")))

    def read_given(self, queries: Queries, given: Ints) -> Reading:
        """The same with a given entity in each list, (query,), known or not: for judging facts, never for measuring.

        Where `NO_ENTITY` is given, the list is that of `read`.
        """
        scored = self.retrievers.score_block(queries)
        found = with_given(scored, self._found(scored), given)
        lists, entities = self._as_lists(queries, found), found.candidates.entities
        gone = self._gone(lists, self.kb.known("train")) & ((entities != given[:, None]) | (entities == NO_ENTITY))
        return self._reading(lists, gone)

    def _reading(self, lists: Lists, gone: Bools) -> Reading:
        stage2 = self.stage2_scores(lists)
        return Reading(lists, stage2, np.where(gone, -np.inf, self._fused(lists, stage2)))

    def lists(self, queries: Queries, scored: Sequence[Scored]) -> Lists:
        """The lists that Stage 2 reads, from what the retrievers say of a block of queries."""
        return self._as_lists(queries, self._found(scored))

    def _found(self, scored: Sequence[Scored]) -> Found:
        drop = self.kb.known("train") if self.known == "drop" else None
        return union([*scored], self._manifest.k, drop)

    def _as_lists(self, queries: Queries, found: Found) -> Lists:
        return Lists(queries, found.candidates, self._manifest, found.extra_scores)

    def final_scores(self, lists: Lists, *, progress: Progress = silent) -> Floats:
        """The scores that order each list in the end, (query, candidate)."""
        return self._fused(lists, self.stage2_scores(lists, progress=progress))

    def stage2_scores(self, lists: Lists, *, progress: Progress = silent) -> Floats:
        """The last stage's own scores, (query, candidate); a list that stands twice is read once."""
        if self.reranker is None:
            return lists.candidates.scores
        once, place = distinct_lists(lists)
        return self.reranker.rerank(once, progress=progress)[place]

    def _fused(self, lists: Lists, stage2: Floats) -> Floats:
        return stage2 if self.reranker is None else self.fusion.fuse(lists, stage2, self.kb)

    def places(
        self,
        queries: Queries,
        gold: Ints | Ragged,
        filters: Mapping[str, Filter],
        *,
        with_lists: bool = False,
        progress: Progress = silent,
    ) -> Places:
        """Where Stage 1 has the golds, under each filter, and the lists that Stage 2, or a later one, will order.

        The golds are asked for after the lists are made, and nothing that makes a list sees them.
        """
        once, place = queries.distinct()
        golds, order = as_mentions(gold), np.argsort(place, kind="stable")
        parts = []
        with progress("Ranking", len(queries)) as bar:
            for block in blocks(len(once), self.retrievers.block_rows):
                here = order[slice(*np.searchsorted(place[order], [block.start, block.stop]))]
                asked, rows = once[block], place[here] - block.start
                wanted = with_lists or self.reranker is not None
                parts.append(self._places_of_block(asked, rows, golds.take(here), filters, with_lists=wanted))
                bar.advance(len(here))
        return Places.concat(parts, queries, golds, np.argsort(order, kind="stable"))

    def _places_of_block(
        self,
        queries: Queries,
        rows: Ints,
        golds: Ragged,
        filters: Mapping[str, Filter],
        *,
        with_lists: bool,
    ) -> Places:
        """The places of golds, each of the query in its row of a block of distinct queries."""
        scored = self.retrievers.score_block(queries)
        scores = self._all_scores(scored[0], queries)
        ranks = rank_block(scores, queries, rows, golds, filters)
        best = np.maximum.reduceat(scores[rows[golds.rows], golds.values], golds.offsets[:-1])
        lists = self.lists(queries, scored) if with_lists else None
        if lists is None:
            return Places(queries[rows], golds, ranks, best, None, None)
        clusters, entities = ranked_clusters(filters), lists.candidates.entities
        if clusters is not None:
            scores, entities = clusters.best(scores), clusters.firsts(entities)
        listed = AllScores(scores, queries).of(entities)
        return Places(queries[rows], golds, ranks, best, lists[rows], listed[rows], clusters)

    def _all_scores(self, scored: Scored, queries: Queries) -> Floats:
        """Stage 1's scores of all entities: those at hand, or asked for."""
        if isinstance(scored, AllScores):
            return scored.scores
        return checked_scores(self.retrievers.first, queries)

    def _rank_block(self, queries: Queries, k: int, left_out: KnownAnswers) -> RankedLists:
        scored = self.retrievers.score_block(queries)
        if self.reranker is None:
            entities, scores = _ids(scored[0].best(k, left_out).entities, k), None
            listed = np.zeros(len(queries), np.int64)
        else:
            lists = self.lists(queries, scored)
            final = np.where(self._gone(lists, left_out), -np.inf, self.final_scores(lists))
            listed = np.minimum((~np.isneginf(final)).sum(axis=1), k)
            entities, scores = self._ordered(lists, final, scored[0], k, left_out)
        stage1 = scored[0].of(entities)
        ranks = scored[0].ranks(entities, left_out)
        return RankedLists(entities, stage1 if scores is None else scores, stage1, ranks, listed)

    def _gone(self, lists: Lists, left_out: KnownAnswers) -> Bools:
        """Which places of the lists are not ranked: padding, and what is left out, (query, candidate)."""
        entities = lists.candidates.entities
        return np.asarray((entities == NO_ENTITY) | left_out.of_queries(lists.queries).contains(entities))

    def _ordered(
        self, lists: Lists, final: Floats, first: Scored, k: int, left_out: KnownAnswers
    ) -> tuple[Ints, Floats]:
        """The first k entities, those of the list by their final scores and then Stage 1's others, and the scores."""
        order = np.argsort(-final, axis=1, kind="stable")
        scores = np.take_along_axis(final, order, axis=1)
        entities = np.where(
            np.isneginf(scores), NO_ENTITY, np.take_along_axis(lists.candidates.entities, order, axis=1)
        )
        if k > (entities != NO_ENTITY).sum(axis=1).min(initial=k):
            behind = _behind(first, lists.candidates.entities, k, left_out)
            entities = np.concatenate([entities, behind], axis=1)
            scores = np.concatenate([scores, np.full(behind.shape, np.nan)], axis=1)
        front = np.argsort(entities == NO_ENTITY, axis=1, kind="stable")[:, :k]
        scores = np.where(entities == NO_ENTITY, -np.inf, scores)
        entities, scores = np.take_along_axis(entities, front, axis=1), np.take_along_axis(scores, front, axis=1)
        return _ids(entities, k), np.pad(scores, [(0, 0), (0, k - scores.shape[1])], constant_values=-np.inf)

    @cached_property
    def _manifest(self) -> Manifest:
        made_by = type(self.retrievers.first).__name__
        k, extra = min(self.k, self.kb.n_entities), [*self.retrievers.extra]
        return Manifest(self.kb.name, self.kb.digest, "asked", k, self.known, made_by, extra)


def _behind(first: Scored, listed: Ints, k: int, left_out: KnownAnswers) -> Ints:
    """Stage 1's best in its order, (query, entity); `NO_ENTITY` in the place of those that the list has."""
    best = first.best(k + listed.shape[1], left_out).entities
    rows = Ragged(np.arange(len(listed) + 1) * listed.shape[1], np.sort(listed, axis=1).reshape(-1))
    return np.where(rows.contains(best), NO_ENTITY, best)


def _ids(entities: Ints, k: int) -> Ints:
    """The entities in k columns, padded where there are fewer."""
    return np.pad(entities, [(0, 0), (0, k - entities.shape[1])], constant_values=NO_ENTITY)


def _nothing(k: int) -> RankedLists:
    """The ranking of no query."""
    ids, scores = np.zeros((0, k), np.int64), np.zeros((0, k))
    return RankedLists(ids, scores, scores, ids, np.zeros(0, np.int64))
