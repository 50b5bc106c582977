"""RDF 1.2 lets a statement speak of a statement, `<<( s p o )>>`, and so on; the parser dies of very many of them.

It is a crash of the process that no Python code can catch, so that such files are told before they get there. Nested
blank nodes and collections do not hurt it.
"""

from __future__ import annotations

import re
from pathlib import Path

from cear.data.packed import unpacked

DEEPEST = 100  # statements within statements; the parser dies of some ten thousand, in a thread of fewer
_OPEN, _CLOSE = b"<<(", b")>>"
_CHUNK = 1 << 20
# What may hide brackets: escapes, strings, IRIs and comments. Possessive, so that the time grows with the text.
_TOKEN = re.compile(
    rb"<<\(|\)>>"
    rb'|\\.|"""(?:[^"\\]++|\\.|"(?!""))*+"""|"(?:[^"\\\n\r]++|\\.)*+"'
    rb"|'''(?:[^'\\]++|\\.|'(?!''))*+'''|'(?:[^'\\\n\r]++|\\.)*+'"
    rb"|<[^<>\s]*+>|#[^\n\r]*+",
    re.DOTALL,
)


def too_deep(text: bytes) -> int | None:
    """The number of the line, from 1, on which statements nest too deep, or None if they never do."""
    if text.count(_OPEN) <= DEEPEST:
        return None
    depth = 0
    for token in _TOKEN.finditer(text):
        depth += (token[0] == _OPEN) - (token[0] == _CLOSE)
        if depth > DEEPEST:
            return 1 + text.count(b"\n", 0, token.start())
    return None


def first_too_deep(path: Path) -> int | None:
    """The number of the first line of a file on which statements nest too deep, or None if they never do."""
    if _count(path) <= DEEPEST:  # nearly always, and then the file is never in memory at once
        return None
    with unpacked(path) as file:
        return too_deep(file.read())


def _count(path: Path) -> int:
    """How many statements within statements a file may have."""
    count, last = 0, b""
    with unpacked(path) as file:
        while chunk := file.read(_CHUNK):
            chunk = last + chunk
            count += chunk.count(_OPEN)
            last = chunk[1 - len(_OPEN) :]
    return count
