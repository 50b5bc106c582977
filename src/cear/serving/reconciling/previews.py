"""What a client shows of an entity, a property or a type beside it: HTML in which every name is text."""

from __future__ import annotations

from html import escape
from textwrap import shorten

import numpy as np

from cear.core.errors import UnknownName
from cear.core.types import SPLITS, Queries
from cear.data import KnowledgeBase
from cear.serving.reconciling.properties import Properties, of_type

STYLE = """body { font: 14px/1.4 system-ui, sans-serif; margin: 0.6em; color-scheme: light dark }
h1 { font-size: 1.1em; margin: 0 } p { margin: 0.2em 0 } ul { margin: 0.4em 0; padding-left: 1.2em }
"""
FACTS = 8  # facts that a preview shows
_LONGEST = 300  # characters of a description
_VALUES = 3  # values of a relation in a preview


def preview(kb: KnowledgeBase, id_: str, style: str) -> str:
    """A page about an entity; `style` is the address of its style sheet."""
    entity = _entity(kb, id_)
    name, facts = escape(kb.entities.name(entity)), "".join(f"<li>{fact}</li>" for fact in _facts(kb, entity))
    head = f'<meta charset="utf-8"><title>{name}</title><link rel="stylesheet" href="{escape(style)}">'
    about = f"<h1>{name}</h1>{_about(kb, entity)}<p><small>{escape(id_)}</small></p>"
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{about}<ul>{facts}</ul></body></html>'


def entity_flyout(kb: KnowledgeBase, id_: str) -> str:
    """What tells an entity from others: its types and its description, or else its first facts."""
    entity = _entity(kb, id_)
    return _about(kb, entity) or "".join(f"<p>{fact}</p>" for fact in _facts(kb, entity)[:2])


def property_flyout(properties: Properties, id_: str) -> str:
    """What a property is, and a fact that has it."""
    which = properties.find(id_)
    if which is None:
        raise UnknownName(f"No property has the id {id_!r}. Look for it: /reconcile/suggest/property?prefix=.")
    kb, plain = properties.kb, which.relation % properties.kb.n_relations
    facts = np.concatenate([kb.facts(split) for split in SPLITS])
    facts = facts[facts[:, 1] == plain]
    said = kb.relations.description(plain)
    example = [_spelled(kb, *facts[0].tolist())] if len(facts) else []
    return "".join(map(_paragraph, filter(None, [said, f"Facts: {len(facts):,}", *example])))


def type_flyout(kb: KnowledgeBase, id_: str) -> str:
    """How many entities have a type."""
    if kb.types is None or id_ not in kb.types.names:
        raise UnknownName(f"No type has the id {id_!r}. Look for it: /reconcile/suggest/type?prefix=.")
    return _paragraph(f"Entities: {int(of_type(kb, id_).sum()):,}")


def _about(kb: KnowledgeBase, entity: int) -> str:
    """The types and the description of an entity; "" where the data has none."""
    types = "" if kb.types is None else ", ".join(kb.types.of(entity))
    return "".join(map(_paragraph, filter(None, [types, kb.entities.description(entity)])))


def _facts(kb: KnowledgeBase, entity: int) -> list[str]:
    """What is known of an entity, a line of HTML for each relation, first as subject, then as object."""
    n = kb.n_relations
    known = kb.known(*SPLITS).of_queries(Queries(np.full(2 * n, entity), np.arange(2 * n)))
    return [_line(kb, row, known.row(row).tolist()) for row in np.flatnonzero(known.counts)[:FACTS].tolist()]


def _line(kb: KnowledgeBase, relation: int, values: list[int]) -> str:
    name, n = escape(kb.relations.name(relation % kb.n_relations)), kb.n_relations
    shown = ", ".join(escape(_short(kb.entities.name(value))) for value in values[:_VALUES])
    more = f" and {len(values) - _VALUES:,} more" if len(values) > _VALUES else ""
    return f"<i>{name}</i> {shown}{more}" if relation < n else f"{shown}{more} <i>{name}</i> …"


def _spelled(kb: KnowledgeBase, s: int, r: int, o: int) -> str:
    return f"⟨{_short(kb.entities.name(s))}, {kb.relations.name(r)}, {_short(kb.entities.name(o))}⟩"


def _paragraph(text: str) -> str:
    return f"<p>{escape(_short(text))}</p>"


def _short(text: str) -> str:
    return shorten(text, _LONGEST, placeholder=" …") if len(text) > _LONGEST else text


def _entity(kb: KnowledgeBase, id_: str) -> int:
    entity = kb.entities.by_id.get(id_)
    if entity is None:
        raise UnknownName(f"No entity has the id {id_!r}. Look for it: /reconcile/suggest/entity?prefix=.")
    return entity
