"""Accepted facts to take home: as a table, as triples, as RDF that says who accepted them and when."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import polars as pl

from cear import __version__
from cear.completion import About, write_accepted
from cear.data import KnowledgeBase
from cear.pipeline import Run
from cear.serving.decisions import Decision, Decisions

Format = Literal["tsv", "nt", "rdf12", "jsonl"]
ENDINGS: dict[Format, str] = {"tsv": ".tsv", "nt": ".nt", "rdf12": ".ttl", "jsonl": ".jsonl"}
TYPES: dict[Format, str] = {
    "tsv": "text/tab-separated-values",
    "nt": "application/n-triples",
    "rdf12": "text/turtle; version=1.2",
    "jsonl": "application/x-ndjson",
}
_TEXTS = ("subject", "relation", "object", "subject_name", "relation_name", "object_name")
SCHEMA = {name: pl.String() for name in _TEXTS} | {"probability": pl.Float64()}
SCHEMA |= {name: pl.String() for name in ("who", "at", "note", "run", "id")}


def accepted_table(kb: KnowledgeBase, decisions: Decisions) -> pl.DataFrame:
    """The facts whose last decision accepts them, in the order of these decisions, with who, when, and the promise."""
    last = sorted(decisions.last().values(), key=lambda each: each.number)
    rows = [_row(kb, each) for each in last if each.verdict == "accepted"]
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def write_accepted_facts(path: Path, run: Run, decisions: Decisions) -> int:
    """Write the accepted facts to a file, `.tsv`, `.nt`, `.ttl` (RDF 1.2) or `.jsonl`; gives back how many."""
    table = accepted_table(run.kb, decisions)
    write_accepted(path, table, About(run.folder.name, run.kb.digest, __version__, datetime.now(UTC)))
    return len(table)


def accepted_bytes(run: Run, decisions: Decisions, format: Format) -> bytes:
    """The same as the bytes of a file."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"accepted{ENDINGS[format]}"
        write_accepted_facts(path, run, decisions)
        return path.read_bytes()


def _row(kb: KnowledgeBase, decision: Decision) -> dict[str, Any]:
    """A decision with the names of its fact; what another run decided about may be unknown here, and has none."""
    ends = {"subject": kb.entities, "relation": kb.relations, "object": kb.entities}
    numbers = {end: each.by_id.get(getattr(decision, end)) for end, each in ends.items()}
    names = {f"{end}_name": None if n is None else ends[end].name(n) for end, n in numbers.items()}
    return names | {name: getattr(decision, name) for name in SCHEMA if not name.endswith("_name")}
