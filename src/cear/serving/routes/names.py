"""Names: entities by what somebody types, and relations."""
# Without postponed annotations: FastAPI reads those of functions inside functions.

from typing import Annotated

import numpy as np
from fastapi import APIRouter, Query

from cear.core.types import SPLITS
from cear.data import KnowledgeBase
from cear.serving.desk import Desk
from cear.serving.models import CountedRelation, Described, EntityHits, Relations, failures
from cear.serving.routes.questions import example


def router(desk: Desk) -> APIRouter:
    """`/entities?q=` and `/relations?q=`."""
    routes, kb, limits = APIRouter(tags=["names"], responses=failures(422)), desk.run.kb, desk.settings
    relations = relations_of(kb)
    a_name = kb.entities.name(kb.entities.by_id[example(desk)[0]])

    @routes.get("/entities")
    def entities(
        q: Annotated[str, Query(max_length=limits.longest_name, openapi_examples={"a name": {"value": a_name}})],
        limit: Annotated[int, Query(ge=1, le=limits.most_rows)] = 10,
    ) -> EntityHits:
        """Entities by the beginning of a name, an alias or an id, also with a typo; the likeliest first."""
        numbers = (kb.entities.by_id[hit.id] for hit in desk.names.search(q, limit))
        return EntityHits(entities=[described(kb, number) for number in numbers])

    @routes.get("/relations")
    def some_relations(
        q: Annotated[str, Query(max_length=limits.longest_name)] = "",
        limit: Annotated[int, Query(ge=1, le=limits.most_rows)] = limits.most_rows,
    ) -> Relations:
        """Relations whose name or id has all the words, those with the most facts first."""
        words = q.casefold().split()
        found = (each for each in relations if all(word in f"{each.name} {each.id}".casefold() for word in words))
        return Relations(relations=[*found][:limit])

    return routes


def described(kb: KnowledgeBase, entity: int) -> Described:
    """An entity with what the data says about it."""
    id_, name, description = kb.entities.table.row(entity)
    return Described(id=id_, name=name, description=description)


def relations_of(kb: KnowledgeBase) -> list[CountedRelation]:
    """All relations, those with the most facts first."""
    counts = sum(np.bincount(kb.facts(split)[:, 1], minlength=kb.n_relations) for split in SPLITS)
    order = np.argsort(-np.asarray(counts), kind="stable").tolist()
    rows = ((kb.relations.id(r), kb.relations.name(r), int(np.asarray(counts)[r])) for r in order)
    return [CountedRelation(id=id_, name=name, facts=facts) for id_, name, facts in rows]
