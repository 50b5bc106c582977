"""What a retriever is: it ranks all entities for a query. And what a plug-in is that makes one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

from torch import Tensor

from cear.core.context import Context
from cear.core.progress import Progress, silent
from cear.core.settings import Settings
from cear.core.types import Candidates, Ints, Queries
from cear.data import KnowledgeBase, KnownAnswers
from cear.training import State

if TYPE_CHECKING:
    from cear.retrieval.rules.reasons import FiredRule  # rules are a plug-in, and plug-ins import this module
    from cear.retrieval.scorer import DotProductScorer


class Retriever(Protocol):
    """Anything that scores all or some entities as the answer of a query: a `Scorer`, rules, or yours."""

    @property
    def n_entities(self) -> int:
        """The number of entities that are ranked."""

    def score_all(self, queries: Queries, among: Ints | None = None) -> Tensor:
        """The score of every entity, or of those in `among`, as the answer: (query, entity), all finite."""

    def score_candidates(self, queries: Queries, entities: Ints) -> Tensor:
        """The score of the entities in each query's row, (query, candidate)."""


@runtime_checkable
class SearchesItself(Retriever, Protocol):
    """A retriever that finds its best entities without scoring all of them; `cear.retrieval.top_k` leaves it to it."""

    def top_k(
        self, queries: Queries, k: int, *, drop: KnownAnswers | None = None, progress: Progress = silent
    ) -> Candidates:
        """The k best entities of each query, exactly; those of `drop` left out."""


@runtime_checkable
class SlowToRank(Retriever, Protocol):
    """A retriever that may need days to rank all entities: whoever wants that is told how long it takes."""

    def seconds_a_score(self) -> float:
        """The seconds that one entity of one query takes here and now, measured on a few."""


@runtime_checkable
class GivesReasons(Retriever, Protocol):
    """A retriever that can say why: which rules speak for an answer."""

    def reasons(self, entity: int, relation: int, answer: int, n: int | None = None) -> Sequence[FiredRule]:
        """The n rules that speak most for `answer` as the answer of ⟨entity, relation, ?⟩, or all of them."""


@runtime_checkable
class TakesNewEntities(Retriever, Protocol):
    """A retriever that ranks entities which came after its training, and learns nothing else anew."""

    def extended(self, kb: KnowledgeBase, first_new: int, context: Context) -> Retriever:
        """The same over `kb`, its own knowledge base with more entities, from number `first_new` on, and their facts.

        Scores of old entities stay what they were wherever the new facts do not speak of them.
        """


class Holders(Protocol):
    """Whoever holds the entities of a retriever in parts, where no process has room for all of them."""

    def vectors(self, scorer: DotProductScorer, path: Path) -> Retriever:
        """The scorer, its best entities found by who holds a slice of the rows in this file."""

    def trees(self, folder: Path) -> Retriever:
        """The label trees in a folder, searched by who holds some of their subtrees."""


@dataclass(frozen=True, eq=False)
class Fitted:
    """A retriever that has learned, and how that went."""

    retriever: Retriever
    training: State


class RetrieverConfig(Settings, ABC):
    """The settings of a retriever, and what can be done with them: a plug-in is a subclass of this.

    Its `model` is a `Literal` with its name, under which it stands in `RETRIEVERS` or in the entry points
    `cear.retrievers` of an installed package. `version` is that of its code: raise it whenever the same settings and
    facts would give another retriever, and nothing that was kept of the old one is taken for the new.
    """

    version: ClassVar[int] = 1
    data_parallel: ClassVar[bool] = False
    """Whether `fit` shares its work with other processes of the same run (`cear.training.fit` does)."""
    renamed: ClassVar[Mapping[str, str]] = {
        "init_scale": "embedding: {scale: …}",
        "lstm": "model: complex with embedding: {kind: lstm, …}",
        **dict.fromkeys(("rules", "text", "extreme_text"), "its settings stand beside `model`, without a group"),
    }
    renamed_tags: ClassVar[Mapping[str, str]] = {"complex_lstm": "model: complex with embedding: {kind: lstm}"}
    model: str
    """Which retriever."""

    def preflight(self, kb: KnowledgeBase, context: Context) -> None:
        """Raise `ConfigError` now for what could only fail later: an encoder that is missing, a size that cannot be."""

    @abstractmethod
    def fit(self, kb: KnowledgeBase, folder: Path, context: Context) -> Fitted:
        """Learn from the training facts, keep the result in `folder`; continues what is there.

        Validation facts choose the best weights. Test facts are never read.
        """

    @abstractmethod
    def load(self, kb: KnowledgeBase, folder: Path, context: Context) -> Retriever:
        """The retriever that `fit` left in a folder."""

    def load_in_parts(self, kb: KnowledgeBase, folder: Path, context: Context, holders: Holders) -> Retriever:
        """The same, which finds the same, its entities held by others; whole where they cannot be cut."""
        del holders
        return self.load(kb, folder, context)

    def brought(self) -> str | None:
        """The digest of what the user brings beside the knowledge base, such as a trained model; None for nothing.

        It is part of what the retriever is: files with another content make another one.
        """
        return None

    def on_fold(self, epochs: int | None) -> RetrieverConfig:
        """Who learns without a fold: the same, for so many epochs if it has any, or who stands in for it."""
        if epochs is None or "epochs" not in type(self).model_fields:
            return self
        return self.model_copy(update={"epochs": epochs})

    def details(self, training: State) -> dict[str, Any]:
        """What a table says about it."""
        del training
        return {}


def learned(best: float, *, epochs: int, seconds: float) -> State:
    """How a training went whose result was looked at once, at its end."""
    history: list[dict[str, float]] = [{"epoch": epochs, "valid": best}]
    return State(epoch=epochs, best=best, best_epoch=epochs, seconds=seconds, done=True, history=history)
