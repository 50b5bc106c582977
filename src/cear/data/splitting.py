"""Facts that come in one piece, parted into train, valid and test."""

from __future__ import annotations

from typing import Self

import numpy as np
import numpy.typing as npt
import polars as pl
from pydantic import Field, model_validator

from cear.core.settings import Seed, Settings
from cear.core.types import Bools, Ints, Split
from cear.data.draft import FACT, ReadOptions
from cear.data.numbering import by_appearance

_DEFAULTS = ReadOptions()


class SplitConfig(Settings):
    """How facts that come without splits are parted; data that has splits keeps them."""

    seed: Seed = _DEFAULTS.seed
    """Decides which facts go where; not the seed of the run, so that runs of several seeds share their facts."""
    valid: float = Field(_DEFAULTS.valid_share, ge=0)
    """The share of all facts that goes to valid."""
    test: float = Field(_DEFAULTS.test_share, ge=0)
    """The share of all facts that goes to test."""

    @model_validator(mode="after")
    def _some_are_left(self) -> Self:
        if self.valid + self.test >= 1:
            raise ValueError(
                f"valid {self.valid} and test {self.test} are shares of all facts and must leave some for train"
            )
        return self


def split_facts(facts: pl.DataFrame, options: ReadOptions) -> dict[Split, pl.DataFrame]:
    """The distinct facts in three splits, the same for any order of the lines.

    Every entity and relation of valid and test is in train as well: the first fact that names it, in an
    order drawn by the seed, stays in train. Where too few facts are left, valid and test shrink alike.
    """
    distinct = facts.select(FACT).unique().sort(FACT)
    order = np.argsort(_scrambled(distinct.height, options.seed), kind="stable")
    free = order[~_needed_in_train(_as_integers(distinct)[order])]
    n_valid, n_test = _sizes(distinct.height, len(free), options)
    parts = {"valid": free[:n_valid], "test": free[n_valid : n_valid + n_test]}
    in_train = np.ones(distinct.height, bool)
    in_train[free[: n_valid + n_test]] = False
    return {
        "train": distinct.filter(in_train),
        "valid": distinct[np.sort(parts["valid"])],
        "test": distinct[np.sort(parts["test"])],
    }


def _as_integers(facts: pl.DataFrame) -> Ints:
    """Facts in words as some integers, (fact, 3), the same for the same word."""
    whole: dict[Split, pl.DataFrame] = {"train": facts}
    ends, relations = by_appearance(whole, "subject", "object"), by_appearance(whole, "relation")
    return np.insert(ends.columns["train"], 1, relations.columns["train"].T, axis=1)


def _needed_in_train(facts: Ints) -> Bools:
    """Which facts are the first to name their subject, relation or object, (fact,)."""
    entities, relations = facts[:, [0, 2]].ravel(), facts[:, 1]
    needed = _first_mentions(entities).reshape(-1, 2).any(axis=1)
    return needed | _first_mentions(relations)


def _first_mentions(values: Ints) -> Bools:
    first: Bools = pl.Series(values).is_first_distinct().to_numpy()
    return first


def _sizes(n_facts: int, n_free: int, options: ReadOptions) -> tuple[int, int]:
    """How many facts valid and test get."""
    wanted = (round(n_facts * options.valid_share), round(n_facts * options.test_share))
    if sum(wanted) <= n_free:
        return wanted
    n_valid = n_free * wanted[0] // sum(wanted)
    return n_valid, n_free - n_valid


def _scrambled(count: int, seed: int) -> npt.NDArray[np.uint64]:
    """A pseudo-random number for each index (SplitMix64, Steele et al. 2014).

    Written out, because numpy does not promise that a generator's stream stays the same between versions.
    """
    start = np.full(count, seed % 2**64, np.uint64) * np.uint64(0xD1342543DE82EF95)
    z = start + (np.arange(count, dtype=np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    scrambled: npt.NDArray[np.uint64] = z ^ (z >> np.uint64(31))
    return scrambled
