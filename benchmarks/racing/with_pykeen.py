"""PyKEEN's side of the race. Importing this imports PyKEEN."""

from __future__ import annotations

import gc
from functools import partial
from typing import Any

import numpy as np
import torch
from pykeen.losses import CrossEntropyLoss
from pykeen.models import ComplEx
from pykeen.training import LCWATrainingLoop, TrainingCallback
from pykeen.triples import CoreTriplesFactory
from pykeen.triples.weights import LossWeighter
from torch import Tensor

from cear.core.types import Ints, Queries
from cear.data import KnowledgeBase
from cear.retrieval import ComplExConfig, RowsConfig
from racing.curves import Follower
from racing.trials import Choice


class AnswerCounts(LossWeighter):
    """The number of training answers of a query. Weighted by it, each fact counts once in a mean over queries."""

    def __init__(self, facts: Ints, n_entities: int, n_relations: int) -> None:
        """`facts` include the inverse ones, in PyKEEN's numbers."""
        self._counts = np.zeros((n_entities, n_relations), np.float32)
        np.add.at(self._counts, (facts[:, 0], facts[:, 1]), 1)

    def __call__(self, h: Any, r: Any, t: Any) -> Tensor:
        """The weight of ⟨h, r, ?⟩, of the shape of h; t is None, for all tails are asked for at once."""
        del t
        return torch.from_numpy(self._counts[h, r])


class Scorer:
    """PyKEEN's model as something that our evaluator can rank."""

    def __init__(self, model: Any, n_relations: int) -> None:
        self._model, self._n_relations = model, n_relations

    def score_all(self, queries: Queries) -> Tensor:
        """⟨s, r, ?⟩ through r, ⟨?, r, o⟩ through the inverse relation that PyKEEN trained."""
        asks_head = torch.from_numpy(queries.relation >= self._n_relations)
        pairs = torch.from_numpy(np.stack([queries.entity, queries.relation % self._n_relations], axis=1))
        tails = self._model.predict_t(pairs[~asks_head])
        heads = self._model.predict_h(pairs[asks_head].flip(1))
        scores: Tensor = tails.new_empty(len(pairs), tails.shape[1])
        scores[~asks_head], scores[asks_head] = tails, heads
        return scores


class Done(Exception):
    """The follower has seen enough: PyKEEN's loop has no gentler way to be told."""


class Follow(TrainingCallback):
    """Lets a follower look at PyKEEN's model after each epoch."""

    def __init__(self, follower: Follower) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._follower = follower

    def post_epoch(self, *_: Any, **__: Any) -> None:
        """Measure, and go on or not."""
        if not self._follower.goes_on(Scorer(self.model, self._follower.kb.n_relations)):
            raise Done
        self.model.train()


def train_pykeen(kb: KnowledgeBase, config: ComplExConfig, choice: Choice, follower: Follower) -> None:
    """Epochs of PyKEEN's ComplEx in its LCWA loop until the follower has seen enough."""
    facts = torch.from_numpy(kb.facts("train").copy())
    factory = CoreTriplesFactory(facts, kb.n_entities, kb.n_relations, create_inverse_triples=True)
    model = _model(factory, config, choice)
    loop = LCWATrainingLoop(
        model=model,
        triples_factory=factory,
        optimizer=torch.optim.Adagrad(model.get_grad_params(), lr=config.optimizer.learning_rate, fused=True),
        loss_weighter=answer_counts(kb) if choice.facts_count else None,
        automatic_memory_optimization=False,  # a search for what a GPU holds, which here would only take time
    )
    quiet: dict[str, Any] = {"use_tqdm": False, "use_tqdm_batch": False, "pin_memory": False}
    gc.freeze()  # it collects garbage before each epoch, and shall not look through what *we* have imported
    try:
        loop.train(factory, num_epochs=10_000, batch_size=choice.batch, callbacks=Follow(follower), **quiet)
    except Done:
        return
    finally:
        gc.unfreeze()


def answer_counts(kb: KnowledgeBase) -> AnswerCounts:
    """The weights of all training queries; PyKEEN numbers relation r as 2r and its inverse as 2r + 1."""
    s, r, o = kb.facts("train").T
    both = np.concatenate([np.stack([s, 2 * r, o], axis=1), np.stack([o, 2 * r + 1, s], axis=1)])
    return AnswerCounts(both, kb.n_entities, 2 * kb.n_relations)


def _model(factory: CoreTriplesFactory, config: ComplExConfig, choice: Choice) -> ComplEx:
    # PyKEEN's own scale is 1, from which this loss and optimiser learn next to nothing in our time.
    assert isinstance(config.embedding, RowsConfig)
    fresh = partial(torch.nn.init.normal_, std=config.embedding.scale)
    return ComplEx(
        triples_factory=factory,
        embedding_dim=config.rank,
        loss=CrossEntropyLoss(),
        entity_initializer=fresh,
        relation_initializer=fresh,
        regularizer="powersum",
        regularizer_kwargs={"p": config.regularizer.p, "weight": choice.n3},
        random_seed=0,
    )
