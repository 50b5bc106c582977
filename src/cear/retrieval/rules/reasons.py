"""Rules as reasons: which ones speak for an answer, and how a person reads them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from cear.data import KnowledgeBase
from cear.retrieval.rules.graph import Graph
from cear.retrieval.rules.path_rules import NO_RELATION
from cear.retrieval.rules.rulebook import RuleBook

Kind = Literal["attribute", "likeness", "path"]
Term = int | str  # an entity, or the name of a variable

_BETWEEN = "ABCDEFGH"  # variables of a path between X and Y


@dataclass(frozen=True)
class Atom:
    """`relation(subject, object)`; a relation in [R, 2R) is the reciprocal of one, and reads the other way round."""

    relation: int
    subject: Term
    object: Term

    def describe(self, kb: KnowledgeBase) -> str:
        """The atom with names: `located in(X, Zealand)`."""
        terms = [_term(self.subject, kb), _term(self.object, kb)]
        ordered = terms if self.relation < kb.n_relations else terms[::-1]
        return f"{kb.relations.name(self.relation % kb.n_relations)}({', '.join(ordered)})"


@dataclass(frozen=True)
class FiredRule:
    """A rule that speaks for an answer."""

    kind: Kind
    """attribute: what the entity asked about has. likeness: what the answer shares with known answers. path."""
    head: Atom
    body: tuple[Atom, ...]
    confidence: float
    support: int
    """How often the rule was right in the facts that it was learned from."""
    body_count: int
    """How often its body held there."""
    groundings: tuple[tuple[int, ...], ...]
    """The entities that make the body hold here: what stands for its variables besides X and Y, or its constant."""

    def describe(self, kb: KnowledgeBase) -> str:
        """The rule with names: `capital of(X, Denmark) <- located in(X, Zealand)  0.83 (25/25)`."""
        body = ", ".join(atom.describe(kb) for atom in self.body)
        return f"{self.head.describe(kb)} <- {body}  {self.confidence:.2f} ({self.support}/{self.body_count})"


def fired_rules(book: RuleBook, entity: int, relation: int, answer: int) -> list[FiredRule]:
    """Every rule that speaks for `answer` as the answer of ⟨entity, relation, ?⟩, the most confident first."""
    n_relations = book.graph.n_relations
    reciprocal = (relation + n_relations) % (2 * n_relations)
    fired = [
        *_attribute_reasons(book, "attribute", book.graph.attribute(answer, reciprocal), holder=entity),
        *_attribute_reasons(book, "likeness", book.graph.attribute(entity, relation), holder=answer),
        *_path_reasons(book, entity, relation, answer),
    ]
    return sorted(fired, key=lambda rule: (-rule.confidence, -rule.support))


def _attribute_reasons(book: RuleBook, kind: Kind, head: int | None, *, holder: int) -> Iterator[FiredRule]:
    """The rules for attribute `head` whose body the holder has."""
    graph, rules = book.graph, book.attribute_rules
    if head is None:
        return
    held = graph.attributes.row(holder)
    for rule in np.flatnonzero(rules.head == head):
        if (body := int(rules.body[rule])) in held:
            size = len(graph.members.row(body))
            yield FiredRule(
                kind=kind,
                head=_attribute_atom(graph, head),
                body=(_attribute_atom(graph, body),),
                confidence=float(rules.support[rule] / (size + book.config.smoothing)),
                support=int(rules.support[rule]),
                body_count=size,
                groundings=((int(graph.entity[body]),),),
            )


def _path_reasons(book: RuleBook, entity: int, relation: int, answer: int) -> Iterator[FiredRule]:
    """The path rules for `relation` that lead from the entity to the answer."""
    rules = book.path_rules
    for rule in range(*np.searchsorted(rules.head, [relation, relation + 1])):
        path = [int(step) for step in rules.body[rule] if step != NO_RELATION]
        between = tuple(nodes[1:-1] for nodes in _paths(book.graph, (entity,), path) if nodes[-1] == answer)
        if between:
            variables: list[Term] = ["X", *_BETWEEN[: len(path) - 1], "Y"]
            yield FiredRule(
                kind="path",
                head=Atom(relation, "X", "Y"),
                body=tuple(map(Atom, path, variables, variables[1:])),
                confidence=float(rules.support[rule] / (rules.pairs[rule] + book.config.smoothing)),
                support=int(rules.support[rule]),
                body_count=int(rules.pairs[rule]),
                groundings=between,
            )


def _paths(graph: Graph, nodes: tuple[int, ...], path: list[int]) -> Iterator[tuple[int, ...]]:
    """Every simple path that goes on from these nodes by these relations."""
    if not path:
        yield nodes
    elif (attribute := graph.attribute(nodes[-1], path[0])) is not None:
        for end in map(int, graph.members.row(attribute)):
            if end not in nodes:
                yield from _paths(graph, (*nodes, end), path[1:])


def _attribute_atom(graph: Graph, attribute: int) -> Atom:
    """ρ(c, X)."""
    return Atom(int(graph.relation[attribute]), int(graph.entity[attribute]), "X")


def _term(term: Term, kb: KnowledgeBase) -> str:
    return kb.entities.name(term) if isinstance(term, int) else term
