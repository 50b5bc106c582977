"""Retrievers that learn by gradients: the settings that they share, and their training."""

from __future__ import annotations

from abc import abstractmethod
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field, NonNegativeFloat, PositiveFloat, PositiveInt

from cear.core.context import Context
from cear.core.settings import Settings
from cear.core.tensors import load_state, map_tensors
from cear.data import KnowledgeBase
from cear.evaluation import valid_mrr
from cear.retrieval.embeddings import ENTITIES, RELATIONS, AnyEmbedding, Embeddings, MappedRows, RowsConfig
from cear.retrieval.losses import AnyLoss, SoftmaxLoss
from cear.retrieval.objective import Objective
from cear.retrieval.optimizers import OptimizerConfig
from cear.retrieval.retriever import Fitted, Holders, Retriever, RetrieverConfig
from cear.retrieval.scorer import DotProductScorer, Scorer
from cear.retrieval.training import Stage1Task
from cear.training import BEST, Schedule, State, fit, load_weights


class ScheduleConfig(Settings):
    """How long a gradient model trains."""

    batch: PositiveInt = 1000
    """Distinct queries in a step."""
    epochs: PositiveInt = 20
    """Passes over the distinct queries, at most."""
    validate_every: PositiveInt = 1
    """Epochs between two looks at the validation split."""
    patience: PositiveInt = 5
    """Looks without a better MRR before training stops early."""
    checkpoint_seconds: NonNegativeFloat = Field(
        default=60.0, exclude=True
    )  # in no dump: it does not change the result
    """Seconds between two checkpoints inside an epoch: what a kill may cost."""

    @property
    def schedule(self) -> Schedule:
        """What the training loop reads."""
        return Schedule(self.epochs, self.validate_every, self.patience, self.checkpoint_seconds)


class RegularizerConfig(Settings):
    """Weight times the mean over facts of Σ |s|ᵖ + |r|ᵖ + |o|ᵖ; p = 3 is N3 (Lacroix et al. 2018)."""

    p: PositiveFloat = 3.0
    """The power."""
    weight: float = Field(default=0.05, ge=0)
    """0 turns it off."""


class GradientConfig(ScheduleConfig, RetrieverConfig):
    """A scorer over embeddings, and how it is trained."""

    data_parallel: ClassVar[bool] = True

    rank: PositiveInt = 128
    """Coordinates of an embedding; complex ones count once."""
    embedding: AnyEmbedding = RowsConfig()
    """What a vector is: rows that are learned, lstm over names, or text, a projection of what texts mean."""
    loss: AnyLoss = SoftmaxLoss()
    """What a training step minimises: softmax, bce, self_adversarial or info_nce."""
    regularizer: RegularizerConfig = RegularizerConfig()
    optimizer: OptimizerConfig = OptimizerConfig()

    @abstractmethod
    def scorer(self, embeddings: Embeddings) -> Scorer:
        """A fresh scorer over these embeddings."""

    @property
    def relations_weight(self) -> float:
        """The weight of predicting relations; 0 for a scorer that has no such setting."""
        return float(getattr(self, "relation_prediction", 0.0))

    @property
    def objective(self) -> Objective:
        """What its training minimises."""
        return Objective(self.loss, self.regularizer.p, self.regularizer.weight, self.relations_weight)

    def preflight(self, kb: KnowledgeBase, context: Context) -> None:
        """Refuse what the embedding refuses."""
        self.embedding.preflight(kb, context)

    def build(self, kb: KnowledgeBase, context: Context) -> Scorer:
        """A fresh scorer for a knowledge base, on the device of the context."""
        scorer = self.scorer(self.embedding.build(kb, context)).to(context.device).eval()
        scorer.objective = self.objective
        return scorer

    def fit(self, kb: KnowledgeBase, folder: Path, context: Context) -> Fitted:
        """Train to the best on validation; resumes what `folder` holds."""
        scorer = self.build(kb, context)
        task = Stage1Task(scorer, kb, self, valid_mrr(kb), context)
        state = fit(task, self.schedule, folder, key=[self.settings_key(), kb.digest], context=context)
        return Fitted(scorer.eval(), state)

    def load(self, kb: KnowledgeBase, folder: Path, context: Context) -> Scorer:
        """The scorer with the weights that were best on validation."""
        scorer = self.build(kb, context)
        load_state(scorer, load_weights(folder))
        return scorer.eval()

    def load_in_parts(self, kb: KnowledgeBase, folder: Path, context: Context, holders: Holders) -> Retriever:
        """Its rows stay in their file, if rows are all that it has learned and its score is a product with them."""
        path = folder / BEST
        if map_tensors(path).keys() == {ENTITIES, RELATIONS}:
            scorer = self.scorer(MappedRows(path)).eval()
            if isinstance(scorer, DotProductScorer):
                return holders.vectors(scorer, path)
        return self.load(kb, folder, context)

    def details(self, training: State) -> dict[str, Any]:
        """Rank and epochs."""
        return {"rank": self.rank, "epochs": training.epoch, "best_epoch": training.best_epoch}
