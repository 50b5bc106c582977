"""The training of the path network: it asks for facts of a fold, and walks through a graph without them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import softplus

from cear.core.context import Context
from cear.core.devices import computing, device_of, tensor
from cear.core.types import Ints, Queries
from cear.data import KnowledgeBase, KnownAnswers
from cear.evaluation import evaluate, sample_facts
from cear.retrieval.paths.config import PathSettings
from cear.retrieval.paths.graph import Graph
from cear.retrieval.paths.network import PathNetwork
from cear.retrieval.paths.retriever import PathRetriever
from cear.training import Part, fused_on, set_rates


class PathTask:
    """A softmax for each answer of a query, against everybody who is no known answer of it."""

    def __init__(
        self,
        network: PathNetwork,
        kb: KnowledgeBase,
        config: PathSettings,
        context: Context,
        *,
        batch: int,
        epochs: int,
    ) -> None:
        self.model, self._kb, self._config, self._context = network, kb, config, context
        self._batch, self._epochs = batch, epochs
        self.optimizer = torch.optim.Adam(network.parameters(), config.learning_rate, fused=fused_on(network))
        self._fold_of = dealt(kb.facts("train"), config, seed=context.seed)
        self._known = kb.known("train")
        self._whole = Graph.of(kb.facts("train"), kb.n_entities, kb.n_relations)
        smallest = min(len(self._held(fold).queries) for fold in range(config.folds))
        self._asked = min(smallest, config.queries or smallest)

    def __len__(self) -> int:
        return -(-self._asked // self._batch)

    def steps(self, epoch: int, *, first: int, parts: int) -> Iterator[Sequence[Part]]:
        """The steps of an epoch; each query is a part, so that one graph of gradients is held at a time."""
        del parts
        self.model.train()
        fold = epoch % self._config.folds
        graph, asked = self._graph_without(fold), self._held(fold)
        chosen = np.random.default_rng([self._context.seed, epoch]).permutation(len(asked.queries))[: self._asked]
        for step in range(first, len(self)):
            rows = chosen[step * self._batch : (step + 1) * self._batch]
            set_rates(self.optimizer, [self._config.learning_rate], 1 - (epoch + step / len(self)) / self._epochs)
            facts = int(asked.answers.counts[rows].sum())
            yield [partial(self._loss, graph, asked, int(row), facts) for row in rows]

    def validate(self) -> float:
        """Filtered MRR on a sample of the validation facts, walking through all training facts."""
        self.model.eval()
        kb, most = self._kb, self._config.validate_facts
        which = sample_facts(kb, "valid", most, seed=0) if len(kb.facts("valid")) > most else None
        return evaluate(PathRetriever(self.model, self._whole), kb, "valid", which=which).summary()["both"]["mrr"]

    def _loss(self, graph: Graph, asked: KnownAnswers, row: int, facts: int) -> Tensor:
        """What a query adds to the mean over the facts of its step."""
        query, answers = asked.queries[row : row + 1], asked.answers.row(row)
        with computing(device_of(self.model), self._context.precision):
            scores = PathRetriever(self.model, graph).score_all(query)[0].float()
        beside = tensor(out_of_competition(query, self._known, graph, self._config), scores.device)
        others = scores.index_fill(0, beside, -torch.inf).logsumexp(0)
        return softplus(others - scores[tensor(answers, scores.device)]).sum() / facts

    def _held(self, fold: int) -> KnownAnswers:
        """What is asked in an epoch of this fold."""
        kb = self._kb
        return KnownAnswers.of(kb.facts("train")[self._fold_of == fold], kb.n_entities, kb.n_relations)

    def _graph_without(self, fold: int) -> Graph:
        """What is walked through in an epoch of this fold."""
        kb = self._kb
        return Graph.of(kb.facts("train")[self._fold_of != fold], kb.n_entities, kb.n_relations)


def out_of_competition(query: Queries, known: KnownAnswers, graph: Graph, config: PathSettings) -> Ints:
    """Who competes with no answer of a query: known ones, and, unless links may speak, who is linked to its entity."""
    answers = known.of_queries(query).values
    if config.by == "fact" or config.linked:
        return answers
    return np.concatenate([answers, graph.sources.row(int(query.entity[0]))])


def dealt(facts: Ints, config: PathSettings, *, seed: int) -> Ints:
    """The fold of each fact, (fact,)."""
    rng = np.random.default_rng([seed, config.folds])
    if config.by == "fact":
        return rng.permutation(len(facts)) % config.folds
    _, pair = np.unique(np.sort(facts[:, [0, 2]], axis=1), axis=0, return_inverse=True)
    return (rng.permutation(int(pair.max(initial=-1)) + 1) % config.folds)[pair.reshape(-1)]
