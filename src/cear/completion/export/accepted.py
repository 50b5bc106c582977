"""Facts that people accepted, as RDF: asserted, and in RDF 1.2 with who accepted each, when, and what was promised."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl
from pyoxigraph import Literal, NamedNode, RdfFormat, Triple, serialize

from cear.completion.export.about import About
from cear.completion.export.iris import iri_of, minted
from cear.completion.export.rdf import CEAR, COMMENT, LABEL, PREFIXES, REIFIES, TYPE, labels, prov, time

ACCEPTED = NamedNode(CEAR + "AcceptedFact")
PROBABILITY = NamedNode(CEAR + "probability")


def write_facts(path: Path, table: pl.DataFrame) -> None:
    """Write the facts and nothing else, as N-Triples that any store reads."""
    serialize(map(_fact, table.iter_rows(named=True)), path, RdfFormat.N_TRIPLES)


def write_accepted(path: Path, table: pl.DataFrame, about: About) -> None:
    """Write facts and where each comes from, as Turtle 1.2: the columns id, who, at, note, run and probability."""
    serialize(_statements(table, about), path, RdfFormat.TURTLE, prefixes=PREFIXES)


def _statements(table: pl.DataFrame, about: About) -> Iterator[Triple]:
    software = minted(about.version, "software")
    yield Triple(software, TYPE, prov("SoftwareAgent"))
    yield Triple(software, LABEL, Literal("cear"))
    yield Triple(software, NamedNode(CEAR + "version"), Literal(about.version))
    for kind, column, class_ in (("run", "run", "Entity"), ("person", "who", "Person")):
        for name in table[column].unique(maintain_order=True):
            if name:
                yield Triple(_node(name, kind), TYPE, prov(class_))
                yield Triple(_node(name, kind), LABEL, Literal(name))
    yield from labels(table)
    for row in table.iter_rows(named=True):
        yield _fact(row)
        yield from _origin(row)


def _fact(row: dict[str, Any]) -> Triple:
    s, r, o = row["subject"], row["relation"], row["object"]
    return Triple(iri_of(s, "entity"), iri_of(r, "relation"), iri_of(o, "entity"))


def _origin(row: dict[str, Any]) -> Iterator[Triple]:
    """Who accepted a fact, when, by which run it was proposed, and how likely it was called."""
    node = minted(row["id"], "decision")
    yield Triple(node, TYPE, ACCEPTED)
    yield Triple(node, REIFIES, _fact(row))
    if row["probability"] is not None:
        yield Triple(node, PROBABILITY, Literal(row["probability"]))
    if row["who"]:
        yield Triple(node, prov("wasAttributedTo"), _node(row["who"], "person"))
    if row["run"]:
        yield Triple(node, prov("wasDerivedFrom"), _node(row["run"], "run"))
    yield Triple(node, prov("generatedAtTime"), _moment(row["at"]))
    if row["note"]:
        yield Triple(node, COMMENT, Literal(row["note"]))


def _node(name: str, kind: str) -> NamedNode:
    return iri_of(name, kind) if kind == "run" else minted(name, kind)


def _moment(text: str) -> Literal:
    """A time as RDF says it; what is none stays a text."""
    try:
        return time(datetime.fromisoformat(text))
    except ValueError:
        return Literal(text)
