"""N-Triples and Turtle: links between IRIs are facts, labels names, comments descriptions; `rdf:type` says types."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType
from urllib.parse import unquote

import polars as pl

from cear.core.errors import DataError
from cear.data.draft import FACT, TEXT, Draft, ReadOptions
from cear.data.splitting import split_facts
from cear.data.type_facts import RDF_TYPE

SUFFIXES = (".nt", ".ttl")


def recognises(path: Path) -> bool:
    """Whether this is an N-Triples or Turtle file."""
    return path.is_file() and path.suffix.lower() in SUFFIXES


def read(path: Path, options: ReadOptions) -> Draft:
    """The links between IRIs as facts, split by the seed, with the labels and comments of their parts."""
    found = _statements().gather(path, skip_bad_lines=options.skip_bad_lines)
    if not found.facts:
        raise DataError(f"{path} holds no facts: no statement links an IRI to an IRI.")
    facts = pl.DataFrame(found.facts, schema=dict.fromkeys(FACT, pl.String), orient="row")
    splits = split_facts(facts, options)
    texts = (found.names, found.descriptions)
    return Draft(
        splits,
        entity_texts=_texts(pl.concat([facts["subject"], facts["object"]]), *texts, camel_case=False),
        relation_texts=_texts(facts["relation"], *texts, camel_case=True),
        typed_by=RDF_TYPE,
        skipped=tuple(found.bad),
        duplicate_facts=facts.height - sum(split.height for split in splits.values()),
        left_out={
            "literals that are neither names nor descriptions": found.other_literals,
            "statements with blank nodes": found.blank_nodes,
        },
    )


def readable(iri: str, *, camel_case: bool = False) -> str:
    """The last part of an IRI as words.

    >>> readable("http://dbpedia.org/resource/New_York_City")
    'New York City'
    >>> readable("http://dbpedia.org/ontology/birthPlace", camel_case=True)
    'birth place'
    """
    last = re.split(r"[/#:]", iri.rstrip("/#"))[-1]
    words = unquote(last).replace("_", " ").strip()
    if camel_case:
        words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", words).lower()
    return words or iri


def _texts(iris: pl.Series, names: dict[str, str], descriptions: dict[str, str], *, camel_case: bool) -> pl.DataFrame:
    rows = [
        (iri, names.get(iri) or readable(iri, camel_case=camel_case), descriptions.get(iri))
        for iri in iris.unique(maintain_order=True)
    ]
    return pl.DataFrame(rows, schema=dict.fromkeys(TEXT, pl.String), orient="row")


def _statements() -> ModuleType:
    try:
        from cear.data.readers import rdf_statements
    except ModuleNotFoundError as error:
        if error.name != "pyoxigraph":
            raise
        message = 'Reading RDF needs pyoxigraph, which is not installed: pip install "cear[rdf]".'
        raise DataError(message) from error
    return rdf_statements
