"""What the statements of an RDF file say, gathered in one pass. The only module that needs pyoxigraph."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path

from pyoxigraph import BlankNode, Literal, NamedNode, Quad, RdfFormat, Triple, parse

from cear.data.lines import BadLine
from cear.data.packed import kind_of, raw_lines, unpacked
from cear.data.rdf_rules import OWL_SAME_AS, RdfRules
from cear.data.readers.rdf_labels import Label, best_texts, usual_script
from cear.data.readers.rdf_nesting import DEEPEST, first_too_deep, too_deep
from cear.data.tables import refuse
from cear.data.type_facts import RDF_TYPE

# Earlier ones win.
NAMES = ("http://www.w3.org/2000/01/rdf-schema#label", "http://www.w3.org/2004/02/skos/core#prefLabel")
DESCRIPTIONS = (
    "http://www.w3.org/2000/01/rdf-schema#comment",
    "http://schema.org/description",
    "https://schema.org/description",
)
ALIASES = (
    "http://www.w3.org/2004/02/skos/core#altLabel",
    "http://www.w3.org/2004/02/skos/core#hiddenLabel",
    "http://schema.org/alternateName",
    "https://schema.org/alternateName",
)
TEXTS = {predicate: rank for group in (NAMES, DESCRIPTIONS, ALIASES) for rank, predicate in enumerate(group)}

Link = tuple[str, str]


@dataclass
class Gathered:
    """What a pass over the statements has found so far."""

    rules: RdfRules
    facts: list[tuple[str, str, str]] = field(default_factory=list)
    labels: dict[str, list[Label]] = field(default_factory=dict)
    comments: dict[str, list[Label]] = field(default_factory=dict)
    other_names: dict[str, list[Label]] = field(default_factory=dict)
    types: list[Link] = field(default_factory=list)
    """What `rdf:type` says, where it is to be left out of the facts."""
    same_as: list[Link] = field(default_factory=list)
    """What `owl:sameAs` says, where it is no fact."""
    literals: Counter[str] = field(default_factory=Counter)
    """Other literals, by predicate."""
    left_out: Counter[str] = field(default_factory=Counter)
    """Statements that the rules leave out, by predicate."""
    blank_nodes: int = 0
    about_statements: int = 0
    bad: list[BadLine] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._leaves_out = cache(self.rules.leaves_out)
        self._kinds = {NAMES: self.labels, DESCRIPTIONS: self.comments, ALIASES: self.other_names}
        self._texts = {predicate: kept for group, kept in self._kinds.items() for predicate in group}

    @cached_property
    def names(self) -> dict[str, str]:
        """The name of each IRI that has one."""
        return best_texts(self.labels, self.rules.languages, self._script)

    @cached_property
    def descriptions(self) -> dict[str, str]:
        """The description of each IRI that has one."""
        return best_texts(self.comments, self.rules.languages, self._script)

    @cached_property
    def _script(self) -> str | None:
        return usual_script(self.labels)

    def aliases(self, iri: str) -> list[str]:
        """What else an IRI is called: its other names, and labels that are not its name."""
        every = {label.text for kept in (self.labels, self.other_names) for label in kept.get(iri, ())}
        return sorted(every - {self.names.get(iri)})

    def add(self, statement: Triple | Quad) -> None:
        """Take in one statement."""
        subject, predicate, value = statement.subject, statement.predicate.value, statement.object
        if self._leaves_out(predicate):
            self.left_out[predicate] += 1
            if predicate == RDF_TYPE and isinstance(subject, NamedNode) and isinstance(value, NamedNode):
                self.types.append((subject.value, value.value))
        elif isinstance(value, Triple):
            self.about_statements += 1
        elif not isinstance(subject, NamedNode) or isinstance(value, BlankNode):
            self.blank_nodes += 1  # such labels mean nothing outside the file and change from reading to reading
        elif isinstance(value, Literal):
            self._add_text(subject.value, predicate, value)
        elif predicate == OWL_SAME_AS and not self.rules.same_as_facts:
            self.same_as.append((subject.value, value.value))
        else:
            self.facts.append((subject.value, predicate, value.value))

    def _add_text(self, iri: str, predicate: str, value: Literal) -> None:
        kept = self._texts.get(predicate)
        if kept is None:
            self.literals[predicate] += 1
        elif text := " ".join(value.value.split()):
            label = Label((value.language or "").lower(), TEXTS[predicate], text)
            kept.setdefault(iri, []).append(label)


def gather(path: Path, rules: RdfRules, *, skip_bad_lines: bool) -> Gathered:
    """What an N-Triples or Turtle file says."""
    gathered = Gathered(rules)
    by_line = kind_of(path) == ".nt" and skip_bad_lines  # a broken Turtle statement has no certain end
    for statement in _line_by_line(path) if by_line else _statements(path):
        if isinstance(statement, BadLine):
            gathered.bad.append(statement)
        else:
            gathered.add(statement)
    return gathered


def _statements(path: Path) -> Iterator[Triple | Quad]:
    by_line = kind_of(path) == ".nt"
    deep = first_too_deep(path)
    if deep is not None:
        refuse([_deep(path, deep)], skip_bad_lines=False, skippable=by_line)
    try:
        with unpacked(path) as file:
            yield from parse(file, format=RdfFormat.N_TRIPLES if by_line else RdfFormat.TURTLE)
    except SyntaxError as error:
        # A line of N-Triples stands alone, so the bad ones are certain; in Turtle the parser's guess has to do.
        bad = [problem for problem in _line_by_line(path) if isinstance(problem, BadLine)] if by_line else []
        refuse(bad or [_bad(path, error.lineno, error)], skip_bad_lines=False, skippable=by_line)


def _line_by_line(path: Path) -> Iterator[Triple | Quad | BadLine]:
    for number, line in enumerate(raw_lines(path), start=1):
        if too_deep(line) is not None:
            yield _deep(path, number)
            continue
        try:
            yield from parse(io.BytesIO(line), format=RdfFormat.N_TRIPLES)
        except SyntaxError as error:
            yield _bad(path, number, error)


def _deep(path: Path, line: int) -> BadLine:
    return BadLine(str(path), line, f"more than {DEEPEST} statements speak of one another here, <<( <<( … )>> )>>.")


def _bad(path: Path, line: int | None, error: SyntaxError) -> BadLine:
    return BadLine(str(path), line or 1, re.sub(r"^Parser error .*?: ", "", error.msg) + ".")
