"""From files of lists to rankings: each format is told by how a file begins, and has a reader of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from cear.core.errors import DataError
from cear.core.progress import Bar, Progress, silent
from cear.data import KnowledgeBase
from cear.retrieval.listed.entries import Entry
from cear.retrieval.listed.json_lines import read_json_lines
from cear.retrieval.listed.names import Names
from cear.retrieval.listed.parquet import read_parquet
from cear.retrieval.listed.rankings import Gathering, Rankings
from cear.retrieval.listed.simkgc import read_simkgc
from cear.retrieval.listed.trec import read_trec

_PARQUET = b"PAR1"


def read_rankings(
    paths: Sequence[Path], kb: KnowledgeBase, *, queries: Path | None = None, progress: Progress = silent
) -> Rankings:
    """The lists of all these files, put together; `queries` explains the qids of a TREC run."""
    gathered = Gathering(kb)
    starts = [_start(path) for path in paths]  # whatever is missing is told before anything is read
    with progress("Reading lists", sum(path.stat().st_size for path in paths)) as bar:
        for path, start in zip(paths, starts, strict=True):
            here = Gathering(kb)
            for entry in _entries(path, start, kb, queries, bar):
                here.add(entry)
            if not len(here):
                raise DataError(f"{path} holds no list. Give a file with at least one query and its candidates.")
            gathered.join(here)
    return gathered.rankings()


def is_parquet(path: Path) -> bool:
    """Whether a file is Parquet, as `cear.candidates.write_lists` writes lists."""
    return _start(path).startswith(_PARQUET)


def _entries(path: Path, start: bytes, kb: KnowledgeBase, queries: Path | None, bar: Bar) -> Iterator[Entry]:
    """The lists of a file; what it calls by names or ids that nothing has is refused at its end, all at once."""
    if start.startswith(_PARQUET):
        yield from read_parquet(path, kb, bar)
        return
    names = Names(kb, by_name=start.startswith(b"["))
    if start.startswith(b"["):
        yield from read_simkgc(path, names, bar)
    elif start.startswith(b"{"):
        yield from read_json_lines(path, names, bar)
    else:
        yield from read_trec(path, names, bar, queries)
    names.refuse_unknown()


def _start(path: Path) -> bytes:
    """The first bytes of a file that say something."""
    try:
        with path.open("rb") as file:
            return file.read(1024).removeprefix(b"\xef\xbb\xbf").lstrip()
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}. Give a file of lists that is there.") from None
