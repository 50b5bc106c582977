"""The evaluation of a scorer on a split: the rank of every query, and what tables want to know about them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cear.core.errors import DataError, MismatchError
from cear.core.progress import Progress, silent
from cear.core.types import SIDES, SPLITS, Bools, Ints, Queries, Ragged, Ranks, Split, TieRule
from cear.data import CARDINALITIES, KnowledgeBase, KnownAnswers, cardinalities
from cear.evaluation.leaks import LeakReport, find_leak_in_ranks, refuse_leaks
from cear.evaluation.measures import STANDARD, Hits, Measure, Values, measure
from cear.evaluation.ranking import rank_under_filters
from cear.evaluation.resampling import bootstrap_means, percentiles
from cear.evaluation.scores import ScoresEntities

UNSEEN = "unseen"  # the cardinality of a relation that no training fact has

Labels = npt.NDArray[np.str_]
Summary = dict[str, dict[str, float]]
Intervals = dict[str, dict[str, tuple[float, float]]]


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The ranks of all queries of a split: both questions of each fact, first all for tails, then all for heads."""

    data: str
    split: Split
    ties: TieRule
    queries: Queries
    gold: Ints  # (query,)
    golds: Ragged
    """All that counts as the gold of each query: itself and, in an open knowledge base, its other mentions."""
    asks_head: Bools  # (query,)
    cardinality: Labels  # (query,), of the query's relation
    ranks: Ranks
    """Filtered: other known answers removed."""
    retrieved: Ranks
    """As retrieved: nothing removed."""
    fresh: Ranks
    """Other training answers removed: what a list for completion shows, but for mentions of the gold."""
    leak: LeakReport
    seconds: float
    before: Evaluation | None = None
    """The same queries before re-ranking, where these ranks are those of a second stage."""
    listed: Bools | None = None
    """Whether the list that was re-ranked holds the gold, (query,): their share is above every H@k within the list."""

    def __post_init__(self) -> None:
        parts = (self.gold, self.golds, self.asks_head, self.cardinality, self.ranks, self.retrieved, self.fresh)
        if any(len(part) != len(self.queries) for part in parts):
            raise MismatchError(
                f"An evaluation of {len(self.queries)} queries has parts of other lengths: "
                f"{[len(part) for part in parts]}. Every query must keep its rank."
            )
        # The gold of a fact's one question is the entity of the other.
        if not np.array_equal(np.roll(self.queries.entity, self.facts), self.gold):
            raise MismatchError(
                "The queries are not both questions of the same facts, first all that ask for a tail, then, "
                "in the same order, all that ask for a head. Take them from KnowledgeBase.queries."
            )

    @property
    def facts(self) -> int:
        """The number of facts; each asks two queries."""
        return len(self.queries) // 2

    def summary(self) -> Summary:
        """Every standard measure for both sides, for head and for tail queries, unrounded."""
        return {side: measure(self.ranks[which], self.ties) for side, which in self._sides().items()}

    def intervals(self, *, level: float = 0.95, resamples: int = 1000, seed: int = 0) -> Intervals:
        """The percentile-bootstrap interval of everything in `summary`, by drawing facts with replacement."""
        by_fact = self.by_fact()
        means = bootstrap_means(np.concatenate([*by_fact.values()], axis=1), resamples=resamples, seed=seed)
        low, high = (ends.reshape(len(by_fact), -1) for ends in percentiles(means, level))
        names = [each.name for each in STANDARD]
        return {
            side: {name: (float(a), float(b)) for name, a, b in zip(names, low[row], high[row], strict=True)}
            for row, side in enumerate(by_fact)
        }

    def by_fact(self, measures: Sequence[Measure] = STANDARD) -> dict[str, Values]:
        """The measures of each fact, (fact, measure): the mean of its two queries, and each side alone."""
        ranks = self.ranks.under(self.ties)
        values = np.stack([each(ranks) for each in measures], axis=1)
        tail, head = values[: self.facts], values[self.facts :]
        return {"both": (head + tail) / 2, "head": head, "tail": tail}

    def by_cardinality(self) -> dict[str, dict[str, dict[str, float]]]:
        """The standard measures and the number of queries, by side and by cardinality where it occurs."""
        sides = self._sides()
        return {side: self._by_cardinality(sides[side]) for side in SIDES}

    def recall(self, ks: Sequence[int] = (1, 10, 40, 100)) -> dict[str, dict[str, float]]:
        """The share of golds within the first k, known answers "kept" or other training answers "dropped".

        This bounds what a re-ranker of k candidates can reach.
        """
        lists = {"kept": self.retrieved.under(self.ties), "dropped": self.fresh.under(self.ties)}
        return {policy: {f"recall@{k}": float(Hits(k)(ranks).mean()) for k in ks} for policy, ranks in lists.items()}

    def _sides(self) -> dict[str, Bools]:
        return {"both": np.ones_like(self.asks_head), "head": self.asks_head, "tail": ~self.asks_head}

    def _by_cardinality(self, side: Bools) -> dict[str, dict[str, float]]:
        chosen = {label: side & (self.cardinality == label) for label in (*CARDINALITIES, UNSEEN)}
        return {
            label: {"queries": int(which.sum()), **measure(self.ranks[which], self.ties)}
            for label, which in chosen.items()
            if which.any()
        }


