"""The path network as a retriever that plugs in."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Literal

from cear.core.context import Context
from cear.core.errors import ConfigError
from cear.core.tensors import load_state
from cear.data import KnowledgeBase
from cear.retrieval.gradient import ScheduleConfig
from cear.retrieval.paths.config import PathSettings
from cear.retrieval.paths.graph import Graph
from cear.retrieval.paths.network import PathNetwork
from cear.retrieval.paths.retriever import PathRetriever
from cear.retrieval.paths.training import PathTask
from cear.retrieval.retriever import Fitted, RetrieverConfig
from cear.training import State, fit, load_weights

MOST_WEIGHTS = 100_000_000  # of what relations do to messages: 400 MB, and as much again twice for Adam


class PathsConfig(PathSettings, ScheduleConfig, RetrieverConfig):
    """A network that follows paths, in the manner of NBFNet, trained on facts that its graph does not have."""

    version: ClassVar[int] = 1
    data_parallel: ClassVar[bool] = True
    model: Literal["paths"] = "paths"
    """Which retriever."""
    batch: int = 16
    """Distinct queries in a step."""
    epochs: int = 10
    """Times that a fold is asked for, at most; with as many as there are folds, each is asked for once."""

    def preflight(self, kb: KnowledgeBase, context: Context) -> None:
        """Refuse more weights than fit, and fewer facts than folds."""
        del context
        weights = 2 * kb.n_relations * self.layers * self.width * (self.width if self.dependent else 1)
        if weights > MOST_WEIGHTS:
            raise ConfigError(
                f"paths: {kb.n_relations:,} relations with width {self.width} are {weights:,} weights, more than "
                f"{MOST_WEIGHTS:,}. Set dependent: false, or a smaller width."
            )
        if len(kb.facts("train")) < self.folds:
            raise ConfigError(
                f"paths: {len(kb.facts('train'))} training facts cannot be dealt into {self.folds} folds. Set folds to "
                "fewer."
            )

    def fit(self, kb: KnowledgeBase, folder: Path, context: Context) -> Fitted:
        """Train to the best on validation; resumes what `folder` holds."""
        self.preflight(kb, context)
        network = self._network(kb, context)
        task = PathTask(network, kb, self, context, batch=self.batch, epochs=self.epochs)
        state = fit(task, self.schedule, folder, key=[self.settings_key(), kb.digest], context=context)
        return Fitted(self._retriever(network, kb), state)

    def load(self, kb: KnowledgeBase, folder: Path, context: Context) -> PathRetriever:
        """The network that was best on validation, over the training facts."""
        network = self._network(kb, context)
        load_state(network, load_weights(folder))
        return self._retriever(network, kb)

    def details(self, training: State) -> dict[str, Any]:
        """Epochs."""
        return {"layers": self.layers, "epochs": training.epoch, "best_epoch": training.best_epoch}

    def _network(self, kb: KnowledgeBase, context: Context) -> PathNetwork:
        return PathNetwork(kb.n_relations, self, seed=context.seed).to(context.device)

    def _retriever(self, network: PathNetwork, kb: KnowledgeBase) -> PathRetriever:
        return PathRetriever(network.eval(), Graph.of(kb.facts("train"), kb.n_entities, kb.n_relations))
