"""A knowledge base that grows: the same with more entities at the end, and what is known of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cear.core.types import SPLITS, Ints, Ragged, Split
from cear.data.knowledge_base import KnowledgeBase
from cear.data.mentions import ONE_NAME, Mentions
from cear.data.vocabulary import Vocabulary


def with_entities(kb: KnowledgeBase, entities: Vocabulary, facts: Ints) -> KnowledgeBase:
    """The knowledge base with more entities and with more training facts, (fact, 3), both behind what there is.

    `entities` are all of them, those of `kb` first. A newcomer has the types that its facts say, where facts say types.
    """
    more = len(entities) - kb.n_entities
    splits: dict[Split, Ints] = {split: kb.facts(split) for split in SPLITS}
    splits["train"] = np.concatenate([splits["train"], facts])
    mentions = None if kb.mentions is None else _mentions(kb.mentions, len(facts))
    types = None
    if kb.types is not None:
        rows = Ragged.concat([kb.types.of_entity, Ragged.empty(more)])
        types = replace(kb.types, of_entity=rows).said_in(splits["train"])
    return KnowledgeBase(kb.name, entities, kb.relations, splits, mentions, types)


def _mentions(mentions: Mentions, more: int) -> Mentions:
    """The mentions with so many more training facts, whose ends have no other name than their own."""
    if "train" not in mentions.ends:
        return mentions
    ends = np.concatenate([mentions.ends["train"], np.full((more, 2), ONE_NAME)])
    return replace(mentions, ends={**mentions.ends, "train": ends})
