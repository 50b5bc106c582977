"""A knowledge base for trained models: three entities, two relations, and ids that are not in the models' order."""

from __future__ import annotations

import numpy as np
import pytest

from cear.data import KnowledgeBase, Vocabulary

ENTITIES, RELATIONS = ["a", "b", "c"], ["likes", "knows"]


@pytest.fixture
def kb() -> KnowledgeBase:
    facts = np.array([[0, 0, 1], [1, 1, 2], [2, 0, 0]])
    entities, relations = Vocabulary.from_ids("entity", ENTITIES), Vocabulary.from_ids("relation", RELATIONS)
    return KnowledgeBase("small", entities, relations, {"train": facts, "valid": facts[:1], "test": facts[1:2]})
