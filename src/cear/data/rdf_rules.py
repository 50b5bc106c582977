"""How RDF is read: in which language things are named, and which statements are no facts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, StringConstraints

from cear.core.settings import Settings

OWL_SAME_AS = "http://www.w3.org/2002/07/owl#sameAs"
PREFIXES = {
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "owl": "http://www.w3.org/2002/07/owl#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "dct": "http://purl.org/dc/terms/",
    "schema": "http://schema.org/",
}


def _whole(predicate: str) -> str:
    """An IRI in full, or the beginning of several, which ends with a star."""
    prefix, colon, rest = predicate.partition(":")
    if not colon:
        raise ValueError("expected an IRI, such as http://xmlns.com/foaf/0.1/depiction or foaf:depiction")
    return PREFIXES[prefix] + rest if prefix in PREFIXES else predicate


Language = Annotated[
    str, StringConstraints(strip_whitespace=True, to_lower=True, pattern=r"^[A-Za-z]{1,8}(-[A-Za-z0-9]{1,8})*$")
]
Predicate = Annotated[str, AfterValidator(_whole)]


class RdfRules(Settings):
    """What an RDF file's statements are taken for."""

    languages: tuple[Language, ...] = ("en",)
    """The languages of names and descriptions, the preferred one first: `de` is also `de-AT`."""
    leave_out: tuple[Predicate, ...] = ()
    """Predicates whose statements are left out and counted; `http://x.org/*` is all that begin so."""
    same_as_facts: bool = False
    """Whether `owl:sameAs` is a relation to learn; if not, its statements are counted and told."""

    def leaves_out(self, predicate: str) -> bool:
        """Whether the statements of a predicate are left out."""
        return any(_matches(predicate, pattern) for pattern in self.leave_out)

    def unmatched(self, predicates: set[str]) -> list[str]:
        """What is to be left out, but is not among the predicates that a file has."""
        return [pattern for pattern in self.leave_out if not any(_matches(each, pattern) for each in predicates)]


def rdf_rules_of(given: RdfRules | Mapping[str, Any] | None) -> RdfRules:
    """The rules that a caller of Python gives; the defaults where there are none."""
    return given if isinstance(given, RdfRules) else RdfRules.parse(dict(given or {}), source="rdf")


def _matches(predicate: str, pattern: str) -> bool:
    return predicate.startswith(pattern[:-1]) if pattern.endswith("*") else predicate == pattern
