"""New entities without retraining: the same system over a knowledge base that has them too.

Nothing on disk changes and no weight that was learned does. Every part takes the newcomers as well as it can: solved
vectors, the same rules on their facts, their texts read. Whoever cannot is named.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from cear.candidates import Retrievers
from cear.core.context import HERE, Context
from cear.core.errors import DataError
from cear.data import KnowledgeBase, Vocabulary, with_entities
from cear.ranking.ranker import Ranker
from cear.reranking import OldEntitiesAlone, rereading
from cear.retrieval import NewcomersBehind, with_new_entities

log = logging.getLogger("cear.ranking")

THIS = "this"
"""What may stand for the newcomer in its own facts."""


@dataclass(frozen=True)
class NewEntity:
    """An entity that the knowledge base does not have, and what is known of it."""

    id: str
    name: str
    description: str | None = None
    facts: tuple[tuple[str, str, str], ...] = ()
    """⟨subject, relation, object⟩ by ids or names; the newcomer is one of the ends, as `this` or by its id or name."""


def extended(ranker: Ranker, newcomers: Sequence[NewEntity], context: Context = HERE) -> Ranker:
    """The same system over the knowledge base with these entities and their facts; the ranker itself stays as it is.

    Old entities keep their scores wherever the new facts do not speak of them. A part that cannot take new entities
    is named in a warning, and by `cannot_take`.
    """
    if not newcomers:
        return ranker
    old, kb = ranker.kb, with_newcomers(ranker.kb, newcomers)
    first, *extra = (
        with_new_entities(each, kb, old.n_entities, context)
        for each in (ranker.retrievers.first, *ranker.retrievers.extra.values())
    )
    named = dict(zip(ranker.retrievers.extra, extra, strict=True))
    reranker = None if ranker.reranker is None else rereading(ranker.reranker, kb, old.n_entities, context)
    grown = replace(ranker, retrievers=Retrievers(kb, first, named), reranker=reranker)
    for part in cannot_take(grown):
        log.warning("%s takes no new entities: it ranks them last, and of questions about them it knows nothing.", part)
    return grown


def cannot_take(ranker: Ranker) -> tuple[str, ...]:
    """The parts of an extended ranker that know nothing of its new entities, by name; none where all do."""
    retrievers = {"Stage 1": ranker.retrievers.first, **ranker.retrievers.extra}
    behind = [name for name, each in retrievers.items() if isinstance(each, NewcomersBehind)]
    return (*behind, *(["the re-ranker"] if isinstance(ranker.reranker, OldEntitiesAlone) else []))


def with_newcomers(kb: KnowledgeBase, newcomers: Sequence[NewEntity]) -> KnowledgeBase:
    """The knowledge base with these entities at the end, and their facts at the end of the training facts."""
    entities = _vocabulary(kb.entities, newcomers)
    facts = [fact for place, each in enumerate(newcomers) for fact in _facts(each, kb.n_entities + place, entities, kb)]
    return with_entities(kb, entities, np.array(facts, np.int64).reshape(-1, 3))


def _vocabulary(entities: Vocabulary, newcomers: Sequence[NewEntity]) -> Vocabulary:
    """All entities, the new ones last."""
    for each in newcomers:
        if each.id in entities.by_id:
            raise DataError(
                f"The new entity {each.name!r} has the id {each.id!r}, which is that of "
                f"{entities.name(entities.by_id[each.id])!r}. Ask about that one, or give the new one another id."
            )
    columns = {part: [getattr(each, part) for each in newcomers] for part in ("id", "name", "description")}
    table = pl.concat([entities.table, pl.DataFrame(columns, schema=entities.table.schema)])
    return Vocabulary(entities.kind, table, entities.aliases)


def _facts(newcomer: NewEntity, number: int, entities: Vocabulary, kb: KnowledgeBase) -> Iterator[tuple[int, int, int]]:
    """The facts of a newcomer as integers; it stands in each of them."""
    own = (THIS, newcomer.id, newcomer.name)
    for subject, relation, object_ in newcomer.facts:
        s, o = (number if end in own else entities.find(end) for end in (subject, object_))
        if number not in (s, o):
            raise DataError(
                f"The fact ⟨{subject}, {relation}, {object_}⟩ of the new entity {newcomer.name!r} is not about it. "
                f"Write {THIS!r}, its id or its name for one of the ends."
            )
        yield s, kb.relations.find(relation), o
