"""The contract of Stage 2: what a re-ranker is, what one that learns is, and what a plug-in is that makes one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

import numpy as np
from pydantic import Field, NonNegativeFloat, PositiveFloat, PositiveInt
from torch import Tensor, nn

from cear.candidates import CandidatesConfig, Lists
from cear.core.context import Context, Precision
from cear.core.errors import ConfigError
from cear.core.progress import Progress, silent
from cear.core.settings import Seed, Settings
from cear.core.types import Bools, Floats, Ints
from cear.data import KnowledgeBase
from cear.retrieval import Retriever
from cear.texts import EMBEDDED
from cear.training import Schedule

CONFIG = "reranker.json"  # the settings of a saved re-ranker
STAGE1_INPUTS = "stage 1"  # the group of inputs that is Stage 1's scores

LearnsFrom = Literal["retrieved", "drawn", "nothing"]


class Reranker(Protocol):
    """Anything that scores the candidates of lists anew."""

    def rerank(self, lists: Lists, *, progress: Progress = silent) -> Floats:
        """A score for each candidate, (query, candidate), higher is better; -inf where a list is padded."""


@runtime_checkable
class GroupsInputs(Reranker, Protocol):
    """A re-ranker whose inputs come in groups, so that it can say what each of them does."""

    def input_groups(self) -> tuple[str, ...]:
        """The names of the groups; `STAGE1_INPUTS` for Stage 1's scores."""

    def rerank_without(self, lists: Lists, group: str) -> Floats:
        """The scores, as `rerank` gives them, when every candidate has the average of a group in its place."""


@runtime_checkable
class RereadsEntities(Reranker, Protocol):
    """A re-ranker that reads entities which came after its training, and learns nothing anew."""

    def extended(self, kb: KnowledgeBase, first_new: int, context: Context) -> Reranker:
        """The same over `kb`: its own knowledge base with new entities, from number `first_new` on, and their facts."""


class Trainable(Reranker, Protocol):
    """A re-ranker that learns from lists whose answers are known."""

    @property
    def config(self) -> RerankerConfig:
        """Its settings."""

    @property
    def model(self) -> nn.Module:
        """Its weights."""

    def fit_normalizer(self, features: Floats) -> None:
        """Take the scale of each feature from the lists that it will learn from."""

    def score(self, lists: Lists, features: Floats) -> Tensor:
        """The scores of a batch of lists, (list, candidate), with gradients."""

    def refresh_cache(self, *, progress: Progress = silent) -> None:
        """Bring what is kept of texts up to date with the weights, before they are judged."""

    def lengths(self, lists: Lists) -> Ints:
        """The tokens that each list costs, (list,): what batches are packed by."""

    def shortened(self, lists: Lists) -> Bools:
        """Which lists had to be cut to fit, (list,)."""

    def parameter_groups(self) -> list[dict[str, Any]]:
        """Parameters with their learning rates, for an optimiser."""

    def phases(self) -> Sequence[Phase]:
        """How it is trained: one phase after the other, each kept only if validation is better after it."""

    def save_pretrained(self, folder: Path) -> None:
        """Write what `RerankerConfig.load` needs."""


@dataclass(frozen=True)
class Phase:
    """A phase of training: its name, and what makes of the best re-ranker so far the one that learns in it."""

    name: str
    open: Callable[[Any], Trainable]


@dataclass(frozen=True, eq=False)
class Upstream:
    """What stands before a re-ranker: the knowledge base, and who makes its lists."""

    kb: KnowledgeBase
    extra: Sequence[str] = ()
    """The retrievers beside Stage 1, whose scores the lists hold."""
    fold_retriever: Retriever | None = None
    """Stage 1 of the first fold, which has not seen the facts to learn from: for who reads its vectors."""


