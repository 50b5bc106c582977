"""What the model of a side is trained on: the training facts as queries with one answer each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cear.core.errors import DataError
from cear.core.types import NO_ENTITY, Ints, Ragged, Side
from cear.data import KnowledgeBase
from cear.retrieval.extreme_text.config import TreeSettings
from cear.retrieval.extreme_text.frequent import FrequentAnswers
from cear.retrieval.extreme_text.side import QueryTexts
from cear.retrieval.extreme_text.texts import only, stacked, text_features


@dataclass(frozen=True, eq=False)
class Examples:
    """Training facts asked from one side."""

    entity: Ints  # (fact,)
    relation: Ints  # (fact,)
    answer: Ints  # (fact,)
    frequent: FrequentAnswers
    texts: QueryTexts
    names: Ragged
    """The features of each entity's name, (entity,), numbered on their own."""

    @classmethod
    def of(cls, kb: KnowledgeBase, side: Side, config: TreeSettings) -> Examples:
        """The examples of a side; they are read from the training facts and from nothing else."""
        head, relation, tail = np.ascontiguousarray(kb.facts("train").T)
        if not len(relation):
            raise DataError(f"{kb.name!r} has no training facts, so there is nothing to learn from.")
        entity, answer = (head, tail) if side == "tail" else (tail, head)
        frequent = FrequentAnswers.count(
            relation, answer, n=config.frequent, n_relations=kb.n_relations, n_entities=kb.n_entities
        )
        names = text_features(kb.entities.table["name"], buckets=config.buckets)
        relations = text_features(kb.relations.table["name"], buckets=config.buckets)
        texts = _query_texts(names, relations, entity, relation, frequent, config.frequent_weight)
        return cls(entity, relation, answer, frequent, texts, names)

    def __len__(self) -> int:
        return len(self.answer)

    def rows(self, facts: Ints) -> Ints:
        """The texts of these facts' queries, (fact, text), each without what its own fact would tell."""
        relation = self.relation[facts]
        return self.texts.rows(self.entity[facts], relation, self.frequent.without(relation, self.answer[facts]))


def _query_texts(
    names: Ragged, relations: Ragged, entity: Ints, relation: Ints, frequent: FrequentAnswers, weight: float
) -> QueryTexts:
    """The features of all texts, those left out that no training query has: their vectors would be noise."""
    nothing = Ragged(np.zeros(2, np.int64), np.zeros(0, np.int64))
    features = stacked(names, relations, names, nothing)
    common = np.unique(frequent.entities[frequent.entities != NO_ENTITY])
    asked = [np.unique(entity), len(names) + np.unique(relation), len(names) + len(relations) + common]
    seen = np.zeros(features.values.max() + 1, np.bool_)
    seen[features.take(np.concatenate(asked)).values] = True
    role_weights = np.array([1, 1, weight], np.float32)
    return QueryTexts(only(features, seen), frequent.entities[:, :-1].copy(), role_weights)
