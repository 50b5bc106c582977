"""The paper's re-ranker behind the contract of Stage 2."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from cear.candidates import Lists
from cear.core.context import Context
from cear.core.devices import device_of, tensor
from cear.core.tensors import write_tensors
from cear.core.types import NO_ENTITY, Bools, Floats, Ints, Queries
from cear.data import KnowledgeBase
from cear.reranking.learned import LearnedReranker
from cear.reranking.sequence.config import SequenceSettings
from cear.reranking.sequence.features import sequence_features
from cear.reranking.sequence.model import CrossEntityModel
from cear.reranking.sequence.sequences import Assembler, SequenceBatch
from cear.texts import load_encoder, positions, special_tokens, surface_forms

HEAD, ENCODER = "head.safetensors", "encoder"


class SequenceReranker(LearnedReranker):
    """Reads the query and all candidates of a list in one sequence."""

    read_tokens: int | None = 1000  # what stays in the processor's cache is read a tenth faster
    config: SequenceSettings
    model: CrossEntityModel

    def __init__(self, kb: KnowledgeBase, config: SequenceSettings, context: Context, *, extra: int = 0) -> None:
        """`extra` retrievers stand beside Stage 1."""
        language_model, self.tokenizer = load_encoder(
            config.encoder, init=config.init, dropout=config.dropout, seed=context.seed, download=context.download
        )
        super().__init__(config, CrossEntityModel(language_model, config, seed=context.seed, extra=extra), context)
        self._kb, self._positions = kb, positions(language_model)
        self._assembler = self._assembler_of(kb)

    def extended(self, kb: KnowledgeBase, first_new: int, context: Context) -> Self:
        """The same, which reads the texts of new entities and knows their facts too."""
        del first_new, context
        grown = copy.copy(self)
        grown._kb, grown._assembler = kb, self._assembler_of(kb)
        return grown

    def _assembler_of(self, kb: KnowledgeBase) -> Assembler:
        config, special = self.config, special_tokens(self.tokenizer)
        forms = surface_forms(kb, self.tokenizer, width=config.form_tokens, text=config.text)
        return Assembler(forms, special, width=config.form_tokens, positions=self._positions)

    def features(self, lists: Lists) -> Floats:
        """What retrievers and all training facts say of each candidate, (list, candidate, feature)."""
        return sequence_features(self.config, lists, self._kb)

    def fit_normalizer(self, features: Floats) -> None:
        """Take the scale of raw scores from the lists that it will learn from; log-probabilities have one scale."""
        self.model.fit_normalizer(torch.from_numpy(features).flatten(0, 1))

    def score(self, lists: Lists, features: Floats) -> Tensor:
        """The scores of a batch of lists, (list, candidate), with gradients when the model trains."""
        device, order = device_of(self.model), self._order(lists)
        entities = np.take_along_axis(lists.candidates.entities, order, axis=1)
        seen = tensor(np.take_along_axis(features, order[..., None], axis=1), device)
        scores: Tensor = self.model(self._assemble(lists.queries, entities, device), self._per_sequence(seen))
        back = tensor(np.argsort(order, axis=1), device)
        return scores.view(entities.shape).gather(1, back)

    def lengths(self, lists: Lists) -> Ints:
        """The tokens that each list costs, (list,): what batches are packed by."""
        entities = lists.candidates.entities
        if self.config.attention == "cross":
            return self._assembler.lengths(lists.queries, entities)
        singles = self._assembler.lengths(*_one_at_a_time(lists.queries, entities)).reshape(entities.shape)
        longest: Ints = singles.max(axis=1)
        return longest * lists.candidates.k

    def shortened(self, lists: Lists) -> Bools:
        """Which lists have surface forms cut below the configured tokens, because they would not fit, (list,)."""
        return self._assembler.widths(lists.queries, lists.candidates.entities) < self.config.form_tokens

    def parameter_groups(self) -> list[dict[str, Any]]:
        """One learning rate for the encoder and one for the head."""
        head = [parameter for name, parameter in self.model.named_parameters() if not name.startswith("encoder.")]
        return [
            {"params": [*self.model.encoder.parameters()], "lr": self.config.learning_rate},
            {"params": head, "lr": self.config.head_learning_rate},
        ]

    def save_pretrained(self, folder: Path) -> None:
        """Write encoder, tokenizer, head and settings: all that loading needs beside the KB."""
        self.model.encoder.save_pretrained(folder / ENCODER)
        self.tokenizer.save_pretrained(folder / ENCODER)
        head = {key: value for key, value in self.model.state_dict().items() if not key.startswith("encoder.")}
        write_tensors(folder / HEAD, head)
        self.save_settings(folder)

    def _order(self, lists: Lists) -> Ints:
        """Where each candidate stands in the sequence, (list, candidate): Stage 1's order, or one drawn per list."""
        entities = lists.candidates.entities
        if self.config.order == "stage1":
            return np.broadcast_to(np.arange(lists.candidates.k), entities.shape).copy()
        # A function of the query alone, so that a list has one order whenever it is read; pads stay last.
        draws = [
            np.random.default_rng([self._seed, int(e), int(r)]).random(lists.candidates.k)
            for e, r in zip(lists.queries.entity, lists.queries.relation, strict=True)
        ]
        return np.argsort(np.where(entities == NO_ENTITY, 2.0, np.array(draws)), axis=1, kind="stable")

    def _assemble(self, queries: Queries, entities: Ints, device: torch.device) -> SequenceBatch:
        if self.config.attention == "independent":
            queries, entities = _one_at_a_time(queries, entities)
        return self._assembler.assemble(queries, entities, device)

    def _per_sequence(self, features: Tensor) -> Tensor:
        return features.flatten(0, 1).unsqueeze(1) if self.config.attention == "independent" else features


def _one_at_a_time(queries: Queries, entities: Ints) -> tuple[Queries, Ints]:
    """Each list as k lists of one candidate."""
    k = entities.shape[1]
    return Queries(np.repeat(queries.entity, k), np.repeat(queries.relation, k)), entities.reshape(-1, 1)
