"""ComplEx-LSTM (Broscheit et al. 2020): ComplEx whose vectors are read from names, word by word.

A name that no training fact has gets a vector like any other, so that nothing needs to have been seen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence

from cear.core.types import Ints
from cear.retrieval.complex import ComplExForm, conjugate
from cear.retrieval.config import Stage1Config
from cear.retrieval.names import UNKNOWN, Names, Words
from cear.retrieval.scorer import Embedding

_BLOCK = 4096  # names that are encoded at a time


class ComplExLSTM(ComplExForm):
    """Re⟨s, r, ō⟩ of the last states of two LSTMs, one over the words of entities, one over those of relations.

    A relation backwards is the conjugate of what its words, after a mark, are read as. With the mark unlearned that is
    ComplEx's own inverse.
    """

    def __init__(self, names: Names, config: Stage1Config, generator: torch.Generator) -> None:
        super().__init__(len(names.entities), len(names.relations) // 2)
        self.entity = MentionEncoder(names.entities, config, generator)
        self.relation = PhraseEncoder(names.relations, config, generator)


class NameEncoder(nn.Module):
    """The last state of an LSTM over the words of a name, (name, 2 rank)."""

    def __init__(self, words: Words, config: Stage1Config, generator: torch.Generator) -> None:
        super().__init__()
        width = 2 * config.rank
        self.word = Embedding(len(words.known), width, scale=config.init_scale, generator=generator)
        self.lstm = nn.LSTM(width, width, batch_first=True)
        with torch.no_grad():
            for weight in self.lstm.parameters():
                weight.uniform_(-(width**-0.5), width**-0.5, generator=generator)
        self.dropout = nn.Dropout(config.lstm.dropout)
        # Files say which words are known, for that is learned; the names themselves stay in the knowledge base.
        self.known: Tensor
        self.register_buffer("known", torch.from_numpy(words.known))
        self._tokens, self._lengths = torch.from_numpy(words.tokens), torch.from_numpy(words.lengths)

    if TYPE_CHECKING:  # as in Embedding

        def __call__(self, index: Tensor | Ints | None) -> Tensor:
            """The vectors of these names."""

    def forward(self, index: Tensor | Ints | None) -> Tensor:
        """The vectors of these names, each read once, or of all of them for None."""
        if index is None:
            return self._read(torch.arange(len(self._lengths)))
        names, place = torch.unique(torch.as_tensor(index), return_inverse=True)
        return self._read(names)[place]

    def _read(self, names: Tensor) -> Tensor:
        return torch.cat([self._last_states(block) for block in torch.split(names, _BLOCK)])

    def _last_states(self, names: Tensor) -> Tensor:
        lengths = self._lengths[names]
        words = self._words(names)[:, : int(lengths.max())]
        vectors = self.dropout(self.word(words))  # (name, place, width)
        packed = pack_padded_sequence(vectors, lengths, batch_first=True, enforce_sorted=False)
        _, (last, _) = self.lstm(packed)
        states: Tensor = self.dropout(last[-1])
        return states

    def _words(self, names: Tensor) -> Tensor:
        """The numbers of the words of these names, UNKNOWN for those that are not known, (name, place)."""
        words = self._tokens[names]
        return words.where(self.known[words], UNKNOWN)


class MentionEncoder(NameEncoder):
    """The vectors of entities. While nothing is learned they are kept, all of them.

    Weights change in training and when others are loaded; both forget what was kept.
    """

    def __init__(self, words: Words, config: Stage1Config, generator: torch.Generator) -> None:
        super().__init__(words, config, generator)
        self._kept: Tensor | None = None
        self.register_load_state_dict_post_hook(lambda *_: self._forget())  # type: ignore[no-untyped-call]

    def train(self, mode: bool = True) -> Self:
        """Switch dropout on or off, and forget."""
        self._forget()
        return super().train(mode)

    def forward(self, index: Tensor | Ints | None) -> Tensor:
        """The vectors of these names, or of all of them for None."""
        if self.training or torch.is_grad_enabled():
            return super().forward(index)
        if self._kept is None:
            self._kept = super().forward(None)
        return self._kept if index is None else self._kept[torch.as_tensor(index)]

    def _forget(self) -> None:
        self._kept = None


class PhraseEncoder(NameEncoder):
    """The vectors of relations; those of the second half, which ask backwards, are conjugates."""

    def _last_states(self, names: Tensor) -> Tensor:
        vectors = super()._last_states(names)
        backwards = (names >= len(self._lengths) // 2).unsqueeze(-1)
        return torch.where(backwards, conjugate(vectors), vectors)
