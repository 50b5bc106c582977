"""The contract of embeddings: vectors of a knowledge base's entities and relations, of any width a scorer asks for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from cear.core.context import Context
from cear.core.settings import Settings
from cear.core.types import Ints
from cear.data import KnowledgeBase

Start = Callable[[int, int, torch.Generator], Tensor]
"""Fresh numbers for (rows, width), drawn from a generator."""
Inverse = Callable[[Tensor], Tensor]
"""What the vector of a relation is when the relation is asked backwards."""


class Vectors(nn.Module):
    """A vector for each of many things, (thing, width); the place where integers become tensors."""

    if TYPE_CHECKING:  # nn.Module is called with anything and returns anything; ours is not

        def __call__(self, index: Ints | Tensor | None) -> Tensor:
            """The vectors of these things, or of all of them for None."""

    def extended(self, kb: KnowledgeBase, first_new: int, context: Context) -> Vectors:
        """The vectors of the entities of `kb`: ours, and then those of the new ones, from number `first_new` on."""
        raise NotImplementedError(f"{type(self).__name__} has no vectors for new entities.")


class Embeddings(ABC):
    """Makes the vectors of a knowledge base's entities and relations."""

    n_entities: int
    n_relations: int
    seed: int
    """Of fresh weights: a scorer that has weights beside its vectors draws them from it, too."""

    @abstractmethod
    def entities(self, width: int, *, start: Start | None = None) -> Vectors:
        """A vector of this width for each entity; `start` draws fresh rows, where rows are drawn."""

    @abstractmethod
    def relations(self, width: int, *, inverse: Inverse, start: Start | None = None) -> Vectors:
        """A vector for each relation r and, as r + R, for its reciprocal; `inverse` makes one of a name read again."""


class EmbeddingConfig(Settings, ABC):
    """The settings of an embedding; its `kind` is a `Literal` with its name."""

    def preflight(self, kb: KnowledgeBase, context: Context) -> None:
        """Raise `ConfigError` now for what could only fail later."""

    @abstractmethod
    def build(self, kb: KnowledgeBase, context: Context) -> Embeddings:
        """What makes the vectors of a knowledge base."""
