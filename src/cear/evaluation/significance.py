"""Whether two systems differ on the same queries: a paired test over distinct queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cear.core.errors import MismatchError
from cear.core.types import Bools, Queries
from cear.evaluation.evaluation import Evaluation
from cear.evaluation.measures import MRR, Hits, Measure, Values
from cear.evaluation.resampling import Clusters, bootstrap_means, percentiles, sign_flip_means


@dataclass(frozen=True)
class Difference:
    """How much the second system is better than the first in one measure."""

    name: str
    first: float
    second: float
    low: float
    """Lower end of the bootstrap interval of the difference."""
    high: float
    p: float
    """Two-sided: how often random signs give a difference at least as large."""

    @property
    def difference(self) -> float:
        """Second minus first."""
        return self.second - self.first


def compare(
    first: Evaluation,
    second: Evaluation,
    *,
    measures: Sequence[Measure] = (MRR(), Hits(1)),
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
    which: Bools | None = None,
) -> dict[str, Difference]:
    """The paired difference of two systems in each measure, with bootstrap interval and sign-flip p-value.

    If the systems were equally good, then the difference of a distinct query, all facts that ask it together, would
    be as likely to have the other sign (Fisher's randomisation test). p is never below 1 / (resamples + 1). `which`
    are the queries to compare on, (query,); by default all.
    """
    return compare_seeds([first], [second], measures=measures, level=level, resamples=resamples, seed=seed, which=which)


def compare_seeds(
    first: Sequence[Evaluation],
    second: Sequence[Evaluation],
    *,
    measures: Sequence[Measure] = (MRR(), Hits(1)),
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
    which: Bools | None = None,
) -> dict[str, Difference]:
    """`compare` for systems that were trained with several seeds each: a query has the mean over the seeds of a system.

    More seeds are no more queries. Interval and p say how much depends on the queries, with these seeds.
    """
    queries = _asked_of_all([*first, *second])
    which = np.ones(len(queries), np.bool_) if which is None else which
    a, b = (np.mean([each.values(measures)[which] for each in seeds], axis=0) for seeds in (first, second))
    gains = Clusters.of(queries[which], b - a)
    low, high = percentiles(bootstrap_means(gains, resamples=resamples, seed=seed), level)
    p = _p_values(gains, resamples=resamples, seed=seed)
    columns = zip(measures, a.mean(0), b.mean(0), low, high, p, strict=True)
    return {each.name: Difference(each.name, *(float(value) for value in rest)) for each, *rest in columns}


def _p_values(gains: Clusters, *, resamples: int, seed: int) -> Values:
    """The share of sign-flipped means at least as far from zero as the observed one, (measure,)."""
    flipped = np.abs(sign_flip_means(gains, resamples=resamples, seed=seed))
    # Equal sums may differ in their last bit.
    observed = np.abs(gains.sums.sum(axis=0) / gains.sizes.sum()) * (1 - 1e-12)
    extreme: Values = (1.0 + (flipped >= observed).sum(axis=0)) / (1.0 + resamples)
    return extreme


def _asked_of_all(evaluations: Sequence[Evaluation]) -> Queries:
    """The queries that all of them were asked; refuses evaluations that no pairs can be made of."""
    for other in evaluations[1:]:
        _refuse_other_queries(evaluations[0], other)
    return evaluations[0].queries


def _refuse_other_queries(first: Evaluation, second: Evaluation) -> None:
    same = (
        (first.data, first.split) == (second.data, second.split)
        and np.array_equal(first.queries.entity, second.queries.entity)
        and np.array_equal(first.queries.relation, second.queries.relation)
        and np.array_equal(first.gold, second.gold)
    )
    if not same:
        raise MismatchError(
            f"The systems were evaluated on different queries: {first.data!r} {first.split} "
            f"({len(first.queries)}) and {second.data!r} {second.split} ({len(second.queries)}). "
            "A paired test needs the same ones, in the same order."
        )
    if first.ties != second.ties:
        raise MismatchError(
            f"The systems were evaluated under different tie rules, {first.ties!r} and {second.ties!r}. "
            "Use one for both."
        )
    if first.protocol != second.protocol:
        raise MismatchError(
            f"The systems were evaluated under different protocols, {first.protocol!r} and {second.protocol!r}: their "
            "ranks count different things. Evaluate one of them again, with --protocol."
        )
