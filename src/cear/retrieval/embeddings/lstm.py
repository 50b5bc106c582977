"""Names read word by word: the vector of an entity or relation is the last state of an LSTM (Broscheit et al. 2020).

A name that no training fact has gets a vector like any other, so that nothing needs to have been seen. With
`model: complex` this is ComplEx-LSTM.
"""

from __future__ import annotations

import copy
from typing import Literal, Self

import numpy as np
import torch
from pydantic import Field, PositiveFloat, PositiveInt
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence

from cear.core.blocks import blocks
from cear.core.context import Context
from cear.core.devices import as_it_can, device_of, tensor
from cear.core.types import Ints
from cear.data import KnowledgeBase
from cear.retrieval.embeddings.embedding import EmbeddingConfig, Embeddings, Inverse, Start, Vectors
from cear.retrieval.embeddings.names import UNKNOWN, Names, Words
from cear.retrieval.embeddings.rows import Rows

_BLOCK = 4096  # names that are encoded at a time


class LstmConfig(EmbeddingConfig):
    """Vectors of names, read word by word: ComplEx-LSTM, where the scorer is ComplEx."""

    kind: Literal["lstm"] = "lstm"
    """Which embedding."""
    tokens: PositiveInt = 10
    """A name is cut to so many words."""
    min_count: PositiveInt = 2
    """A word that the training facts use less often shares the vector of unknown words."""
    dropout: float = Field(default=0.1, ge=0, lt=1)
    """Of the words' vectors and of the names', while training."""
    scale: PositiveFloat = 1e-3
    """Standard deviation of fresh vectors of words."""

    def build(self, kb: KnowledgeBase, context: Context) -> LstmEmbeddings:
        """Readers of the names of a knowledge base."""
        names = Names.of(kb, tokens=self.tokens, min_count=self.min_count)
        return LstmEmbeddings(names, self, seed=context.seed)


class LstmEmbeddings(Embeddings):
    """One LSTM over the words of entities, one over those of relations."""

    def __init__(self, names: Names, config: LstmConfig, *, seed: int = 0) -> None:
        self.n_entities, self.n_relations, self.seed = len(names.entities), len(names.relations) // 2, seed
        self._names, self._config, self._generator = names, config, torch.Generator().manual_seed(seed)

    def entities(self, width: int, *, start: Start | None = None) -> MentionEncoder:
        """The last state over the words of each entity."""
        del start
        return MentionEncoder(self._names.entities, width, self._config, self._generator)

    def relations(self, width: int, *, inverse: Inverse, start: Start | None = None) -> PhraseEncoder:
        """The last state over the words of each relation; backwards, the inverse of what a mark and the words give."""
        del start
        return PhraseEncoder(self._names.relations, width, self._config, self._generator, inverse)


class NameEncoder(Vectors):
    """The last state of an LSTM over the words of a name, (name, width)."""

    known: Tensor  # (word,); files say which words are known, for that is learned; names stay in the knowledge base

    def __init__(self, words: Words, width: int, config: LstmConfig, generator: torch.Generator) -> None:
        super().__init__()
        self.word = Rows.normal(len(words.known), width, scale=config.scale, generator=generator)
        self.lstm = nn.LSTM(width, width, batch_first=True)
        with torch.no_grad():
            for weight in self.lstm.parameters():
                weight.uniform_(-(width**-0.5), width**-0.5, generator=generator)
        self.dropout = nn.Dropout(config.dropout)
        self.register_buffer("known", torch.tensor(words.known))  # its own: a scorer may read names twice
        self._words, self._cut = words, config.tokens

    def forward(self, index: Ints | Tensor | None) -> Tensor:
        """The vectors of these names, each read once, or of all of them for None."""
        if index is None:
            return self._read(np.arange(len(self._words)))
        names, place = np.unique(np.asarray(index), return_inverse=True)
        return self._read(names)[tensor(place.reshape(np.shape(index)), device_of(self))]

    def _read(self, names: Ints) -> Tensor:
        return torch.cat([self._last_states(names[block]) for block in blocks(len(names), _BLOCK)])

    def _last_states(self, names: Ints) -> Tensor:
        lengths = self._words.lengths[names]
        words = tensor(self._words.tokens[names, : int(lengths.max())], device_of(self))
        vectors = self.dropout(self.word(words.where(self.known[words], UNKNOWN)))  # (name, place, width)
        packed = pack_padded_sequence(vectors, torch.from_numpy(lengths), batch_first=True, enforce_sorted=False)
        with as_it_can(vectors.device):
            _, (last, _) = self.lstm(packed)
        states: Tensor = self.dropout(last[-1].float())  # whatever precision products are computed in
        return states


class MentionEncoder(NameEncoder):
    """The vectors of entities. While nothing is learned they are kept, all of them.

    Weights change in training and when others are loaded; both forget what was kept.
    """

    def __init__(self, words: Words, width: int, config: LstmConfig, generator: torch.Generator) -> None:
        super().__init__(words, width, config, generator)
        self._kept: Tensor | None = None
        self.register_load_state_dict_post_hook(_forget)  # type: ignore[no-untyped-call]

    def train(self, mode: bool = True) -> Self:
        """Switch dropout on or off, and forget."""
        self._kept = None
        return super().train(mode)

    def forward(self, index: Ints | Tensor | None) -> Tensor:
        """The vectors of these names, or of all of them for None."""
        if self.training or torch.is_grad_enabled():
            return super().forward(index)
        if self._kept is None:
            self._kept = super().forward(None)
        return self._kept if index is None else self._kept[tensor(index, self._kept.device)]

    def extended(self, kb: KnowledgeBase, first_new: int, context: Context) -> MentionEncoder:
        """The same reader, with the names of new entities too: nothing is learned, a name is read."""
        del context
        grown = copy.deepcopy(self).eval()  # which forgets what was kept
        grown._words = self._words.extended(kb.entities.table["name"], first_new, tokens=self._cut)
        return grown


def _forget(encoder: MentionEncoder, _: object) -> None:
    """Drop what an encoder kept; a hook gets the module itself, so that a copy forgets its own."""
    encoder._kept = None


class PhraseEncoder(NameEncoder):
    """The vectors of relations; those of the second half, which ask backwards, are inverses."""

    def __init__(
        self, words: Words, width: int, config: LstmConfig, generator: torch.Generator, inverse: Inverse
    ) -> None:
        super().__init__(words, width, config, generator)
        self._inverse = inverse

    def _last_states(self, names: Ints) -> Tensor:
        vectors = super()._last_states(names)
        backwards = tensor(names >= len(self._words) // 2, vectors.device).unsqueeze(-1)
        return torch.where(backwards, self._inverse(vectors), vectors)
