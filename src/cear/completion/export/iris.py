"""Ids as IRIs, and back. An id that is an absolute IRI is its own; any other is named under `urn:cear:`.

A blank node such as `_:b0` is named, too, `urn:cear:entity:_%3Ab0`: its label means nothing outside the file that it
came from, and written as a blank node it would be another node wherever our file is read.
"""

from __future__ import annotations

from functools import lru_cache
from urllib.parse import quote, unquote

from pyoxigraph import NamedNode

OURS = "urn:cear:"


@lru_cache(maxsize=65_536)
def iri_of(id_: str, kind: str) -> NamedNode:
    """The IRI of an entity, a relation or a run.

    >>> iri_of("http://example.org/Q90", "entity").value, iri_of("New York", "entity").value
    ('http://example.org/Q90', 'urn:cear:entity:New%20York')
    """
    if not id_.startswith(OURS):  # one of ours is named again, or it could be that of another id
        try:
            return NamedNode(id_)
        except ValueError:  # not an absolute IRI
            pass
    return minted(id_, kind)


def minted(text: str, kind: str) -> NamedNode:
    """The IRI that we make of a text: percent-encoded, the slash too, so that nobody reads a path with dots in it."""
    return NamedNode(f"{OURS}{kind}:{quote(text, safe='')}")


def id_of(iri: str) -> str:
    """The id that has this IRI.

    >>> id_of("http://example.org/Q90"), id_of("urn:cear:entity:New%20York")
    ('http://example.org/Q90', 'New York')
    """
    return unquote(iri.removeprefix(OURS).partition(":")[2]) if iri.startswith(OURS) else iri
