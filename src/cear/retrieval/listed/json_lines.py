"""JSON lines: a query, its candidates and their scores in each line, all in the user's ids.

{"subject": "Q90", "relation": "P17", "candidates": [{"id": "Q142", "score": 3.5}, {"id": "Q183", "score": 1.0}]}
{"relation": "P36", "object": "Q90", "candidates": ["Q142", "Q183"], "scores": [3.5, 1.0]}
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from cear.core.errors import DataError
from cear.core.progress import Bar
from cear.core.types import Floats, Side
from cear.retrieval.listed.entries import Entry, watched_lines
from cear.retrieval.listed.names import Names

_LAYOUT = (
    'Write {"subject": id, "relation": id, "candidates": [{"id": id, "score": number}, …]}, or "object" in place of '
    '"subject" to ask for heads, or "candidates" and "scores" as two arrays.'
)


def read_json_lines(path: Path, names: Names, bar: Bar) -> Iterator[Entry]:
    """The lists of a file, a line each."""
    for number, text in watched_lines(path, bar):
        where = f"{path}:{number}"
        value = _parsed(text, where)
        side, end = _asked(value, where)
        ids, scores = _candidates(value, where)
        query = names.query(side, _text(value[end], where), _text(value["relation"], where), where)
        yield Entry(where, *query, names.entities(ids, where), scores)


def _parsed(text: str, where: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:  # also of 5,000 digits, or of as many brackets
        raise DataError(f"{where}: not JSON ({error}). {_LAYOUT}") from None
    if not isinstance(value, dict):
        raise DataError(f"{where}: found {type(value).__name__}. {_LAYOUT}")
    return value


def _asked(value: dict[str, Any], where: str) -> tuple[Side, str]:
    """The side that is asked for, and the key of the end that is given."""
    if ("subject" in value) == ("object" in value) or "relation" not in value:
        raise DataError(f"{where}: a query has a relation and a subject or an object; found {[*value]}. {_LAYOUT}")
    return ("tail", "subject") if "subject" in value else ("head", "object")


def _candidates(value: dict[str, Any], where: str) -> tuple[list[str], Floats]:
    """The ids and the scores of a list."""
    listed = value.get("candidates")
    try:
        if "scores" in value:
            pairs = [*zip(listed, value["scores"], strict=True)]  # type: ignore[arg-type]
        else:
            pairs = [(each["id"], each["score"]) for each in listed]  # type: ignore[union-attr]
        scores = np.array([score for _, score in pairs], np.float64)
    except (TypeError, ValueError, KeyError) as error:
        raise DataError(
            f"{where}: candidates that cannot be read ({type(error).__name__}: {error}). {_LAYOUT}"
        ) from None
    return [_text(id_, where) for id_, _ in pairs], scores


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise DataError(f"{where}: the id {value!r} is no text. Write ids as the knowledge base has them, in quotes.")
    return value