class RerankerConfig(Settings, ABC):
    """What every re-ranker is trained by, and what can be done with its settings: a plug-in is a subclass of this.

    Its `kind` is a `Literal` with its name, under which it stands in `RERANKERS` or in the entry points
    `cear.rerankers` of an installed package. Raise `version` whenever the same settings and lists would give another
    re-ranker.
    """

    version: ClassVar[int] = 1
    renamed: ClassVar[dict[str, str]] = {"lists": "lists_per_epoch"}
    added_later: ClassVar[frozenset[str]] = frozenset({"precision"})

    kind: str
    """Which re-ranker."""
    encoder: str = EMBEDDED
    """Who reads the texts: embedded (all-MiniLM-L6-v2), a folder with a Hugging Face encoder, or a name on its hub."""
    dropout: float = Field(default=0.1, ge=0, lt=1)
    """In hidden layers; attention has none, which keeps it fused."""
    loss: Literal["bce", "softmax"] = "softmax"
    """bce judges every candidate on its own, as the paper does; softmax compares them."""
    learning_rate: PositiveFloat = 1e-3
    """At the start; it falls linearly to zero."""
    weight_decay: NonNegativeFloat = 0.01
    """Of AdamW: what every weight shrinks by, times the learning rate, in each step."""
    max_tokens: PositiveInt = 5000
    """Tokens in a batch of training, padding included."""
    lists_per_epoch: PositiveInt | None = None
    """Training lists in an epoch, drawn anew each time; null takes all."""
    epochs: PositiveInt = 10
    """Passes over the training lists, at most."""
    validate_facts: PositiveInt = 500
    """Validation facts, two queries each, that choose the best epoch."""
    patience: PositiveInt = 3
    """Epochs without a better MRR before training stops early."""
    seed: Seed | None = None
    """Of every random choice of Stage 2; null takes that of the run."""
    precision: Precision | None = None
    """Of the products of Stage 2; null takes that of the run. Processors that have bf16 learn and read faster in it."""
    checkpoint_seconds: NonNegativeFloat = Field(
        default=60.0, exclude=True
    )  # in no dump: it does not change the result
    """Seconds between two checkpoints inside an epoch: what a kill may cost."""

    @property
    def schedule(self) -> Schedule:
        """What the training loop reads."""
        return Schedule(self.epochs, 1, self.patience, self.checkpoint_seconds)

    def context(self, run: Context) -> Context:
        """The context of a run for Stage 2, which may have a seed and a precision of its own."""
        seed = run.seed if self.seed is None else self.seed
        return replace(run, seed=seed, precision=self.precision or run.precision)

    @property
    def reads_vectors(self) -> bool:
        """Whether it reads vectors of Stage 1, those of the only fold that was held out."""
        return False

    @property
    def learns_from(self) -> LearnsFrom:
        """Lists that retrievers made, lists that it draws from the training facts, or nothing: it stays as it is."""
        return "retrieved"

    @property
    def draw_settings(self) -> dict[str, Any]:
        """The settings that drawn lists depend on: re-rankers with the same ones share them."""
        return {}

    def draw_lists(self, kb: KnowledgeBase, context: Context) -> Lists:
        """The lists that it learns from where these are drawn: a training answer and other entities, from the seed."""
        raise NotImplementedError(f"kind: {self.kind} learns from lists that are {self.learns_from}.")

    def refuse_lists(self, candidates: CandidatesConfig) -> None:
        """Raise `ValueError` for lists that it must not learn from."""

    def preflight(self, kb: KnowledgeBase, k: int, context: Context) -> None:
        """Raise `ConfigError` now for what could only fail later: an encoder that is missing or too small."""

    @property
    def feature_settings(self) -> dict[str, Any]:
        """The settings that its features depend on: lists with the same ones are described once."""
        return {}

    def only_read(self, features: Floats) -> Bools:
        """Which candidates are there to be read and are left out of the loss, (list, candidate): here none."""
        return np.zeros(features.shape[:2], np.bool_)

    def prepare(self, features: Floats, at_use: Callable[[], Floats]) -> Floats:
        """The features of training lists as it learns from them, here as they are.

        `at_use` gives those of validation lists, whose retrievers have seen all training facts.
        """
        del at_use
        return features

    @abstractmethod
    def features_of(self, lists: Lists, seen: KnowledgeBase) -> Floats:
        """What it reads beside texts, (list, candidate, feature), from the lists and the training facts of `seen`."""

    @abstractmethod
    def build(self, upstream: Upstream, context: Context) -> Trainable:
        """A fresh re-ranker, before its training."""

    @abstractmethod
    def load(self, upstream: Upstream, folder: Path, context: Context) -> Reranker:
        """The re-ranker that `Trainable.save_pretrained` left in a folder."""

    def load_int8(self, upstream: Upstream, folder: Path, context: Context) -> Reranker:
        """The same with weights of 8 bits, where it has such."""
        del upstream, folder, context
        raise ConfigError(f"int8 is for the encoder of `kind: sequence`; this is `kind: {self.kind}`. Leave it out.")
