"""Facts and rules in plain English, with names."""

from __future__ import annotations

from collections.abc import Sequence

from cear.data import KnowledgeBase
from cear.retrieval import FiredRule

PREPOSITIONS = frozenset(["as", "at", "by", "for", "from", "in", "into", "of", "on", "over", "to", "under", "with"])
WITHIN = frozenset(["at", "in", "on"])  # inside a name they make it a place: airport in country

Fact = tuple[int, int, int]


def fact_clause(kb: KnowledgeBase, fact: Fact) -> str:
    """A fact as a clause: `Kazan is located in country Russia`, `the currency of France is Euro`."""
    s, r, o = fact
    return clause(kb.entities.name(s), kb.relations.name(r), kb.entities.name(o))


def clause(subject: str, relation: str, object: str) -> str:
    """A clause of these names, as the form of the relation's name suggests.

    >>> clause("Kazan", "located in country", "Russia")
    'Kazan is located in country Russia'
    >>> clause("Kenya", "shares border with", "Uganda")
    'Kenya shares border with Uganda'
    >>> clause("Kenya", "official language", "Swahili")
    'the official language of Kenya is Swahili'
    >>> clause("Ada", "/people/person/place_of_birth", "London")
    'Ada has “/people/person/place_of_birth” London'
    """
    words = relation.split()
    if not words or not all(word.isalpha() and word.islower() for word in words):
        return f"{subject} has “{relation}” {object}"
    if len(words) > 1 and words[0].endswith("s") and not words[0].endswith("ss"):  # a verb: shares, is, was, has
        return f"{subject} {relation} {object}"
    if words[0].endswith("ed") or words[-1] in PREPOSITIONS or WITHIN & set(words):
        return f"{subject} is {relation} {object}"
    if PREPOSITIONS & set(words):  # "kind of currency" is a noun, "member of team" is not
        return f"{subject} has “{relation}” {object}"
    return f"the {relation} of {subject} is {object}"


def rule_sentence(kb: KnowledgeBase, rule: FiredRule, entity: int, relation: int, answer: int) -> str:
    """Why a rule fired, as facts, and how often it was right."""
    facts = " and ".join(fact_clause(kb, fact) for fact in rule.facts(entity, answer, kb.n_relations))
    often = f"in {rule.support} of {rule.body_count} known cases"
    if rule.kind == "path":
        same = fact_clause(kb, as_fact(kb, entity, relation, answer))
        return sentence(f"{facts}; {often} that goes with a fact like “{same}”")
    names = [kb.entities.name(t) if isinstance(t, int) else "…" for t in (rule.head.subject, rule.head.object)]
    ends = names if rule.head.relation < kb.n_relations else names[::-1]
    head = clause(ends[0], kb.relations.name(rule.head.relation % kb.n_relations), ends[1])
    return sentence(f"{facts}; {often} that goes with “{head}”")


def similar_sentence(kb: KnowledgeBase, facts: Sequence[Fact]) -> str:
    """That similar facts are known, and which."""
    return sentence("similar facts are known: " + " and ".join(fact_clause(kb, fact) for fact in facts))


def as_fact(kb: KnowledgeBase, entity: int, relation: int, answer: int) -> Fact:
    """The fact (s, r, o) that an answer of ⟨entity, relation, ?⟩ makes; a reciprocal relation asks for the subject."""
    return (entity, relation, answer) if relation < kb.n_relations else (answer, relation - kb.n_relations, entity)


def sentence(text: str) -> str:
    """A clause with a full stop. Only our own words get a capital: names are written as they are."""
    begins = next((word for word in ("the ", "similar ") if text.startswith(word)), "")
    return f"{begins.capitalize()}{text.removeprefix(begins)}."
