"""Every ranked candidate of every query that was measured, in one file: to look at, or to measure anew."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from cear.core.blocks import blocks, rows_within
from cear.core.errors import ConfigError, DataError
from cear.core.files import replacing
from cear.core.progress import Progress, silent
from cear.core.types import NO_ENTITY, Queries, RankedLists
from cear.data import KnowledgeBase
from cear.pipeline.arguments import refuse_few
from cear.pipeline.asking import splits_of
from cear.pipeline.patience import refuse_slow

if TYPE_CHECKING:
    from cear.pipeline.finished import Run

SEPARATORS = {".csv": ",", ".tsv": "\t"}
FORMATS = (*SEPARATORS, ".parquet")
_CELL_BYTES = 512  # of a candidate: its row, and what is computed on the way


def write_predictions(
    path: Path | str, run: Run, queries: Queries, k: int = 100, *, progress: Progress = silent
) -> None:
    """Write the k best entities of each distinct query, one a row in their final order, as .csv, .tsv or .parquet.

    Nobody is left out: `known` names the split that knows a candidate as an answer, so that anybody can filter.
    `side` says what is asked for; `score` is that of the last stage, nothing behind the re-ranked list.
    """
    path = Path(path)
    refuse_predictions(path)
    refuse_few("k", k)
    ranker, (once, _) = run.ranker, queries.distinct()
    refuse_slow(ranker.retrievers, once, run.plan.ranking_minutes)
    most = min(k, ranker.kb.n_entities)
    with replacing(path) as partial, _writing(partial, path.suffix) as write, progress("Predicting", len(once)) as bar:
        for block in blocks(len(once), rows_within(_CELL_BYTES * most)):
            write(_rows(ranker.kb, once[block], ranker.rank_known_too(once[block], most)))
            bar.advance(block.stop - block.start)


def refuse_predictions(path: Path) -> None:
    """Refuse a file that could not be written later: an ending that says no format, a folder that is not there."""
    if path.suffix not in FORMATS:
        raise ConfigError(f"{path} says no format of predictions by its ending. Known: {', '.join(FORMATS)}.")
    if not path.parent.is_dir():
        raise DataError(f"{path} cannot be written: there is no folder {path.parent}. Make it, or name another.")


def _rows(kb: KnowledgeBase, queries: Queries, ranked: RankedLists) -> pl.DataFrame:
    """The candidates of some queries by ids and names."""
    row, place = np.nonzero(ranked.entities != NO_ENTITY)
    asked, candidate = queries[row], ranked.entities[row, place]
    entities, relations = kb.entities.table, kb.relations.table
    given, relation, found = entities[asked.entity], relations[asked.relation % kb.n_relations], entities[candidate]
    return pl.DataFrame(
        {
            "side": np.where(kb.asks_head(asked), "head", "tail"),
            "entity": given["id"],
            "entity_name": given["name"],
            "relation": relation["id"],
            "relation_name": relation["name"],
            "rank": place + 1,
            "candidate": found["id"],
            "candidate_name": found["name"],
            "score": pl.Series(ranked.scores[row, place].astype(np.float64)).fill_nan(None),
            "stage1_rank": ranked.stage1_ranks[row, place],
            "stage1_score": ranked.stage1_scores[row, place].astype(np.float64),
            "known": splits_of(kb, queries, ranked)[row, place],
        }
    ).with_columns(pl.col("known").replace("", None))


@contextmanager
def _writing(path: Path, suffix: str) -> Iterator[Callable[[pl.DataFrame], None]]:
    """What writes one table after the other into a file, as if they were one."""
    if suffix in SEPARATORS:
        with path.open("wb") as file:
            yield lambda rows: rows.write_csv(file, include_header=file.tell() == 0, separator=SEPARATORS[suffix])
        return
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:  # Parquet has its table of contents at the end
        parts: list[Path] = []

        def write(rows: pl.DataFrame) -> None:
            parts.append(Path(folder) / f"{len(parts):06}.parquet")
            rows.write_parquet(parts[-1])

        yield write
        pl.scan_parquet(parts).sink_parquet(path)
