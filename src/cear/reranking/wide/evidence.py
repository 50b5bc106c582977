"""All numbers that are known about candidates before the network reads them, from what given retrievers know."""

from __future__ import annotations

import numpy as np

from cear.candidates import Lists, Retrievers, scores_of
from cear.core.types import NO_ENTITY, Candidates, Floats, Ints
from cear.reranking.config import WideConfig
from cear.reranking.features import stage1_features
from cear.reranking.wide.graph import N_GRAPH, GraphFeatures, Reals
from cear.retrieval import Retriever

N_STAGE1, N_OTHER = 3, 4


def n_numbers(config: WideConfig, others: int) -> int:
    """How many numbers describe a candidate: Stage 1's log-probability, then what is not switched off."""
    graph = (N_GRAPH + config.linked) * config.graph
    return 1 + (N_STAGE1 - 1) * config.scores + N_OTHER * others * config.others + graph


class Evidence:
    """The numbers of each candidate, from what these retrievers know.

    Lists of a held-out fold are seen through retrievers, and a graph, that never had the fold.
    """

    def __init__(self, retrievers: Retrievers, config: WideConfig) -> None:
        self._config, self._retrievers = config, retrievers
        kb = retrievers.kb
        self._graph = GraphFeatures(kb.facts("train"), kb.n_entities, kb.n_relations) if config.graph else None

    def of(self, lists: Lists) -> Reals:
        """The numbers, (list, candidate, number): Stage 1's log-probability first; 0 where padded."""
        stage1 = stage1_features(lists.candidates)
        groups = [stage1 if self._config.scores else stage1[..., :1]]
        if self._config.others:
            groups += [_said_by(retriever, lists) for retriever in self._retrievers.also.values()]
        if self._graph is not None:
            groups.append(self._graph.of(lists)[..., : N_GRAPH + self._config.linked])
        return np.concatenate(groups, axis=-1).astype(np.float32)


def _said_by(retriever: Retriever, lists: Lists) -> Reals:
    """Score, log-probability, probability and log rank within the list, by a retriever beside Stage 1."""
    entities = lists.candidates.entities
    scores = scores_of(retriever, lists.queries, entities)
    raw = np.where(entities == NO_ENTITY, 0.0, scores)[..., None]
    return np.concatenate([raw, _in_its_order(entities, scores)], axis=-1).astype(np.float32)


def _in_its_order(entities: Ints, scores: Floats) -> Floats:
    """`stage1_features` of another retriever, for candidates that stand in Stage 1's order."""
    order = np.argsort(-scores, axis=1, kind="stable")
    ranked = Candidates(np.take_along_axis(entities, order, axis=1), np.take_along_axis(scores, order, axis=1))
    back = np.argsort(order, axis=1)
    return np.take_along_axis(stage1_features(ranked), back[..., None], axis=1)
