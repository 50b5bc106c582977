"""Candidate lists on disk: one Parquet file with its manifest inside, so that any model can fill one.

Columns: `entity` and `relation` of the query (a relation r + R asks for the head), `candidates` and `scores` in
rank order, all integers being those of the knowledge base that the manifest's digest names. Where the manifest names
extra retrievers, `extra_scores` has their scores, candidate by candidate.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from cear.candidates.lists import Lists, Manifest
from cear.core.errors import DataError, MismatchError
from cear.core.files import replacing
from cear.core.records import from_json
from cear.core.tables import read_table, read_words
from cear.core.types import NO_ENTITY, Candidates, Queries
from cear.data import KnowledgeBase

_MANIFEST = "cear"  # the key of the manifest in the file's metadata


def write_lists(path: Path, lists: Lists) -> None:
    """Write lists and their manifest, atomically."""
    k, extra = lists.candidates.k, lists.extra.astype(np.float32)
    columns = {
        "entity": lists.queries.entity,
        "relation": lists.queries.relation,
        "candidates": pl.Series(lists.candidates.entities.astype(np.int32), dtype=pl.Array(pl.Int32, k)),
        "scores": pl.Series(lists.candidates.scores.astype(np.float32), dtype=pl.Array(pl.Float32, k)),
    }
    if lists.manifest.extra:
        width = k * extra.shape[2]
        columns["extra_scores"] = pl.Series(extra.reshape(len(lists), width), dtype=pl.Array(pl.Float32, width))
    table = pl.DataFrame(columns)
    with replacing(path) as partial:
        table.write_parquet(partial, metadata={_MANIFEST: json.dumps(asdict(lists.manifest))})


def read_lists(path: Path, kb: KnowledgeBase) -> Lists:
    """The lists in a file, checked against the knowledge base they must belong to."""
    manifest = _manifest(path)
    if manifest.digest != kb.digest:
        raise MismatchError(
            f"The candidates in {path} were made for {manifest.data!r} with digest {manifest.digest[:12]}; "
            f"this is {kb.name!r} with digest {kb.digest[:12]}. Make them again for this knowledge base."
        )
    columns = _columns(path, manifest.k, len(manifest.extra))
    queries = Queries(columns["entity"], columns["relation"])
    candidates = Candidates(columns["candidates"], columns["scores"])
    extra = None
    if manifest.extra:
        extra = columns["extra_scores"].reshape(len(queries), manifest.k, len(manifest.extra))
    lists = Lists(queries, candidates, manifest, extra)
    _check(path, lists, kb)
    return lists


def _columns(path: Path, k: int, extra: int) -> dict[str, npt.NDArray[Any]]:
    """The columns of a file as arrays, whichever integers, floats and lists its writer chose."""
    ids, scores = pl.Array(pl.Int64, k), pl.Array(pl.Float32, k)
    wanted = pl.Schema({"entity": pl.Int64(), "relation": pl.Int64(), "candidates": ids, "scores": scores})
    if extra:
        wanted["extra_scores"] = pl.Array(pl.Float32, k * extra)
    try:
        table = read_table(path, wanted)
    except DataError as error:
        sizes = ", ".join(f"{name} with {kind.shape[0]}" for name, kind in wanted.items() if isinstance(kind, pl.Array))
        raise DataError(
            f"{path}: lists need the columns {', '.join(wanted)}, of which {sizes} values in each row, as its manifest "
            f"says. {error}"
        ) from None
    return {name: column.to_numpy(writable=True) for name, column in table.to_dict().items()}  # as PyTorch wants them


def _manifest(path: Path) -> Manifest:
    said = read_words(path, _MANIFEST)
    if said is None:
        raise DataError(
            f"{path} has no manifest, so it cannot be told which knowledge base its integers belong to. "
            "Write it with cear.candidates.write_lists."
        )
    manifest = from_json(Manifest, said, f"The manifest of {path}")
    if manifest.k < 1:
        raise DataError(f"{path} has lists of {manifest.k} candidates, as its manifest says. Make it again.")
    return manifest


def _check(path: Path, lists: Lists, kb: KnowledgeBase) -> None:
    """Refuse integers that name nothing, scores that do not fall, and entities that stand twice in a list."""
    queries, entities, scores = lists.queries, lists.candidates.entities, lists.candidates.scores
    inside = (queries.entity < kb.n_entities) & (queries.relation < 2 * kb.n_relations)
    _refuse(path, ~inside | (queries.entity < 0) | (queries.relation < 0), "asks about an unknown entity or relation")
    outside = (entities >= kb.n_entities) | (entities < NO_ENTITY)
    _refuse(path, outside.any(axis=1), "names an unknown entity")
    real = entities != NO_ENTITY
    for name, values in (("a score", scores[..., None]), ("an extra score", lists.extra)):
        misplaced = np.where(real[..., None], ~np.isfinite(values), ~np.isneginf(values))
        _refuse(
            path, misplaced.any(axis=(1, 2)), f"has {name} that is not finite, or a place without entity above -inf"
        )
    _refuse(path, (scores[:, 1:] > scores[:, :-1]).any(axis=1), "is not in rank order")
    ordered = np.sort(np.where(real, entities, -1 - np.arange(lists.candidates.k)), axis=1)
    _refuse(path, (ordered[:, 1:] == ordered[:, :-1]).any(axis=1), "has an entity twice")


def _refuse(path: Path, wrong: npt.ArrayLike, what: str) -> None:
    places = np.flatnonzero(wrong)
    if len(places):
        raise DataError(f"{path}: list {places[0]} {what} ({len(places)} such lists). Make it again.")