def evaluate(
    scorer: ScoresEntities,
    kb: KnowledgeBase,
    split: Split,
    *,
    ties: TieRule = "expected",
    which: Ints | None = None,
    refuse_leaking: bool = True,
    block: int | None = None,
    progress: Progress = silent,
) -> Evaluation:
    """The ranks of both questions of every fact of a split, filtered by this split and those before it.

    `which` asks only for these facts of the split, by their places.

    So validation, which chooses models, never reads a test fact. In an open knowledge base the best-ranked
    mention of the gold counts as the gold, and other known answers are filtered with all their mentions. Scores
    that show the equal-score leak are refused with `LeakError`, or only reported in `Evaluation.leak`.
    """
    start = time.perf_counter()
    asked = Asked.of(kb, split, which)
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

    @classmethod
    def of(cls, kb: KnowledgeBase, split: Split, which: Ints | None = None) -> Asked:
        """The questions of all facts, or of those at these places."""
        queries, gold, golds = kb.queries(split), kb.gold(split), kb.gold_mentions(split)
        if which is not None:
            both = np.concatenate([which, which + len(queries) // 2])
            queries, gold, golds = queries[both], gold[both], golds.take(both)
        if not len(queries):
            raise DataError(f"{kb.name!r} has no {split} facts: there is nothing to evaluate.")
        return cls(kb, split, queries, gold, golds)

    @property
    def known(self) -> KnownAnswers:
        """What the filter removes: the answers of this split and of those before it, with all their mentions."""
        return self.kb.known(*SPLITS[: SPLITS.index(self.split) + 1], mentions=True)

    @property
    def filters(self) -> dict[str, KnownAnswers | None]:
        """What is removed from each of the rankings that an evaluation keeps."""
        return {"ranks": self.known, "retrieved": None, "fresh": self.kb.known("train")}

    def evaluation(
        self, ranks: Mapping[str, Ranks], *, ties: TieRule, seconds: float, refuse_leaking: bool = True
    ) -> Evaluation:
        """The evaluation of a scorer that gave the golds these ranks, one for each of `filters`."""
        others = _others(self.known, self.queries, self.golds)
        strangers = self.kb.n_entities - self.golds.counts - others
        leak = find_leak_in_ranks(ranks["retrieved"], ranks["ranks"], others, strangers)
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
            ranks=ranks["ranks"],
            retrieved=ranks["retrieved"],
            fresh=ranks["fresh"],
            leak=leak,
            seconds=seconds,
        )


def sample_facts(kb: KnowledgeBase, split: Split, facts: int, *, seed: int = 0) -> Ints:
    """A fixed random sample of the facts of a split, ascending; all of them where there are no more."""
    total = len(kb.facts(split))
    return np.sort(np.random.default_rng([seed, total]).choice(total, min(facts, total), replace=False))


def _others(known: KnownAnswers, queries: Queries, golds: Ragged) -> Ints:
    """The number of known answers of each query beside its gold, all of which is known because its split is."""
    distinct, row = queries.distinct()
    return known.of_queries(distinct).counts[row] - golds.counts


def valid_mrr(kb: KnowledgeBase) -> Callable[[ScoresEntities], float]:
    """What chooses a model: filtered MRR on the validation facts, blind to the test facts."""
    return lambda scorer: evaluate(scorer, kb, "valid").summary()["both"]["mrr"]


def _cardinality(kb: KnowledgeBase, queries: Queries) -> Labels:
    """The cardinality of each query's relation, judged from training facts, (query,)."""
    train = kb.facts("train")
    kinds = cardinalities(train[np.isin(train[:, 1], queries.relation % kb.n_relations)])
    labels = np.array([kinds.get(relation, UNSEEN) for relation in range(kb.n_relations)])
    return labels[queries.relation % kb.n_relations]
