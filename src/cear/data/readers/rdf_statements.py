"""What the statements of an RDF file say, gathered in one pass. The only module that needs pyoxigraph."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pyoxigraph import BlankNode, Literal, NamedNode, Quad, RdfFormat, Triple, parse

from cear.data.lines import BadLine
from cear.data.tables import refuse

# Earlier ones win.
NAMES = ("http://www.w3.org/2000/01/rdf-schema#label", "http://www.w3.org/2004/02/skos/core#prefLabel")
DESCRIPTIONS = (
    "http://www.w3.org/2000/01/rdf-schema#comment",
    "http://schema.org/description",
    "https://schema.org/description",
)


@dataclass(slots=True)
class Gathered:
    """What a pass over the statements has found so far."""

    facts: list[tuple[str, str, str]] = field(default_factory=list)
    best_names: dict[str, RatedText] = field(default_factory=dict)
    best_descriptions: dict[str, RatedText] = field(default_factory=dict)
    other_literals: int = 0
    blank_nodes: int = 0
    bad: list[BadLine] = field(default_factory=list)

    @property
    def names(self) -> dict[str, str]:
        """The best name of each IRI that has one."""
        return {iri: text.text for iri, text in self.best_names.items()}

    @property
    def descriptions(self) -> dict[str, str]:
        """The best description of each IRI that has one."""
        return {iri: text.text for iri, text in self.best_descriptions.items()}

    def add(self, statement: Triple | Quad) -> None:
        """Take in one statement."""
        subject, predicate, value = statement.subject, statement.predicate.value, statement.object
        if not isinstance(subject, NamedNode) or isinstance(value, BlankNode):
            self.blank_nodes += 1  # such labels mean nothing outside the file and change from reading to reading
        elif isinstance(value, NamedNode):
            self.facts.append((subject.value, predicate, value.value))
        elif isinstance(value, Literal) and predicate in NAMES:
            _keep_best(self.best_names, subject.value, rated(value, NAMES.index(predicate)))
        elif isinstance(value, Literal) and predicate in DESCRIPTIONS:
            _keep_best(self.best_descriptions, subject.value, rated(value, DESCRIPTIONS.index(predicate)))
        else:
            self.other_literals += 1


@dataclass(frozen=True, slots=True, order=True)
class RatedText:
    """A text that sorts before the worse ones: by language, by property, by itself, never by line order."""

    language_rank: int
    language: str
    property_rank: int
    text: str


def gather(path: Path, *, skip_bad_lines: bool) -> Gathered:
    """The facts, names and descriptions of an N-Triples or Turtle file."""
    gathered = Gathered()
    by_line = path.suffix.lower() == ".nt" and skip_bad_lines  # a broken Turtle statement has no certain end
    for statement in _line_by_line(path) if by_line else _statements(path):
        if isinstance(statement, BadLine):
            gathered.bad.append(statement)
        else:
            gathered.add(statement)
    return gathered


def rated(value: Literal, property_rank: int) -> RatedText:
    """English first, then no language, then the others in alphabetical order."""
    language = (value.language or "").lower()
    rank = 0 if language.split("-")[0] == "en" else 1 if not language else 2
    return RatedText(rank, language, property_rank, " ".join(value.value.split()))


def _keep_best(texts: dict[str, RatedText], iri: str, text: RatedText) -> None:
    if text.text:
        texts[iri] = min(texts.get(iri, text), text)


def _statements(path: Path) -> Iterator[Triple | Quad]:
    kind = RdfFormat.N_TRIPLES if path.suffix.lower() == ".nt" else RdfFormat.TURTLE
    try:
        yield from parse(path=path, format=kind)
    except SyntaxError as error:
        # A line of N-Triples stands alone, so the bad ones are certain; in Turtle the parser's guess has to do.
        by_line = kind == RdfFormat.N_TRIPLES
        bad = [problem for problem in _line_by_line(path) if isinstance(problem, BadLine)] if by_line else []
        refuse(bad or [_bad(path, error.lineno, error)], skip_bad_lines=False, skippable=by_line)


def _line_by_line(path: Path) -> Iterator[Triple | Quad | BadLine]:
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                yield from parse(io.BytesIO(line), format=RdfFormat.N_TRIPLES)
            except SyntaxError as error:
                yield _bad(path, number, error)


def _bad(path: Path, line: int | None, error: SyntaxError) -> BadLine:
    return BadLine(str(path), line or 1, re.sub(r"^Parser error .*?: ", "", error.msg) + ".")
