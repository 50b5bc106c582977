"""A TREC run file, `qid Q0 docid rank score tag`, and how queries and entities are written in one.

A qid is `tail:SUBJECT:RELATION` or `head:OBJECT:RELATION`, or a name that a file of queries explains. Ids are
percent-encoded, because neither a qid nor a docid may hold a space.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, unquote

import numpy as np

from cear.core.errors import DataError
from cear.core.progress import Bar
from cear.core.types import SIDES, Floats, Ints, Side
from cear.retrieval.listed.entries import Entry, text_lines, watched_lines
from cear.retrieval.listed.names import Names

COLUMNS = ("qid", "Q0", "docid", "rank", "score", "tag")
Asked = tuple[Side, str, str]  # the side, the entity, the relation of a query


class Row(NamedTuple):
    """A line of a run."""

    line: int
    qid: str
    docid: str
    rank: float
    score: float


def encoded_id(id_: str) -> str:
    """An id as it stands in a run.

    >>> encoded_id("New York: the city"), encoded_id("/m/02_286")
    ('New%20York%3A%20the%20city', '/m/02_286')
    """
    return quote(id_)


def read_trec(path: Path, names: Names, bar: Bar, queries: Path | None = None) -> Iterator[Entry]:
    """The lists of a run; the lines of a qid stand together."""
    explained = None if queries is None else read_queries(queries)
    for qid, group in groupby(_rows(path, bar), key=lambda row: row.qid):
        rows = [*group]
        where = f"{path}:{rows[0].line}"
        ranks, scores = np.array([row.rank for row in rows]), np.array([row.score for row in rows])
        _refuse_ranks(ranks, scores, where, qid)
        entities = names.entities((unquote(row.docid) for row in rows), where)
        yield Entry(where, *names.query(*_asked(qid, explained, where), where), entities, scores)


def read_queries(path: Path) -> dict[str, Asked]:
    """What the qids of a run mean: a text file with the columns qid, side, entity, relation, parted by tabs."""
    found: dict[str, Asked] = {}
    for number, text in text_lines(path):
        fields = text.split("\t")
        if len(fields) != 4 or fields[1] not in SIDES:
            raise DataError(
                f"{path}:{number}: found {fields}, expected the columns qid, side (head or tail: what is asked "
                "for), entity, relation, parted by tabs."
            )
        qid, side, entity, relation = fields
        if qid in found:
            raise DataError(f"{path}:{number}: the qid {qid!r} stands twice. A qid means one query.")
        found[qid] = ("head" if side == "head" else "tail", entity, relation)
    return found


def _rows(path: Path, bar: Bar) -> Iterator[Row]:
    for number, text in watched_lines(path, bar):
        fields = text.split()
        if len(fields) != len(COLUMNS):
            raise DataError(
                f"{path}:{number}: found {len(fields)} columns {fields}, expected {len(COLUMNS)} parted by spaces: "
                f"{' '.join(COLUMNS)}. Ids with spaces are percent-encoded: `New%20York`."
            )
        qid, _, docid, rank, score, _ = fields
        try:
            yield Row(number, qid, docid, float(rank), float(score))
        except ValueError:
            raise DataError(
                f"{path}:{number}: rank {rank!r} and score {score!r} are not two numbers. The columns are "
                f"{' '.join(COLUMNS)}."
            ) from None


def _asked(qid: str, explained: Mapping[str, Asked] | None, where: str) -> Asked:
    """The query that a qid means."""
    if explained is not None:
        if qid not in explained:
            raise DataError(f"{where}: the file of queries does not explain the qid {qid!r}. Add a line for it.")
        return explained[qid]
    side, *ends = qid.split(":")
    if side not in SIDES or len(ends) != 2:
        raise DataError(
            f"{where}: the qid {qid!r} is not `tail:SUBJECT:RELATION` or `head:OBJECT:RELATION` with percent-encoded "
            "ids. Write such, or explain your qids in a file of queries (`queries:`). A run that is filtered for each "
            "gold, as `cear export` writes it to be judged, is no list of candidates."
        )
    return "head" if side == "head" else "tail", unquote(ends[0]), unquote(ends[1])


def _refuse_ranks(ranks: Floats, scores: Floats, where: str, qid: str) -> None:
    """Raise `DataError` where a rank stands twice, or where a later rank has a higher score."""
    order: Ints = np.argsort(ranks, kind="stable")
    ranks, scores = ranks[order], scores[order]
    twice = np.flatnonzero(ranks[1:] == ranks[:-1])
    if len(twice):
        raise DataError(f"{where}: rank {ranks[twice[0]]:g} of the qid {qid!r} stands twice. Number the lines anew.")
    wrong = np.flatnonzero(scores[1:] > scores[:-1])
    if len(wrong):
        at = wrong[0]
        raise DataError(
            f"{where}: rank {ranks[at + 1]:g} of the qid {qid!r} has the score {scores[at + 1]:g}, above the "
            f"{scores[at]:g} of rank {ranks[at]:g}. Ranks and scores must agree: a higher score is better."
        )
