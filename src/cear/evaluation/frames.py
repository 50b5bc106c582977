"""Evaluations as tables, one row per query, and as Parquet files that give back an equal evaluation."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from cear.core.errors import DataError, MismatchError
from cear.core.files import replacing
from cear.core.reading import in_words, reading, unreadable
from cear.core.tables import read_table, read_words
from cear.core.types import Bools, Ints, Queries, Ragged, Ranks
from cear.evaluation.evaluation import Evaluation
from cear.evaluation.leaks import LeakReport

KEY = "cear.evaluation"  # of what a file says about the evaluation as a whole, as JSON


def to_frame(evaluation: Evaluation) -> pl.DataFrame:
    """One row per query: what is asked, of which relation, the gold, and its ranks under each filter.

    `above` and `tied` are the filtered rank, `retrieved_*` and `fresh_*` those of Stage 1 as retrieved and without
    training answers; `inverse_known` says whether train has the fact the other way round. After re-ranking, `stage1_*`
    is the filtered rank before it, `listed` whether the list has the gold. A relation r + R asks for the head of
    relation r; `golds` holds all mentions of the gold.
    """
    before = evaluation.before
    if before is not None:
        _refuse_other_lists(before, evaluation)
    ranks = {"": evaluation.ranks, "retrieved_": evaluation.retrieved, "fresh_": evaluation.fresh}
    ranks |= {} if before is None else {"stage1_": before.ranks}
    columns: dict[str, Any] = {
        "entity": evaluation.queries.entity,
        "relation": evaluation.queries.relation,
        "relation_name": [evaluation.relations.get(int(each)) for each in evaluation.asked_relations],
        "gold": evaluation.gold,
        "asks_head": evaluation.asks_head,
        "cardinality": evaluation.cardinality.tolist(),
        **{f"{prefix}above": each.above for prefix, each in ranks.items()},
        **{f"{prefix}tied": each.tied for prefix, each in ranks.items()},
        "golds": _lists(evaluation.golds),
    }
    columns |= {} if evaluation.inverse_known is None else {"inverse_known": evaluation.inverse_known}
    columns |= {} if evaluation.listed is None else {"listed": evaluation.listed}
    return pl.DataFrame(columns, schema_overrides={"relation_name": pl.String()})


def about(evaluation: Evaluation) -> dict[str, Any]:
    """What the rows of an evaluation's frame do not say, as a value of JSON."""
    leak, before = evaluation.leak, evaluation.before
    return {
        "data": evaluation.data,
        "split": evaluation.split,
        "ties": evaluation.ties,
        **({} if evaluation.protocol == "ours" else {"protocol": evaluation.protocol}),
        "leak": {"queries": leak.queries, "checked": leak.checked, "marked": leak.marked},
        "seconds": evaluation.seconds,
        "stage1_seconds": None if before is None else before.seconds,
    }


def from_frame(frame: pl.DataFrame, whole: Mapping[str, Any]) -> Evaluation:
    """The evaluation of which `to_frame` gives the frame and `about` the whole."""
    first = Evaluation(
        data=whole["data"],
        split=whole["split"],
        ties=whole["ties"],
        queries=Queries(_ints(frame, "entity"), _ints(frame, "relation")),
        gold=_ints(frame, "gold"),
        golds=_ragged(frame["golds"]),
        asks_head=frame["asks_head"].to_numpy(),
        cardinality=np.array(frame["cardinality"].to_list(), np.str_),
        ranks=_ranks(frame, ""),
        retrieved=_ranks(frame, "retrieved_"),
        fresh=_ranks(frame, "fresh_"),
        leak=LeakReport(**whole["leak"]),
        seconds=whole["seconds"],
        relations=_relations(frame),
        protocol=whole.get("protocol", "ours"),
        inverse_known=_if_there(frame, "inverse_known"),
    )
    listed = _if_there(frame, "listed")
    if whole["stage1_seconds"] is None:
        return replace(first, listed=listed)
    before = replace(first, ranks=_ranks(frame, "stage1_"), seconds=whole["stage1_seconds"])
    return replace(first, before=before, listed=listed)


def write_ranks(path: Path, evaluation: Evaluation) -> None:
    """Write the ranks of every query as a Parquet file, atomically."""
    frame, whole = to_frame(evaluation), json.dumps(about(evaluation), ensure_ascii=False, allow_nan=False)
    with replacing(path) as partial:
        frame.write_parquet(partial, metadata={KEY: whole})


def read_ranks(path: Path) -> Evaluation:
    """The evaluation whose ranks a file holds."""
    if not path.exists():
        raise DataError(f"There is no file of ranks {path}. `cear run` and `cear evaluate --json` write one.")
    whole = read_words(path, KEY)
    if whole is None:
        raise unreadable(path, "it says nothing about an evaluation")
    frame = read_table(path)
    try:
        with reading(path):
            return from_frame(frame, whole)
    except (pl.exceptions.PolarsError, MismatchError) as error:  # a column or rows that are not there
        raise unreadable(path, in_words(error)) from error


def _refuse_other_lists(before: Evaluation, after: Evaluation) -> None:
    """Refuse what one row per query cannot hold: two first stages."""
    pairs = ((before.retrieved, after.retrieved), (before.fresh, after.fresh))
    same = all(np.array_equal(a.above, b.above) and np.array_equal(a.tied, b.tied) for a, b in pairs)
    if before.before is not None or not same:
        raise MismatchError("The ranks before re-ranking are not those of the Stage 1 that this evaluation names.")


def _lists(ragged: Ragged) -> pl.Series:
    """Each row as a list."""
    rows = pl.DataFrame({"row": ragged.rows, "value": ragged.values})
    return rows.group_by("row", maintain_order=True).agg("value")["value"]


def _ragged(lists: pl.Series) -> Ragged:
    """Lists as rows."""
    offsets = np.concatenate([[0], np.cumsum(lists.list.len().to_numpy())]).astype(np.int64)
    return Ragged(offsets, lists.explode().drop_nulls().to_numpy().astype(np.int64))


def _relations(frame: pl.DataFrame) -> dict[int, str]:
    """The names of relations by number; the first half of the rows asks for tails."""
    names = frame.head(len(frame) // 2).select("relation", "relation_name").drop_nulls().unique(maintain_order=True)
    return dict(names.iter_rows())


def _if_there(frame: pl.DataFrame, column: str) -> Bools | None:
    return frame[column].to_numpy() if column in frame.columns else None


def _ranks(frame: pl.DataFrame, prefix: str) -> Ranks:
    return Ranks(_ints(frame, f"{prefix}above"), _ints(frame, f"{prefix}tied"))


def _ints(frame: pl.DataFrame, column: str) -> Ints:
    return frame[column].to_numpy().astype(np.int64)
