"""What speaks for an answer, as one object for people and programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from cear.data import KnowledgeBase, Vocabulary
from cear.explaining.wording import Fact, as_fact, rule_sentence, similar_sentence
from cear.retrieval import FiredRule

FEW = 2  # similar facts in a sentence
FAINT = 0.01  # a fact of less similarity is in no sentence
WEAK = 0.2  # a rule of less confidence is told only where no similar fact is known, and then as weak
TELLING = 0.1  # a group of inputs that changes the log-probability by less is not worth a word


@dataclass(frozen=True)
class SimilarFact:
    """A training fact of the same relation whose ends are like those of the fact in question."""

    subject: int
    relation: int
    object: int
    similarity: float
    """The likeness of the subjects times that of the objects, in (0, 1]; an end that is the same counts 1."""

    @property
    def fact(self) -> Fact:
        """Subject, relation, object."""
        return self.subject, self.relation, self.object


@dataclass(frozen=True)
class Rival:
    """Another candidate of the list, and what it does to the answer."""

    entity: int
    log_probability: float
    """Its own, in the list."""
    answer_without: float
    """The answer's log-probability when this one is taken out and the list is scored again."""
    effect: float
    """How much of that is more than the rival's freed share: 0 where candidates do not look at each other, above 0
    where this one held the answer down."""


@dataclass(frozen=True)
class Reasons:
    """Why `answer` is ranked where it is for the query ⟨entity, relation, ?⟩; integers, as in `Queries`."""

    entity: int
    relation: int
    answer: int
    listed: bool
    """Whether it was among the candidates; if not, it was put among them in place of the last."""
    known: bool
    """Whether the training facts say so already."""
    place: int
    """Where it stands in the list in the end, 1 is best."""
    candidates: int
    """How many stand there."""
    log_probability: float
    """Its share of the list: the final scores in a softmax. Not the probability that it is true."""
    rules: tuple[FiredRule, ...]
    support: tuple[SimilarFact, ...]
    rivals: tuple[Rival, ...]
    inputs: Mapping[str, float]
    """What each group of inputs adds to the log-probability; below zero it speaks against the answer."""

    def fact(self, kb: KnowledgeBase) -> Fact:
        """The fact (s, r, o) that the answer makes."""
        return as_fact(kb, self.entity, self.relation, self.answer)

    def sentence(self, kb: KnowledgeBase) -> str:
        """What matters most, for a person: a rule or similar facts; then where it stands, and what put it there."""
        return f"{self._grounds(kb)} {self._standing(kb)}".strip()

    def _grounds(self, kb: KnowledgeBase) -> str:
        enough = max([FAINT, *(each.similarity / 2 for each in self.support)])
        alike = [each.fact for each in self.support if each.similarity >= enough]
        rule = rule_sentence(kb, self.rules[0], self.entity, self.relation, self.answer) if self.rules else ""
        if self.rules and self.rules[0].confidence >= WEAK:
            return rule
        if alike:
            return similar_sentence(kb, alike[:FEW])
        return f"Only weak rules speak for it. {rule}" if rule else "No rule and no similar fact speaks for it."

    def _standing(self, kb: KnowledgeBase) -> str:
        """Whom it beat or who beat it, and which inputs speak for it."""
        if not self.rivals:
            return ""
        side = "first, before" if self.place == 1 else f"number {self.place}, behind"
        ranked = f"ranked {side} {kb.entities.name(self.rivals[0].entity)}"
        most = max(self.inputs, key=self.inputs.__getitem__)
        why = f", mostly by “{most}”" if self.inputs[most] >= TELLING else ""
        if self.listed:
            return f"It is {ranked}{why}."
        now = "known already" if self.known else "not among the candidates"
        return f"It is {now}, and would be {ranked}{why}."

    def as_json(self, kb: KnowledgeBase) -> dict[str, Any]:
        """All of it as values of JSON, with the user's ids and names; the relation is that of the fact."""
        s, r, o = self.fact(kb)
        return {
            "fact": _named_fact(kb, (s, r, o)),
            "asked": "object" if self.relation < kb.n_relations else "subject",
            "listed": self.listed,
            "known": self.known,
            "place": self.place,
            "candidates": self.candidates,
            "log_probability": self.log_probability,
            "rules": [self._rule_json(kb, rule) for rule in self.rules],
            "support": [_named_fact(kb, each.fact) | {"similarity": each.similarity} for each in self.support],
            "rivals": [asdict(each) | {"entity": _named(kb.entities, each.entity)} for each in self.rivals],
            "inputs": dict(self.inputs),
            "sentence": self.sentence(kb),
        }

    def _rule_json(self, kb: KnowledgeBase, rule: FiredRule) -> dict[str, Any]:
        facts = rule.facts(self.entity, self.answer, kb.n_relations)
        return {
            "rule": rule.describe(kb),
            "sentence": rule_sentence(kb, rule, self.entity, self.relation, self.answer),
            "kind": rule.kind,
            "confidence": rule.confidence,
            "support": rule.support,
            "body_count": rule.body_count,
            "facts": [_named_fact(kb, fact) for fact in facts],
        }


def _named(vocabulary: Vocabulary, index: int) -> dict[str, str]:
    return {"id": vocabulary.id(index), "name": vocabulary.name(index)}


def _named_fact(kb: KnowledgeBase, fact: Fact) -> dict[str, Any]:
    s, r, o = fact
    return {"subject": _named(kb.entities, s), "relation": _named(kb.relations, r), "object": _named(kb.entities, o)}
