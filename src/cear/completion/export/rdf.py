"""Proposals as RDF 1.2: each is a node that `rdf:reifies` its triple, with PROV-O for where it comes from.

The triple itself is not asserted: a proposal is not a fact yet. Only `rdf`, `accepted` and `iris` need pyoxigraph.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl
from pyoxigraph import Literal, NamedNode, RdfFormat, Triple, serialize

from cear.completion.export.about import About
from cear.completion.export.iris import iri_of, minted
from cear.completion.export.tabular import chunks, flat
from cear.core.keys import content_key

CEAR = "https://w3id.org/cear#"
PROV = "http://www.w3.org/ns/prov#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
XSD = "http://www.w3.org/2001/XMLSchema#"
PREFIXES = {"cear": CEAR, "prov": PROV, "rdf": RDF, "rdfs": RDFS, "xsd": XSD}

TYPE, REIFIES = NamedNode(RDF + "type"), NamedNode(RDF + "reifies")
LABEL, COMMENT = NamedNode(RDFS + "label"), NamedNode(RDFS + "comment")
GENERATED_BY = NamedNode(PROV + "wasGeneratedBy")
PROPOSAL = NamedNode(CEAR + "Proposal")

# What a proposal says of itself: the column, its type, the property.
PROPERTIES: dict[str, tuple[type[pl.DataType], NamedNode]] = {
    "probability": (pl.Float64, NamedNode(CEAR + "probability")),
    "rank": (pl.Int64, NamedNode(CEAR + "rank")),
    "score": (pl.Float64, NamedNode(CEAR + "score")),
    "stage1_rank": (pl.Int64, NamedNode(CEAR + "stage1Rank")),
    "stage1_score": (pl.Float64, NamedNode(CEAR + "stage1Score")),
    "known": (pl.String, NamedNode(CEAR + "known")),
    "reasons": (pl.String, COMMENT),
}


def write_n_triples(path: Path, table: pl.DataFrame, about: About) -> None:
    """Write proposals as N-Triples."""
    serialize(_statements(table, about), path, RdfFormat.N_TRIPLES)


def write_turtle(path: Path, table: pl.DataFrame, about: About) -> None:
    """Write proposals as Turtle."""
    serialize(_statements(table, about), path, RdfFormat.TURTLE, prefixes=PREFIXES)


def _statements(table: pl.DataFrame, about: About) -> Iterator[Triple]:
    """The completion, then the names, then the proposals in the order of the table."""
    completion = minted(about.key, "completion")
    yield from _completion(completion, about)
    yield from labels(table)
    for rows in chunks(table):
        for row in _typed(rows).iter_rows(named=True):
            yield from _proposal(row, completion)


def _completion(node: NamedNode, about: About) -> Iterator[Triple]:
    run, data = iri_of(about.run, "run"), minted(about.digest, "data")
    software = minted(about.version, "software")
    yield Triple(node, TYPE, prov("Activity"))
    if about.started:
        yield Triple(node, prov("startedAtTime"), time(about.started))
    yield Triple(node, prov("endedAtTime"), time(about.made))
    yield Triple(node, prov("used"), run)
    yield Triple(node, prov("used"), data)
    yield Triple(node, prov("wasAssociatedWith"), software)
    if about.note:
        yield Triple(node, COMMENT, Literal(about.note))
    yield Triple(run, TYPE, prov("Entity"))
    yield Triple(run, LABEL, Literal(about.run))
    yield Triple(data, TYPE, prov("Entity"))
    yield Triple(data, NamedNode(CEAR + "digest"), Literal(about.digest))
    yield Triple(software, TYPE, prov("SoftwareAgent"))
    yield Triple(software, LABEL, Literal("cear"))
    yield Triple(software, NamedNode(CEAR + "version"), Literal(about.version))


def labels(table: pl.DataFrame) -> Iterator[Triple]:
    """The labels of all entities, then of all relations, each once."""
    for kind, columns in (("entity", ("subject", "object")), ("relation", ("relation",))):
        pairs = [table.select(id=_text(column), name=_text(f"{column}_name")) for column in columns]
        once = pl.concat(pairs).drop_nulls().unique(maintain_order=True)
        yield from (Triple(iri_of(id_, kind), LABEL, Literal(name)) for id_, name in once.iter_rows())


def _typed(rows: pl.DataFrame) -> pl.DataFrame:
    """The columns that RDF has a place for, each of its type; a score that is NaN is none."""
    said = [pl.col(name).cast(dtype) for name, (dtype, _) in PROPERTIES.items()]
    return flat(rows).select(_text("subject"), _text("relation"), _text("object"), *said).fill_nan(None)


def _proposal(row: dict[str, Any], completion: NamedNode) -> Iterator[Triple]:
    s, r, o = row["subject"], row["relation"], row["object"]
    node = minted(content_key(completion.value, s, r, o)[:32], "proposal")
    yield Triple(node, TYPE, PROPOSAL)
    yield Triple(node, REIFIES, Triple(iri_of(s, "entity"), iri_of(r, "relation"), iri_of(o, "entity")))
    for column, (_, says) in PROPERTIES.items():
        if row[column] is not None:
            yield Triple(node, says, Literal(row[column]))
    yield Triple(node, GENERATED_BY, completion)


def _text(column: str) -> pl.Expr:
    return pl.col(column).cast(pl.String)


def prov(name: str) -> NamedNode:
    """A name of PROV-O."""
    return NamedNode(PROV + name)


def time(moment: datetime) -> Literal:
    """A moment as XML Schema writes it."""
    return Literal(moment.isoformat(), datatype=NamedNode(XSD + "dateTime"))
