"""The four evaluations that are timed against each other: two of ours, two of PyKEEN's, of the same weights."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from cear.core.types import SPLITS, Ints, Queries
from cear.data import KnowledgeBase
from cear.evaluation import Asked, rank_under_filters
from cear.retrieval import Retriever
from cear.retrieval.pykeen_weights import pykeen_model


@dataclass(frozen=True)
class Timed:
    """What an evaluation took, and what it found: all must find the same."""

    seconds: float
    index_seconds: float | None
    """Of these, to index the known answers; None where that cannot be told apart."""
    mrr: float


@dataclass(frozen=True, slots=True, eq=False)
class Repeated(Queries):
    """Queries that are asked as often as they come, once for each fact."""

    def distinct(self) -> tuple[Queries, Ints]:
        """All of them, each at its own place."""
        return Queries(self.entity, self.relation), np.arange(len(self))


def ours(scorer: Retriever, kb: KnowledgeBase, _: int) -> Timed:
    """Our evaluation: ranks under three filters, leak check, measures of both sides; a distinct query asked once."""
    return _timed(scorer, kb, lambda asked: asked)


def ours_repeated(scorer: Retriever, kb: KnowledgeBase, _: int) -> Timed:
    """The same with every query scored anew for each of its facts, as PyKEEN does."""
    queries = kb.queries("test")
    return _timed(scorer, kb, lambda asked: replace(asked, queries=Repeated(queries.entity, queries.relation)))


def pykeen_evaluator(scorer: Retriever, kb: KnowledgeBase, batch: int) -> Timed:
    """PyKEEN's `RankBasedEvaluator.evaluate`, which indexes the known answers as it goes."""
    train, valid, test = _splits(kb)
    model, evaluator = _pykeen_model(scorer, kb), _pykeen_evaluator()
    start = time.perf_counter()
    found = evaluator.evaluate(model, test, batch_size=batch, additional_filter_triples=[train, valid], use_tqdm=False)
    return Timed(time.perf_counter() - start, None, found.get_metric("mrr"))


def pykeen_loop(scorer: Retriever, kb: KnowledgeBase, batch: int) -> Timed:
    """PyKEEN's `LCWAEvaluationLoop`, which indexes the known answers when it is made."""
    from pykeen.evaluation import LCWAEvaluationLoop
    from pykeen.triples import CoreTriplesFactory

    train, valid, test = _splits(kb)
    model, asked = _pykeen_model(scorer, kb), CoreTriplesFactory(test, kb.n_entities, kb.n_relations)
    known: dict[str, Any] = {"additional_filter_triples": [train, valid]}
    start = time.perf_counter()
    loop = LCWAEvaluationLoop(triples_factory=asked, model=model, evaluator=_pykeen_evaluator(), **known)
    indexed = time.perf_counter()
    found = loop.evaluate(batch_size=batch, use_tqdm=False, pin_memory=False)
    return Timed(time.perf_counter() - start, indexed - start, found.get_metric("mrr"))


def _timed(scorer: Retriever, kb: KnowledgeBase, ask: Callable[[Asked], Asked]) -> Timed:
    """What `cear.evaluation.evaluate` does, its index apart."""
    start = time.perf_counter()
    asked = ask(Asked.of(kb, "test"))
    filters = asked.filters
    indexed = time.perf_counter()
    ranks = rank_under_filters(scorer, asked.queries, asked.golds, filters)
    found = asked.evaluation(ranks, ties="expected", seconds=0.0).summary()
    return Timed(time.perf_counter() - start, indexed - start, found["both"]["mrr"])


def _splits(kb: KnowledgeBase) -> tuple[torch.Tensor, ...]:
    return tuple(torch.from_numpy(kb.facts(split).copy()) for split in SPLITS)


def _pykeen_model(scorer: Retriever, kb: KnowledgeBase) -> Any:
    """PyKEEN's ComplEx with the weights of ours: it computes the same scores."""
    from pykeen.models import ComplEx
    from pykeen.triples import CoreTriplesFactory

    weights = pykeen_model(scorer)
    nothing = torch.empty(0, 3, dtype=torch.long)
    factory = CoreTriplesFactory(nothing, kb.n_entities, kb.n_relations, create_inverse_triples=True)
    model = ComplEx(triples_factory=factory, embedding_dim=weights.dimension, random_seed=0, **weights.arguments)
    model.load_state_dict(weights.state)
    return model.eval()


def _pykeen_evaluator() -> Any:
    """The measures that ours has."""
    from pykeen.evaluation import RankBasedEvaluator

    ks: list[dict[str, int] | None] = [{"k": k} for k in (1, 3, 10, 50)]
    return RankBasedEvaluator(metrics=["mrr", *["hits@k"] * 4], metrics_kwargs=[None, *ks], add_defaults=False)


SIDES: dict[str, Callable[[Retriever, KnowledgeBase, int], Timed]] = {
    "ours": ours,
    "ours_repeated": ours_repeated,
    "pykeen_evaluator": pykeen_evaluator,
    "pykeen_loop": pykeen_loop,
}
"""Each takes a scorer, a knowledge base whose test facts are asked, and how many facts PyKEEN takes at a time."""
