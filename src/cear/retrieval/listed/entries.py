"""Lists as a file has them, one at a time, and the lines of text that they stand in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from cear.core.errors import DataError
from cear.core.progress import Bar
from cear.core.types import Floats, Ints
from cear.data import not_utf8, numbered_lines

_LINES = 10_000  # between two words of progress: a bar that is told of every line takes longer than the line


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """A query with its entities and their scores, in any order."""

    where: str
    """The file and the line, for errors."""
    entity: int
    relation: int
    """r + R asks for the head."""
    entities: Ints
    scores: Floats

    def with_more(self, other: Entry) -> Entry:
        """The same list and whoever only another one of its query has."""
        more = ~np.isin(other.entities, self.entities)
        entities = np.concatenate([self.entities, other.entities[more]])
        return replace(self, entities=entities, scores=np.concatenate([self.scores, other.scores[more]]))


def text_lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a file that are not blank, with their numbers; bytes that are not UTF-8 are refused."""
    for number, text in numbered_lines(path):
        if isinstance(text, UnicodeDecodeError):
            raise DataError(f"{path}:{number}: {not_utf8(text)} Save the file as UTF-8.")
        if text.strip():
            yield number, text


def watched_lines(path: Path, bar: Bar) -> Iterator[tuple[int, str]]:
    """The same lines; the bar is told how much is read."""
    read = 0
    for number, text in text_lines(path):
        read += 1 + len(text)
        if number % _LINES == 0:
            bar.advance(read)
            read = 0
        yield number, text
    bar.advance(read)
