"""The lists that this package writes (`cear.candidates.write_lists`): integers of the knowledge base of a digest."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl

from cear.core.errors import DataError, MismatchError
from cear.core.progress import Bar
from cear.core.reading import unreadable
from cear.core.tables import read_table, read_words, refuse_deadly
from cear.core.types import NO_ENTITY
from cear.data import KnowledgeBase
from cear.retrieval.listed.entries import Entry

_COLUMNS = {
    "entity": pl.Int64(),
    "relation": pl.Int64(),
    "candidates": pl.List(pl.Int64()),
    "scores": pl.List(pl.Float64()),
}


def read_parquet(path: Path, kb: KnowledgeBase, bar: Bar) -> Iterator[Entry]:
    """The lists of a file, refused where it was made for another knowledge base; equal lists of a query are one."""
    refuse_deadly(path)
    _refuse_other(path, kb)
    seen: dict[tuple[int, int], object] = {}
    try:
        table = read_table(path, _COLUMNS)
    except DataError as error:
        raise DataError(f"{path}: lists need the columns {', '.join(_COLUMNS)}. {error}") from None
    bar.advance(path.stat().st_size)
    for number, (entity, relation, candidates, scores) in enumerate(table.iter_rows()):
        if seen.get((entity, relation)) == (candidates, scores):
            continue  # facts that share a query share its list
        seen[entity, relation] = candidates, scores
        where, entities = f"{path}, list {number}", np.array(candidates, np.int64)
        _refuse_outside(kb, where, entity, relation, entities)
        real = entities != NO_ENTITY
        yield Entry(where, entity, relation, entities[real], np.array(scores, np.float64)[real])


def _refuse_other(path: Path, kb: KnowledgeBase) -> None:
    manifest = read_words(path, "cear") or {}
    if not isinstance(manifest, dict):
        raise unreadable(path, f"its manifest is {type(manifest).__name__}, expected a dictionary")
    if manifest.get("digest") != kb.digest:
        raise MismatchError(
            f"The lists in {path} were made for {manifest.get('data')!r} with digest "
            f"{str(manifest.get('digest'))[:12]}; this is {kb.name!r} with digest {kb.digest[:12]}. Their integers "
            "mean something else here: make them again for this knowledge base."
        )


def _refuse_outside(kb: KnowledgeBase, where: str, entity: int, relation: int, entities: np.ndarray) -> None:
    outside = entities[(entities < NO_ENTITY) | (entities >= kb.n_entities)]
    if not (0 <= entity < kb.n_entities and 0 <= relation < 2 * kb.n_relations) or len(outside):
        raise DataError(
            f"{where}: entity {outside[0] if len(outside) else entity} or relation {relation} is outside the "
            f"{kb.n_entities} entities and {2 * kb.n_relations} relations that there are. Make the file again."
        )
