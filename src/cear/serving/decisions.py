"""What people decided about proposed facts: an append-only log in SQLite, on disk before anybody is told so."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import Literal, get_args
from uuid import uuid4

from cear.core.errors import CearError, DataError
from cear.core.files import parse_json, replacing
from cear.core.reading import reading

DECISIONS = "decisions.sqlite"
"""The name of the log, beside the run."""

Verdict = Literal["accepted", "rejected", "skipped", "undone"]
Fact = tuple[str, str, str]
"""The ids of subject, relation and object."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS decisions (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    subject TEXT NOT NULL, relation TEXT NOT NULL, object TEXT NOT NULL,
    verdict TEXT NOT NULL, who TEXT NOT NULL, at TEXT NOT NULL, note TEXT NOT NULL,
    probability REAL, run TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS by_fact ON decisions (subject, relation, object, number);
CREATE TRIGGER IF NOT EXISTS never_changed BEFORE UPDATE ON decisions
    BEGIN SELECT RAISE(ABORT, 'a decision is never changed: add another'); END;
CREATE TRIGGER IF NOT EXISTS never_removed BEFORE DELETE ON decisions
    BEGIN SELECT RAISE(ABORT, 'a decision is never removed: add another'); END;
"""
_COLUMNS = "id, subject, relation, object, verdict, who, at, note, probability, run"
_KINDS: Mapping[str, tuple[type, ...]] = {"probability": (float, int, type(None)), "number": (int,)}
_LAST = "SELECT MAX(number) FROM decisions GROUP BY subject, relation, object"


class AlreadyDecided(CearError):
    """Somebody else has decided about this fact since it was shown; `decision` is what they decided."""

    def __init__(self, decision: Decision) -> None:
        super().__init__(f"{decision.who or 'Somebody'} has {decision.verdict} this fact already. Look at it again.")
        self.decision = decision


@dataclass(frozen=True)
class Decision:
    """What somebody decided about a fact; the last decision about it counts."""

    subject: str
    relation: str
    object: str
    verdict: Verdict
    """undone takes the one before back: the fact is open again."""
    who: str = ""
    note: str = ""
    probability: float | None = None
    """What the run had promised when it was decided."""
    run: str = ""
    """The run that proposed it."""
    at: str = ""
    """When, as ISO 8601 in UTC; empty until it is kept."""
    id: str = ""
    """Given by whoever decides, so that sending it twice keeps it once; empty for a fresh one."""
    number: int = 0
    """Its place in the log, from 1; 0 until it is kept."""

    @property
    def fact(self) -> Fact:
        """The fact by its ids."""
        return self.subject, self.relation, self.object


class Decisions:
    """The log of one run. Threads and processes may share the file; each takes its turn."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._turn = Lock()
        try:
            self._connection = sqlite3.connect(path, timeout=30, check_same_thread=False, isolation_level=None)
            self._connection.execute("PRAGMA journal_mode=WAL")
            self._connection.execute("PRAGMA synchronous=FULL")  # on disk before it is acknowledged
            self._connection.executescript(_SCHEMA)
        except sqlite3.Error as error:
            raise DataError(f"{path} cannot be opened as a log of decisions: {error}. Move it away.") from None

    def close(self) -> None:
        """Leave the file; what is acknowledged is on disk already."""
        self._connection.close()

    def add(self, decision: Decision, *, seen: int = 0) -> Decision:
        """Keep a decision, and give it back with its number.

        `seen` is the number of the last decision about the fact that its maker knew of, 0 for none. If there is a
        later one, nothing is kept. A decision that is sent again, by its id, is kept once.
        """
        _refuse_verdict(decision.verdict)
        ready = replace(decision, id=decision.id or uuid4().hex, at=decision.at or _now())
        with self._writing() as connection:
            kept = _by_id(connection, ready.id)
            if kept is not None:
                return kept
            last = _last_about(connection, ready.fact)
            if last is not None and last.number != seen:
                raise AlreadyDecided(last)
            return replace(ready, number=_insert(connection, ready))

    def last(self) -> dict[Fact, Decision]:
        """The decision that counts for every fact that was ever decided, also where it was undone."""
        with self._turn:
            rows = self._connection.execute(f"SELECT {_COLUMNS}, number FROM decisions WHERE number IN ({_LAST})")
            return {each.fact: each for each in map(_decision, rows)}

    def about(self, fact: Fact) -> Decision | None:
        """The decision that counts for a fact."""
        with self._turn:
            return _last_about(self._connection, fact)

    def log(self, *, after: int = 0) -> list[Decision]:
        """Every decision in the order they were made, from behind this number on."""
        with self._turn:
            rows = self._connection.execute(
                f"SELECT {_COLUMNS}, number FROM decisions WHERE number > ? ORDER BY number", (after,)
            )
            return [*map(_decision, rows)]

    def merge(self, decisions: Iterable[Decision]) -> int:
        """Add the decisions of another log in their order, each once; gives back how many were new."""
        with self._writing() as connection:
            return sum(_insert_once(connection, each) for each in decisions)

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """A turn to write: what happens inside is kept whole, or not at all."""
        with self._turn:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")


