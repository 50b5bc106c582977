"""Types that facts say: ⟨Paris, rdf:type, City⟩."""

from __future__ import annotations

import numpy as np
import polars as pl

from cear.core.types import SPLITS, Ragged
from cear.data.entity_types import TypeFacts, Types
from cear.data.knowledge_base import KnowledgeBase

RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
# What these vocabularies say of a class (`rdfs:subClassOf`, …) does not make it a thing among things.
_OF_CLASSES = r"^http://www\.w3\.org/(1999/02/22-rdf-syntax-ns|2000/01/rdf-schema|2002/07/owl)#"


def types_of_facts(kb: KnowledgeBase, relation: str) -> Types | None:
    """The types that the training facts of a relation say, or None when no fact says one.

    A type is what stands as object of the relation, in any split, and is not itself the subject of facts other than
    those of the relation or of RDF's own vocabularies.
    """
    number = kb.relations.by_id.get(relation)
    if number is None:
        return None
    every = np.concatenate([kb.facts(split) for split in SPLITS])
    of_classes = kb.relations.table["id"].str.contains(_OF_CLASSES).to_numpy() | (np.arange(kb.n_relations) == number)
    things = every[~of_classes[every[:, 1]], 0]
    classes = np.setdiff1d(every[every[:, 1] == number, 2], things)
    if not len(classes):
        return None
    unsaid = Types(_names(kb, classes.tolist()), Ragged.empty(kb.n_entities), TypeFacts(number, classes))
    return unsaid.said_in(kb.facts("train"))


def _names(kb: KnowledgeBase, classes: list[int]) -> tuple[str, ...]:
    """The names of classes; the id of one that shares its name with another."""
    table = kb.entities.table[classes]
    shared = pl.col("name").is_duplicated()
    return tuple(table.select(pl.when(shared).then("id").otherwise("name").alias("name"))["name"])
