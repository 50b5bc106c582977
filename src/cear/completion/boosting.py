"""Gradient-boosted trees over rows of features: learned in parts, so that every row is judged by who never saw it.

LightGBM grows the trees and writes them as text. Groups of rows are dealt into parts, and for each part a model learns
from all others. A row is always judged by models that have not learned from its group, now and later: a test fact is a
wrong proposal to those who learn from validation facts, and who has seen it as one would remember.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np
import numpy.typing as npt

from cear.completion.trees import Trees
from cear.core.types import Bools, Floats, Ints

if TYPE_CHECKING:
    import lightgbm  # a second, which only who completes need wait for

Reals = npt.NDArray[np.float64]

_PARTS = 5
_ROUNDS, _PATIENCE = 400, 15
_FEW = 1000  # rows for which reading the trees ourselves is faster than importing LightGBM
_MODELS = 64  # that are kept ready to be asked
_KNUTH = np.uint64(0x9E3779B97F4A7C15)


class Likelihood(Protocol):
    """What trees maximise, of rows that have a target each: minus a loss, with its derivatives by what they say."""

    def __getitem__(self, which: Bools) -> Likelihood:
        """The likelihood of some of the rows."""

    def loss(self, f: Reals) -> Reals:
        """The loss of each row, (row,)."""

    def slope(self, f: Reals) -> tuple[Reals, Reals]:
        """Its first derivative by f, and one that stands for its second and is positive."""

    def start(self) -> float:
        """What is said of every row before the first tree."""


@dataclass(frozen=True, eq=False)
class HiddenTruth:
    """Of being true, where only a share of the true ones is seen: P(seen) = share · σ(f + offset).

    Elkan and Noto (2008): what is not seen is not false.
    """

    seen: Reals  # (row,): 1 for those that are seen to be true
    share: Reals  # (row,)
    offset: Reals  # (row,)
    weight: Reals  # (row,): how many rows it stands for

    def __getitem__(self, which: Bools) -> HiddenTruth:
        return HiddenTruth(self.seen[which], self.share[which], self.offset[which], self.weight[which])

    def loss(self, f: Reals) -> Reals:
        """The negative log-likelihood."""
        expected = np.clip(self.share * sigmoid(f + self.offset), 1e-12, 1 - 1e-9)
        return -self.weight * (self.seen * np.log(expected) + (1 - self.seen) * np.log1p(-expected))

    def slope(self, f: Reals) -> tuple[Reals, Reals]:
        """Its derivative, and its Fisher information."""
        true = sigmoid(f + self.offset)
        expected = np.clip(self.share * true, 1e-12, 1 - 1e-9)
        information = expected * (1 - true) ** 2 / (1 - expected)
        slope = -(self.seen - expected) * (1 - true) / (1 - expected)
        return self.weight * slope, self.weight * np.maximum(information, 1e-6)

    def start(self) -> float:
        """The log-odds of the mean."""
        true = np.clip(self.weight @ self.seen / (self.weight @ self.share), 1e-6, 1 - 1e-6)
        return float(np.log(true / (1 - true)))


@dataclass(frozen=True, eq=False)
class Counted:
    """Of numbers of things, Poisson distributed, whose expectation is exp(f)."""

    count: Reals  # (row,)
    weight: Reals  # (row,): how many rows it stands for

    def __getitem__(self, which: Bools) -> Counted:
        return Counted(self.count[which], self.weight[which])

    def loss(self, f: Reals) -> Reals:
        """The negative log-likelihood, but for what does not depend on f."""
        return self.weight * (_exp(f) - self.count * f)

    def slope(self, f: Reals) -> tuple[Reals, Reals]:
        """Its two derivatives."""
        return self.weight * (_exp(f) - self.count), self.weight * (_exp(f) + 1e-6)

    def start(self) -> float:
        """The logarithm of the mean."""
        return float(np.log(max(np.average(self.count, weights=self.weight), 1e-9)))


def sigmoid(x: Floats) -> Reals:
    """σ(x), without overflow."""
    return np.asarray(1 / (1 + np.exp(-np.clip(x, -40, 40))))


def _exp(f: Reals) -> Reals:
    return np.asarray(np.exp(np.clip(f, -30, 30)))


@dataclass(frozen=True, eq=False)
class Fitted:
    """Trees that have learned."""

    models: tuple[tuple[str, ...], ...]
    """For each dealing of groups one model for each part, in the text form of LightGBM; "" where it saw no row."""
    start: float
    seed: int

    def raw(self, features: Floats, groups: Ints) -> Reals:
        """What the models that never saw the group of a row say of it, (row,)."""
        total = np.zeros(len(features))
        for number, models in enumerate(self.models):
            part = dealt(groups, self.seed + number)
            for which, model in enumerate(models):
                total[part == which] += _raw(model, features[part == which])
        return total / len(self.models) + self.start

    def as_json(self) -> dict[str, Any]:
        """The trees as a value of JSON."""
        return {"models": [list(dealing) for dealing in self.models], "start": self.start, "seed": self.seed}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Self:
        """The trees that `as_json` gave."""
        models = tuple(tuple(str(model) for model in dealing) for dealing in values["models"])
        return cls(models, float(values["start"]), int(values["seed"]))


@dataclass(frozen=True)
class Boosted:
    """How trees are grown."""

    leaves: int = 15
    least_in_leaf: int = 20
    dealings: int = 1
    """How often groups are dealt into parts: a row is judged by the mean of so many models."""
    monotone: tuple[int, ...] = ()
    """1 or -1 for features with which the prediction never falls or never rises, 0 for others; none for no feature."""
    params: dict[str, Any] = field(default_factory=dict)

    def fit(self, features: Floats, likelihood: Likelihood, groups: Ints, *, seed: int) -> Fitted:
        """The trees; rows of a group are in one part together."""
        start, dealings = likelihood.start(), []
        for number in range(self.dealings):
            part = dealt(groups, seed + number)
            held = [part == which for which in range(_PARTS)]
            dealings.append(tuple(self._grow(features, likelihood, each, start, seed + number) for each in held))
        return Fitted(tuple(dealings), start, seed)

    def _grow(self, x: Floats, likelihood: Likelihood, held: Bools, start: float, seed: int) -> str:
        """The text of a model that learns from some rows, and stops when it gets no better on others."""
        import lightgbm

        learned = ~held
        if not learned.any():  # all rows are of one part: nobody may say more of them than the start
            return ""
        inner, outer = likelihood[learned], likelihood[held]
        params = {
            "objective": lambda f, _: inner.slope(f + start),
            "learning_rate": 0.1,
            "num_leaves": self.leaves,
            "min_data_in_leaf": min(self.least_in_leaf, max(int(learned.sum()) // 20, 1)),
            "min_sum_hessian_in_leaf": 1e-3,
            "lambda_l2": 5.0,
            "feature_fraction": 0.7,
            "deterministic": True,
            "force_row_wise": True,
            "seed": seed % 2**31,
            "num_threads": 1,  # the same trees on every machine
            "verbosity": -1,
            **({"monotone_constraints": list(self.monotone)} if self.monotone else {}),
            **self.params,
        }
        data = lightgbm.Dataset(x[learned], np.zeros(int(learned.sum())), params={"verbosity": -1, "num_threads": 1})
        if not held.any():  # nothing tells when to stop
            return str(lightgbm.train(params, data, num_boost_round=_PATIENCE).model_to_string())
        grown = lightgbm.train(
            params,
            data,
            num_boost_round=_ROUNDS,
            valid_sets=[lightgbm.Dataset(x[held], np.zeros(int(held.sum())), reference=data)],
            feval=lambda f, _: ("loss", float(outer.loss(f + start).mean()), False),
            callbacks=[lightgbm.early_stopping(_PATIENCE, verbose=False)],
        )
        return str(grown.model_to_string())


def sample_groups(groups: Ints, most: int, kept: Bools, *, seed: int) -> tuple[Bools, Reals]:
    """Which rows are learned from, about `most` of them, and how many each stands for, (row,) each.

    Groups with a row in `kept` are all there; of the others a share is drawn, and each stands for as many.
    """
    always = np.isin(groups, groups[kept])
    others = int((~always).sum())
    share = min(max(most - int(always.sum()), most // 4) / max(others, 1), 1.0)
    drawn = always | (_scrambled(groups, seed - 1) < share * 2.0**64)
    return drawn, np.where(always, 1.0, 1 / share)


def dealt(groups: Ints, seed: int) -> Ints:
    """The part of each row, (row,): the same for a group, whatever the order of rows."""
    return np.asarray(_scrambled(groups, seed) % np.uint64(_PARTS)).astype(np.int64)


def _raw(model: str, features: Floats) -> Reals:
    """What a model says of rows, (row,): read by ourselves for a few, by LightGBM for many, to the same bits."""
    if not model or not len(features):
        return np.zeros(len(features))
    if len(features) <= _FEW and (trees := _trees(model)) is not None:
        return trees.raw(features)
    return np.asarray(_booster(model).predict(features, raw_score=True, num_threads=1))


@lru_cache(_MODELS)
def _trees(model: str) -> Trees | None:
    """The trees of a model, or None where only LightGBM itself can read them."""
    try:
        return Trees.of(model)
    except (ValueError, KeyError):
        return None


@lru_cache(_MODELS)
def _booster(model: str) -> lightgbm.Booster:
    import lightgbm

    return lightgbm.Booster(model_str=model)


def _scrambled(groups: Ints, seed: int) -> npt.NDArray[np.uint64]:
    z = (groups.astype(np.uint64) + np.uint64(seed % 2**32)) * _KNUTH
    z ^= z >> np.uint64(31)
    z *= np.uint64(0xBF58476D1CE4E5B9)
    return z ^ (z >> np.uint64(29))