def write_log(path: Path, decisions: Iterable[Decision]) -> None:
    """Decisions as JSON lines, whole or not at all."""
    with replacing(path) as part:
        part.write_text("".join(f"{as_line(each)}\n" for each in decisions), encoding="utf-8")


def as_line(decision: Decision) -> str:
    """A decision as a line of JSON."""
    return json.dumps(asdict(decision), ensure_ascii=False)


def read_log(path: Path) -> list[Decision]:
    """The decisions of a file of JSON lines, as `write_log` writes them."""
    with reading(path), path.open("rb") as lines:
        return parse_log(lines, str(path))


def parse_log(lines: Iterable[bytes], source: str) -> list[Decision]:
    """The decisions of JSON lines; empty lines say nothing, and `source` is named where a line is no decision."""
    numbered = ((number, line) for number, line in enumerate(lines, start=1) if line.strip())
    return [_parse_line(line, f"{source}, line {number}") for number, line in numbered]


def _parse_line(line: bytes, where: str) -> Decision:
    kinds = {each.name: _KINDS.get(each.name, (str,)) for each in fields(Decision)}
    try:
        values = parse_json(line.decode())
        wrong = [name for name, value in values.items() if name not in kinds or not isinstance(value, kinds[name])]
        decision = Decision(**values)
    except (ValueError, TypeError, AttributeError) as error:
        raise DataError(f"{where} is no decision: {error}. Each line is one that `cear` has written.") from None
    if decision.probability is not None and "probability" not in wrong and not 0 <= decision.probability <= 1:
        wrong.append("probability, which is none")
    if wrong or not decision.id or not decision.at:
        raise DataError(f"{where} is no decision: look at {', '.join(wrong) or 'its id and time, which are empty'}.")
    _refuse_verdict(decision.verdict, where)
    return decision


def _refuse_verdict(verdict: str, where: str = "") -> None:
    if verdict not in get_args(Verdict):
        raise DataError(f"{where or 'A decision'}: {verdict!r} is no verdict. Take {', '.join(get_args(Verdict))}.")


def _insert(connection: sqlite3.Connection, decision: Decision) -> int:
    values = asdict(decision)
    row = [values[name] for name in _COLUMNS.split(", ")]
    found = connection.execute(f"INSERT INTO decisions ({_COLUMNS}) VALUES ({', '.join('?' * len(row))})", row)
    assert found.lastrowid is not None
    return found.lastrowid


def _insert_once(connection: sqlite3.Connection, decision: Decision) -> bool:
    """Keep a decision unless it is there already; gives back whether it was new."""
    if _by_id(connection, decision.id) is not None:
        return False
    _insert(connection, decision)
    return True


def _by_id(connection: sqlite3.Connection, id: str) -> Decision | None:
    row = connection.execute(f"SELECT {_COLUMNS}, number FROM decisions WHERE id = ?", (id,)).fetchone()
    return row and _decision(row)


def _last_about(connection: sqlite3.Connection, fact: Fact) -> Decision | None:
    chosen = "subject = ? AND relation = ? AND object = ? ORDER BY number DESC LIMIT 1"
    row = connection.execute(f"SELECT {_COLUMNS}, number FROM decisions WHERE {chosen}", fact).fetchone()
    return row and _decision(row)


def _decision(row: tuple[object, ...]) -> Decision:
    return Decision(**dict(zip([*_COLUMNS.split(", "), "number"], row, strict=True)))  # type: ignore[arg-type]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
