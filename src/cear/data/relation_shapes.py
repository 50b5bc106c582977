"""What relations look like from their facts: one-to-many or not, symmetric, or another one in disguise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import polars as pl

from cear.core.types import Bools, Ints
from cear.data.draft import FACT

Cardinality = Literal["1-1", "1-n", "n-1", "n-n"]
CARDINALITIES: tuple[Cardinality, ...] = get_args(Cardinality)

MANY = 1.5  # so many answers on average make a side "n" (Bordes et al. 2013, section 4)
OVERLAP = 0.8  # so large a share of common entity pairs makes two relations one (Akrami et al. 2020)
LEAST_SHARED = 5  # fewer common pairs than this may be chance


def cardinalities(facts: Ints) -> dict[int, Cardinality]:
    """The cardinality of each relation that has facts: "1-n" has one head per tail and many tails per head."""
    sizes = _frame(facts).group_by("relation").agg(pl.len(), pl.col("subject", "object").n_unique())
    heads_many = pl.col("len") / pl.col("object") >= MANY
    tails_many = pl.col("len") / pl.col("subject") >= MANY
    kinds = sizes.sort("relation").select("relation", kind=2 * heads_many.cast(int) + tails_many.cast(int))
    return {relation: CARDINALITIES[kind] for relation, kind in kinds.iter_rows()}


@dataclass(frozen=True, slots=True)
class Lookalikes:
    """Relations that hold for nearly the same entity pairs as another one, or as themselves turned round.

    Such relations made FB15k and WN18 easy: a test fact could be read off a training fact (Toutanova and
    Chen 2015; Dettmers et al. 2018).
    """

    duplicates: tuple[tuple[int, int], ...]  # the smaller number first
    inverses: tuple[tuple[int, int], ...]  # the smaller number first
    symmetric: tuple[int, ...]


def lookalikes(facts: Ints, *, overlap: float = OVERLAP, least_shared: int = LEAST_SHARED) -> Lookalikes:
    """The relations that share at least this part of their entity pairs, counted on both sides."""
    frame = _frame(facts).filter(pl.col("subject") != pl.col("object"))  # ⟨a, r, a⟩ turned round says nothing
    same = _overlapping(frame, frame, overlap, least_shared)
    turned = _overlapping(frame, turned_round(frame), overlap, least_shared)
    return Lookalikes(
        duplicates=tuple(pair for pair in same if pair[0] < pair[1]),
        inverses=tuple(pair for pair in turned if pair[0] < pair[1]),
        symmetric=tuple(first for first, second in turned if first == second),
    )


def readable_from(asked: Ints, known: Ints, pairs: tuple[tuple[int, int], ...], *, turned: bool) -> Ints:
    """Those asked facts that a known fact gives away: ⟨s, r', o⟩, or ⟨o, r', s⟩ if turned, r' paired with r."""
    other = pl.DataFrame(
        [*pairs, *(pair[::-1] for pair in pairs)],
        schema={"relation": pl.Int64, "other": pl.Int64},
        orient="row",
    ).unique()
    there = turned_round(_frame(known)) if turned else _frame(known)
    mine = _frame(asked).join(other, on="relation")
    keys = ["subject", "other", "object"]
    given = mine.join(there.rename({"relation": "other"}), on=keys, how="semi")
    return given.select(FACT).unique().sort(FACT).to_numpy()


def stands_turned(asked: Ints, known: Ints) -> Bools:
    """Whether known facts have each asked one the other way round, (fact,): ⟨o, r', s⟩, r' being r or its inverse."""
    rows = pl.DataFrame(asked, schema=dict.fromkeys(FACT, pl.Int64)).with_row_index()
    near = known[np.isin(known[:, 0], asked[:, 2])]  # a small part of a large knowledge base
    met = rows.join(turned_round(_frame(near)), on=["subject", "object"], suffix="_there")
    alike = lookalikes(known[np.isin(known[:, 1], [*met["relation"], *met["relation_there"]])])
    inverses = {*alike.inverses, *(pair[::-1] for pair in alike.inverses)}
    pairs = met.select("index", "relation", "relation_there").iter_rows()
    found = np.zeros(len(asked), np.bool_)
    found[[row for row, here, there in pairs if here == there or (here, there) in inverses]] = True
    return found


def turned_round(facts: pl.DataFrame) -> pl.DataFrame:
    """⟨o, r, s⟩ for every ⟨s, r, o⟩."""
    return facts.select(subject="object", relation="relation", object="subject")


def _overlapping(left: pl.DataFrame, right: pl.DataFrame, overlap: float, least: int) -> list[tuple[int, int]]:
    """Pairs of relations of the two sides whose entity pairs are mostly the same."""
    size = left.group_by("relation").len()
    left = left.join(size.filter(pl.col("len") >= least), on="relation", how="semi")  # open data has many rare ones
    shared = left.join(right, on=["subject", "object"]).group_by("relation", "relation_right").len("shared")
    both = shared.join(size, on="relation").join(size, left_on="relation_right", right_on="relation")
    larger = pl.max_horizontal("len", "len_right")
    close = both.filter((pl.col("shared") >= overlap * larger) & (pl.col("shared") >= least))
    return [(first, second) for first, second in close.select("relation", "relation_right").sort(pl.all()).iter_rows()]


def _frame(facts: Ints) -> pl.DataFrame:
    """The distinct facts as a table of integers."""
    return pl.DataFrame(facts, schema=dict.fromkeys(FACT, pl.Int64)).unique()
