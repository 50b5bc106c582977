"""The evaluation of a scorer on a split: the rank of every query, and what tables want to know about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from cear.core.errors import MismatchError
from cear.core.types import SIDES, Bools, Ints, Protocol, Queries, Ragged, Ranks, Split, TieRule
from cear.data import CARDINALITIES
from cear.evaluation.leaks import LeakReport
from cear.evaluation.measures import STANDARD, Hits, Measure, Values, measure
from cear.evaluation.resampling import Clusters, bootstrap_means, percentiles

UNSEEN = "unseen"  # the cardinality of a relation that no training fact has
INVERSE, REST = "inverse in train", "rest"  # facts that stand in train the other way round, and all others

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
    """Filtered: other known answers removed; under CaRe's protocol clusters are counted, not entities."""
    retrieved: Ranks
    """As Stage 1 retrieved them: nothing removed."""
    fresh: Ranks
    """As Stage 1 retrieved them, other training answers removed: what a list for completion shows, but for mentions
    of the gold."""
    leak: LeakReport
    seconds: float
    before: Evaluation | None = None
    """The same queries before re-ranking, where these ranks are those of a second stage."""
    listed: Bools | None = None
    """Whether the list that was re-ranked holds the gold, (query,): their share is above every H@k within the list."""
    relations: Mapping[int, str] = field(default_factory=dict)
    """The user's names of the relations asked for, by number."""
    protocol: Protocol = "ours"
    """How `ranks` are counted."""
    inverse_known: Bools | None = None
    """Whether train has the fact of each query the other way round, (query,); files of before do not say."""

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

    @property
    def asked_relations(self) -> Ints:
        """The relation of each query's fact, (query,): that of a head query, too, is not the reciprocal."""
        return np.tile(self.queries.relation[: self.facts], 2)

    def summary(self) -> Summary:
        """Every standard measure for both sides, for head and for tail queries, unrounded."""
        return {side: measure(self.ranks[which], self.ties) for side, which in self._sides().items()}

    def intervals(self, *, level: float = 0.95, resamples: int = 1000, seed: int = 0) -> Intervals:
        """The percentile-bootstrap interval of everything in `summary`, by drawing distinct queries with replacement.

        Facts that share a query are drawn together: their ranks come from one ranking.
        """
        return {side: self._intervals_of(which, level, resamples, seed) for side, which in self._sides().items()}

    def values(self, measures: Sequence[Measure] = STANDARD) -> Values:
        """The measures of each query, (query, measure)."""
        ranks = self.ranks.under(self.ties)
        return np.stack([each(ranks) for each in measures], axis=1)

    def by_cardinality(self) -> dict[str, dict[str, dict[str, float]]]:
        """The standard measures and the number of queries, by side and by cardinality where it occurs."""
        sides = self._sides()
        return {side: self._by_cardinality(sides[side]) for side in SIDES}

    def by_inverse(self) -> dict[str, dict[str, float]]:
        """The standard measures where train has the fact the other way round, for a rule to read off, and elsewhere."""
        return self._by_group(self.inverse_groups())

    def inverse_groups(self) -> dict[str, Bools]:
        """Which queries are of facts that train has the other way round, and the rest; nothing if that is not said."""
        known = self.inverse_known
        return {} if known is None else {INVERSE: known, REST: ~known}

    def recall(self, ks: Sequence[int] = (1, 10, 40, 100)) -> dict[str, dict[str, float]]:
        """The share of golds within the first k, known answers "kept" or other training answers "dropped".

        This bounds what a re-ranker of k candidates can reach, so it is asked of Stage 1, never of what came after.
        """
        if self.before is not None:
            raise MismatchError(
                "Recall is that of Stage 1's lists, and these are the ranks after re-ranking. "
                "Ask `evaluation.before.recall()`; the share of golds in the re-ranked lists is `evaluation.listed`."
            )
        lists = {"kept": self.retrieved.under(self.ties), "dropped": self.fresh.under(self.ties)}
        return {policy: {f"recall@{k}": float(Hits(k)(ranks).mean()) for k in ks} for policy, ranks in lists.items()}

    def _intervals_of(self, which: Bools, level: float, resamples: int, seed: int) -> dict[str, tuple[float, float]]:
        """The interval of each standard measure over these queries."""
        clusters = Clusters.of(self.queries[which], self.values()[which])
        low, high = percentiles(bootstrap_means(clusters, resamples=resamples, seed=seed), level)
        ends = zip(STANDARD, low, high, strict=True)
        return {each.name: (float(a), float(b)) for each, a, b in ends}

    def _sides(self) -> dict[str, Bools]:
        return {"both": np.ones_like(self.asks_head), "head": self.asks_head, "tail": ~self.asks_head}

    def _by_cardinality(self, side: Bools) -> dict[str, dict[str, float]]:
        return self._by_group({label: side & (self.cardinality == label) for label in (*CARDINALITIES, UNSEEN)})

    def _by_group(self, groups: Mapping[str, Bools]) -> dict[str, dict[str, float]]:
        """The standard measures and the number of queries of each group that occurs."""
        return {
            label: {"queries": int(which.sum()), **measure(self.ranks[which], self.ties)}
            for label, which in groups.items()
            if which.any()
        }
