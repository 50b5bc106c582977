"""The predictions that SimKGC's evaluation writes: a JSON array, an object for each fact of a split.

Of each object `head`, `relation` and `topk_score_info` are read, never the gold. Entities and relations are called by
their names, and in the backward file a relation is `inverse` and its name. Known answers are left out of each
list, all but the gold of its own fact, so the facts of a query have different lists: they are put together, and where
one of them has left out what another has, its score is the other's.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from cear.core.errors import DataError
from cear.core.progress import Bar
from cear.core.types import Side
from cear.retrieval.listed.entries import Entry
from cear.retrieval.listed.names import Names

_INVERSE = "inverse "
_LEFT_OUT = -1.0  # the score of a known answer in SimKGC's lists; a cosine of real texts is above it
Asked = tuple[Side, str, str]


def read_simkgc(path: Path, names: Names, bar: Bar) -> Iterator[Entry]:
    """The lists of a file of predictions, one for each query."""
    lists: dict[Asked, dict[str, float]] = {}
    first: dict[Asked, str] = {}
    for number, value in enumerate(_values(path), start=1):
        where = f"{path}, prediction {number}"
        asked, listed = _prediction(value, where)
        first.setdefault(asked, where)
        lists.setdefault(asked, {}).update({name: score for name, score in listed.items() if score != _LEFT_OUT})
    bar.advance(path.stat().st_size)
    for asked, listed in lists.items():
        where = first[asked]
        query = names.query(*asked, where)
        yield Entry(where, *query, names.entities(listed, where), np.array([*listed.values()], np.float64))


def _values(path: Path) -> list[Any]:
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: byte {error.start + 1} is not UTF-8. Save the file as UTF-8.") from None
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: not JSON ({error}). Is it cut off? Copy it again.") from None
    return values if isinstance(values, list) else [values]


def _prediction(value: Any, where: str) -> tuple[Asked, dict[str, float]]:
    """The query of a prediction, and the scores of the entities that it names."""
    try:
        head, relation, listed = str(value["head"]), str(value["relation"]), json.loads(value["topk_score_info"])
        scores = {str(name): float(score) for name, score in listed.items()}
    except (TypeError, ValueError, KeyError, AttributeError, RecursionError) as error:
        raise DataError(
            f"{where}: no prediction of SimKGC ({type(error).__name__}: {error}). Expected an array of objects with "
            "head, relation and topk_score_info. Lists of another system come as JSON lines or as a TREC run."
        ) from None
    if relation.startswith(_INVERSE):
        return ("head", head, relation.removeprefix(_INVERSE)), scores
    return ("tail", head, relation), scores
