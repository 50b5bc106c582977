"""What is asked of a system, and the evaluation of a scorer: both questions of every fact of a split."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cear.core.errors import DataError
from cear.core.progress import Progress, silent
from cear.core.types import SPLITS, Bools, Ints, Protocol, Queries, Ragged, Ranks, Split, TieRule
from cear.data import KnowledgeBase, KnownAnswers, cardinalities, stands_turned
from cear.evaluation.clusters import ByCluster, EntityClusters, Filter
from cear.evaluation.evaluation import UNSEEN, Evaluation, Labels
from cear.evaluation.leaks import find_leak_in_ranks, refuse_leaks
from cear.evaluation.ranking import rank_under_filters
from cear.evaluation.scores import ScoresEntities

_MOST_SCORES = 4 * 10**9  # for one look at validation: a minute or two of a label tree


def evaluate(
    scorer: ScoresEntities,
    kb: KnowledgeBase,
    split: Split,
    *,
    ties: TieRule = "expected",
    protocol: Protocol = "ours",
    which: Ints | None = None,
    refuse_leaking: bool = True,
    block: int | None = None,
    progress: Progress = silent,
) -> Evaluation:
    """The ranks of both questions of every fact of a split, filtered by this split and those before it.

    `which` asks only for these facts of the split, by their places.

    So validation, which chooses models, never reads a test fact. In an open knowledge base the best-ranked
    mention of the gold counts as the gold, and other known answers are filtered with all their mentions. The protocol
    `care` ranks clusters of mentions, and filters training answers only. Scores that show the equal-score leak are
    refused with `LeakError`, or only reported in `Evaluation.leak`.
    """
    start = time.perf_counter()
    asked = Asked.of(kb, split, which, protocol=protocol)
    ranks = rank_under_filters(scorer, asked.queries, asked.golds, asked.filters, block=block, progress=progress)
    return asked.evaluation(ranks, ties=ties, seconds=time.perf_counter() - start, refuse_leaking=refuse_leaking)


@dataclass(frozen=True, eq=False)
class Asked:
    """Both questions of the facts of a split, with what counts as their answers."""

    kb: KnowledgeBase
    split: Split
    queries: Queries
    gold: Ints  # (query,)
    golds: Ragged
    clusters: EntityClusters | None = None
    """What is ranked in the place of entities, under CaRe's protocol."""

    @classmethod
    def of(cls, kb: KnowledgeBase, split: Split, which: Ints | None = None, *, protocol: Protocol = "ours") -> Asked:
        """The questions of all facts, or of those at these places."""
        clusters = EntityClusters.of(kb) if protocol == "care" else None
        queries, gold = kb.queries(split), kb.gold(split)
        golds = kb.gold_mentions(split) if clusters is None else clusters.mentions(gold)
        if which is not None:
            both = np.concatenate([which, which + len(queries) // 2])
            queries, gold, golds = queries[both], gold[both], golds.take(both)
        if not len(queries):
            raise DataError(f"{kb.name!r} has no {split} facts: there is nothing to evaluate.")
        return cls(kb, split, queries, gold, golds, clusters)

    @cached_property
    def known(self) -> KnownAnswers:
        """What the filter removes, with all mentions: the answers of this split and of those before it.

        Under CaRe's protocol the training answers.
        """
        return self._everything if self.clusters is None else self.clusters.with_mentions(self.kb.known("train"))

    @cached_property
    def _everything(self) -> KnownAnswers:
        """The answers of this split and of those before it, with all their mentions."""
        splits = SPLITS[: SPLITS.index(self.split) + 1]
        if self.clusters is None:
            return self.kb.known(*splits, mentions=True)
        return self.clusters.with_mentions(self.kb.known(*splits))

    @property
    def filters(self) -> dict[str, Filter]:
        """What is removed from each of the rankings that an evaluation keeps, or looks for leaks in."""
        lists: dict[str, Filter] = {"retrieved": None, "fresh": self.kb.known("train")}
        if self.clusters is None:
            return {"ranks": self.known, **lists}
        return {"ranks": ByCluster(self.clusters, self.known), **lists, "known": self._everything}

    def evaluation(
        self, ranks: Mapping[str, Ranks], *, ties: TieRule, seconds: float, refuse_leaking: bool = True
    ) -> Evaluation:
        """The evaluation of a scorer that gave the golds these ranks, one for each of `filters`."""
        others = _others(self._everything, self.queries, self.golds)
        strangers = self.kb.n_entities - self.golds.counts - others
        # The leak is one of entities, whatever is ranked: all known answers filtered, each by its own score.
        filtered = ranks["ranks" if self.clusters is None else "known"]
        leak = find_leak_in_ranks(ranks["retrieved"], filtered, others, strangers)
        # A model may reproduce its training facts perfectly, and then they all tie, without a leak.
        if refuse_leaking and self.split != "train":
            refuse_leaks(leak)
        return Evaluation(
            data=self.kb.name,
            split=self.split,
            ties=ties,
            queries=self.queries,
            gold=self.gold,
            golds=self.golds,
            asks_head=self.kb.asks_head(self.queries),
            cardinality=_cardinality(self.kb, self.queries),
            relations=_relation_names(self.kb, self.queries),
            ranks=ranks["ranks"],
            retrieved=ranks["retrieved"],
            fresh=ranks["fresh"],
            leak=leak,
            seconds=seconds,
            protocol="ours" if self.clusters is None else "care",
            inverse_known=self._inverse_known(),
        )

    def _inverse_known(self) -> Bools:
        """Whether train has the fact of each query the other way round, (query,): first all tails, then all heads."""
        asked = len(self.queries) // 2
        facts = np.stack([self.queries.entity[:asked], self.queries.relation[:asked], self.gold[:asked]], axis=1)
        return np.tile(stands_turned(facts, self.kb.facts("train")), 2)


def sample_facts(kb: KnowledgeBase, split: Split, facts: int, *, among: Ints | None = None, seed: int = 0) -> Ints:
    """A fixed random sample of the facts of a split, ascending; all of them where there are no more.

    `among` has the places of those that are drawn from, if not all are.
    """
    places = np.arange(len(kb.facts(split))) if among is None else among
    total = len(places)
    return np.sort(np.random.default_rng([seed, total]).choice(places, min(facts, total), replace=False))


def _others(known: KnownAnswers, queries: Queries, golds: Ragged) -> Ints:
    """The number of known answers of each query beside its gold, all of which is known because its split is."""
    distinct, row = queries.distinct()
    return known.of_queries(distinct).counts[row] - golds.counts


def valid_mrr(kb: KnowledgeBase) -> Callable[[ScoresEntities], float]:
    """What chooses a model: filtered MRR on the validation facts, blind to the test facts.

    With millions of entities it is that of a fixed sample of these facts: ranking all would take longer than learning.
    """
    most = max(_MOST_SCORES // (2 * kb.n_entities), 1)
    which = sample_facts(kb, "valid", most, seed=0) if len(kb.facts("valid")) > most else None
    return lambda scorer: evaluate(scorer, kb, "valid", which=which).summary()["both"]["mrr"]


def _cardinality(kb: KnowledgeBase, queries: Queries) -> Labels:
    """The cardinality of each query's relation, judged from training facts, (query,)."""
    train = kb.facts("train")
    kinds = cardinalities(train[np.isin(train[:, 1], queries.relation % kb.n_relations)])
    labels = np.array([kinds.get(relation, UNSEEN) for relation in range(kb.n_relations)])
    return labels[queries.relation % kb.n_relations]


def _relation_names(kb: KnowledgeBase, queries: Queries) -> dict[int, str]:
    """The names of the relations that some queries ask about."""
    return {int(relation): kb.relations.name(relation) for relation in np.unique(queries.relation % kb.n_relations)}
