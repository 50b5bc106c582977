"""CSV: fields in quotes may hold separators and line ends, and a stray quote costs one line, not the file.

A field that begins with a quote ends with one, before a separator or the end of the record; quotes inside it are
doubled. Quotes elsewhere are ordinary letters. A record goes on over several lines while a field in quotes is open.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator
from functools import cache

Text = str | UnicodeDecodeError
Line = tuple[int, Text]
Fields = list[str]

LONGEST = 1_000_000  # characters that a record of several lines may have; so much is kept until a quote is closed


@cache
def _field(separator: str) -> re.Pattern[str]:
    part = re.escape(separator)
    return re.compile(rf'(?:"([^"]*+(?:""[^"]*+)*+)"|((?!")[^{part}]*+))({part}|\Z)')


def strict_line(separator: str) -> str:
    """A regular expression of the lines that every reader of CSV understands alike, each whole by itself."""
    part = re.escape(separator)
    field = rf'(?:"(?:[^"]|"")*"|[^"{part}]*)'
    return rf"^{field}(?:{part}{field})*$"


def split_quoted(record: str, separator: str) -> Fields | None:
    """The fields of a record, or None when a quote in it is not closed or not closed where a field ends.

    >>> split_quoted('"Washington, D.C.",in,"the ""big"" US"', ",")
    ['Washington, D.C.', 'in', 'the "big" US']
    """
    if '"' not in record:
        return record.split(separator)
    fields, start, field = [], 0, _field(separator)
    while found := field.match(record, start):
        quoted, plain, end = found.groups()
        fields.append(plain if quoted is None else quoted.replace('""', '"'))
        if not end:
            return fields
        start = found.end()
    return None


def quoted_records(
    lines: Iterator[Line], separator: str, fits: Callable[[Fields], bool]
) -> Iterator[tuple[int, Fields | UnicodeDecodeError | None]]:
    """The fields of each record with the number of its first line; None where a quote is not closed as it should be.

    A quote is closed by the next line with an odd number of quotes, or by none. If no record that fits comes of it, the
    line with the quote is bad, and those behind it are read again. They have no such quote, but for the last: a line
    is read twice at most, and the time grows with the file and no faster.
    """
    again: deque[Line] = deque()
    while (line := again.popleft() if again else next(lines, None)) is not None:
        number, text = line
        if isinstance(text, UnicodeDecodeError):
            yield number, text
            continue
        fields = split_quoted(text, separator)
        if fields is None:
            more = _until_closed(text, again, lines)
            fields = _joined(text, more, separator)
            if fields is None or not fits(fields):
                fields = None
                again.extendleft(reversed(more))
        yield number, fields


def _until_closed(text: str, again: deque[Line], lines: Iterator[Line]) -> list[Line]:
    """The lines behind one with an open quote, up to the first that may close it."""
    more: list[Line] = []
    length = len(text) if text.count('"') % 2 else LONGEST  # an even number of quotes leaves none open
    while length < LONGEST and (line := again.popleft() if again else next(lines, None)) is not None:
        more.append(line)
        if isinstance(line[1], UnicodeDecodeError) or line[1].count('"') % 2:
            break
        length += 1 + len(line[1])
    return more


def _joined(text: str, more: list[Line], separator: str) -> Fields | None:
    """The fields of a record of several lines, or None when it is none."""
    texts = [part for _, part in more if isinstance(part, str)]
    whole = more and len(texts) == len(more)
    return split_quoted("\n".join([text, *texts]), separator) if whole else None
