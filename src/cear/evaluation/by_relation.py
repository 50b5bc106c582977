"""The figures of an evaluation relation by relation: which ones a system knows, and which it does not."""

from __future__ import annotations

import numpy as np
import polars as pl

from cear.evaluation.evaluation import Evaluation
from cear.evaluation.measures import MRR, Hits, Measure, Values

MEASURES: tuple[Measure, ...] = (MRR(), Hits(1), Hits(3), Hits(10))
SIDES = pl.Enum(["both", "head", "tail"])


def by_relation(evaluation: Evaluation) -> pl.DataFrame:
    """A row for each relation and side: how many queries it has, and the mean of each measure over them, unrounded.

    `relation` is the number of a relation, `name` what the user calls it. `mrr`, `hits@1`, … are those of the last
    stage; where there are two, `stage1_mrr`, … are those of the first.
    """
    queries = pl.DataFrame(
        {
            "relation": evaluation.asked_relations,
            "side": np.where(evaluation.asks_head, "head", "tail"),
            **_values(evaluation, ""),
            **({} if evaluation.before is None else _values(evaluation.before, "stage1_")),
        }
    )
    sides = pl.concat([queries, queries.with_columns(side=pl.lit("both"))]).cast({"side": SIDES})
    figures = sides.group_by("relation", "side").agg(pl.len().alias("queries"), pl.exclude("relation", "side").mean())
    names = pl.Series([evaluation.relations.get(each) for each in figures["relation"].to_list()], dtype=pl.String)
    return figures.insert_column(1, names.alias("name")).sort("relation", "side")


def _values(evaluation: Evaluation, prefix: str) -> dict[str, Values]:
    """The values of each measure, (query,), by its name."""
    columns = evaluation.values(MEASURES).T
    return {f"{prefix}{each.name}": values for each, values in zip(MEASURES, columns, strict=True)}
