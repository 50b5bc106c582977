"""Rules as reasons: which ones speak for an answer, and how a person reads them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Literal

import numpy as np

from cear.data import KnowledgeBase
from cear.retrieval.rules.attribute_rules import AttributeRules
from cear.retrieval.rules.evidence import Evidence
from cear.retrieval.rules.graph import Graph
from cear.retrieval.rules.path_rules import NO_RELATION
from cear.retrieval.rules.paths import PathsBetween
from cear.retrieval.rules.rulebook import RuleBook

Kind = Literal["attribute", "likeness", "path"]
Term = int | str  # an entity, or the name of a variable

BETWEEN = "ABCDEFGHIJKLMNOPQRSTUVW"  # variables of a path between X and Y
MOST_GROUNDINGS = 5  # of a rule: two entities may be joined by thousands of paths, and nobody reads them


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
    """The entities that make the body hold here: what stands for its variables besides X and Y, or its constant.

    Of a path that leads over many entities the first few.
    """

    def describe(self, kb: KnowledgeBase) -> str:
        """The rule with names: `capital of(X, Denmark) <- located in(X, Zealand)  0.83 (25/25)`."""
        body = ", ".join(atom.describe(kb) for atom in self.body)
        return f"{self.head.describe(kb)} <- {body}  {self.confidence:.2f} ({self.support}/{self.body_count})"

    def facts(self, entity: int, answer: int, n_relations: int) -> tuple[tuple[int, int, int], ...]:
        """The facts (s, r, o) that made it fire for this answer of a query on this entity, by its first grounding."""
        holder = answer if self.kind == "likeness" else entity
        stands_for: dict[Term, int] = {"X": holder, "Y": answer}
        stands_for |= zip(BETWEEN, self.groundings[0], strict=False)
        ends = [[t if isinstance(t, int) else stands_for[t] for t in (atom.subject, atom.object)] for atom in self.body]
        return tuple(
            (s, atom.relation, o) if atom.relation < n_relations else (o, atom.relation - n_relations, s)
            for atom, (s, o) in zip(self.body, ends, strict=True)
        )


def fired_rules(
    book: RuleBook, evidence: Evidence, entity: int, relation: int, answer: int, n: int | None = None
) -> list[FiredRule]:
    """The n rules that speak most for `answer` as the answer of ⟨entity, relation, ?⟩, or all; the best first.

    `evidence` is that of the same book: it finds rules by their head.
    """
    reciprocal = book.graph.reciprocal(relation)
    fired = [
        *_attribute_reasons(book, evidence, "attribute", book.graph.attribute(answer, reciprocal), entity, n),
        *_attribute_reasons(book, evidence, "likeness", book.graph.attribute(entity, relation), answer, n),
        *islice(_path_reasons(book, evidence, entity, relation, answer), n),
    ]
    return sorted(fired, key=lambda rule: (-rule.confidence, -rule.support))[:n]


def _attribute_reasons(
    book: RuleBook, evidence: Evidence, kind: Kind, head: int | None, holder: int, n: int | None
) -> Iterator[FiredRule]:
    """The best n rules for attribute `head` whose body the holder has."""
    if head is None:
        return
    graph, rules = book.graph, book.attribute_rules
    bodies = evidence.body[slice(*evidence.by_head[head : head + 2])]
    bodies = bodies[np.isin(bodies, graph.attributes.row(holder))]
    support = np.array([rules.support[_rule(rules, evidence, head, body)] for body in bodies.tolist()], np.int64)
    sizes = book.body_counts[bodies]
    confidence = support / (sizes + book.config.smoothing)
    for i in np.lexsort((-support, -confidence))[:n].tolist():
        yield FiredRule(
            kind=kind,
            head=_attribute_atom(graph, head),
            body=(_attribute_atom(graph, int(bodies[i])),),
            confidence=float(confidence[i]),
            support=int(support[i]),
            body_count=int(sizes[i]),
            groundings=((int(graph.entity[bodies[i]]),),),
        )


def _rule(rules: AttributeRules, evidence: Evidence, head: int, body: int) -> int:
    """The place of the rule `head` <- `body`, which there is."""
    first, last = evidence.by_body[body : body + 2]
    return int(first + np.searchsorted(rules.head[first:last], head))


def _path_reasons(book: RuleBook, evidence: Evidence, entity: int, relation: int, answer: int) -> Iterator[FiredRule]:
    """The path rules for `relation` that lead from the entity to the answer, the most confident first."""
    paths = PathsBetween(book.graph, entity, answer)
    rules = book.path_rules.take(np.arange(*evidence.by_relation[relation : relation + 2]))
    confidence = rules.confidence(book.config.smoothing)
    for rule in np.lexsort((-rules.support, -confidence)).tolist():
        path = tuple(step for step in rules.body[rule].tolist() if step != NO_RELATION)
        if between := tuple(islice(paths.along(path), MOST_GROUNDINGS)):
            variables: list[Term] = ["X", *BETWEEN[: len(path) - 1], "Y"]
            yield FiredRule(
                kind="path",
                head=Atom(relation, "X", "Y"),
                body=tuple(map(Atom, path, variables, variables[1:])),
                confidence=float(confidence[rule]),
                support=int(rules.support[rule]),
                body_count=int(rules.pairs[rule]),
                groundings=between,
            )


def _attribute_atom(graph: Graph, attribute: int) -> Atom:
    """ρ(c, X)."""
    return Atom(int(graph.relation[attribute]), int(graph.entity[attribute]), "X")


def _term(term: Term, kb: KnowledgeBase) -> str:
    return kb.entities.name(term) if isinstance(term, int) else term
