"""Entities of one name: what tells them apart, and a look-up that says so where a name is not enough."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from textwrap import shorten

from cear.core.errors import AmbiguousName
from cear.core.shown import one_line
from cear.core.types import SPLITS
from cear.data.knowledge_base import KnowledgeBase

SHOWN = 10  # namesakes that an error lists
LONGEST = 80  # characters of what is said of one

Link = tuple[int, bool, int]
"""A fact as one of its ends sees it: the relation, whether that end is the object, and the other end."""


def find_entity(kb: KnowledgeBase, text: str) -> int:
    """The entity whose id is `text`, or else whose name is; several of one name are told apart in the error."""
    called = kb.entities.called(text)
    if len(called) > 1:
        raise AmbiguousName(f"{len(called)} entities are called {text!r}. Say which by its id:{_listed(kb, called)}")
    return kb.entities.find(text)


def told_apart(kb: KnowledgeBase, entities: Sequence[int]) -> list[str]:
    """What tells each of some entities from the others: its types, its description, or else a fact of its own.

    One kind of thing is told of all, if all differ in it; otherwise all that is known of each. Nothing may be "".
    """
    ways: tuple[Callable[[KnowledgeBase, Sequence[int]], list[str]], ...] = (_types, _descriptions, _facts)
    told = [way(kb, entities) for way in ways]
    clear = (each for each in told if all(each) and len(set(each)) == len(entities))
    return next(clear, ["; ".join(filter(None, each)) for each in zip(*told, strict=True)])


def _listed(kb: KnowledgeBase, entities: Sequence[int]) -> str:
    """A line for each of the first few: its id, its name, and what tells it apart."""
    first = entities[:SHOWN]
    names = [f"{one_line(kb.entities.id(each))} ({one_line(kb.entities.name(each))})" for each in first]
    lines = [f"\n  {name}{': ' * bool(told)}{told}" for name, told in zip(names, told_apart(kb, first), strict=True)]
    return "".join(lines) + (f"\n  and {len(entities) - SHOWN:,} more" if len(entities) > SHOWN else "")


def _types(kb: KnowledgeBase, entities: Sequence[int]) -> list[str]:
    return ["" if kb.types is None else _short(", ".join(kb.types.of(each))) for each in entities]


def _descriptions(kb: KnowledgeBase, entities: Sequence[int]) -> list[str]:
    return [_short(kb.entities.description(each) or "") for each in entities]


def _facts(kb: KnowledgeBase, entities: Sequence[int]) -> list[str]:
    """Of each entity the first fact with somebody else that is not also one of the others'."""
    links = [[link for link in _links(kb, each) if link[2] not in entities] for each in entities]
    having = Counter(link for found in links for link in set(found))
    own = [next((link for link in found if having[link] == 1), None) for found in links]
    return [_spelled(kb, entity, link) if link else "" for entity, link in zip(entities, own, strict=True)]


def _links(kb: KnowledgeBase, entity: int) -> list[Link]:
    """The facts of an entity, those of train first."""
    found: list[Link] = []
    for facts in map(kb.facts, SPLITS):
        for s, r, o in facts[(facts[:, [0, 2]] == entity).any(axis=1)].tolist():
            found.append((r, o == entity, s if o == entity else o))
    return found


def _spelled(kb: KnowledgeBase, entity: int, link: Link) -> str:
    relation, is_object, other = link
    ends = (other, entity) if is_object else (entity, other)
    subject, object_ = (_short(kb.entities.name(each)) for each in ends)
    return f"⟨{subject}, {_short(kb.relations.name(relation))}, {object_}⟩"


def _short(text: str) -> str:
    return shorten(one_line(text), LONGEST, placeholder=" …")
