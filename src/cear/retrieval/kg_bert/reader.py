"""A language model that reads facts: `[CLS] s [SEP] r [SEP] o [SEP]`, put together from pieces made once."""

from __future__ import annotations

import copy
from typing import ClassVar, Self

import numpy as np
from torch import Tensor

from cear.core.context import Context
from cear.core.devices import device_of
from cear.core.errors import ConfigError
from cear.core.progress import Progress, silent
from cear.core.types import Floats, Ints, Queries, Ragged
from cear.data import KnowledgeBase
from cear.retrieval.kg_bert.config import FactForms
from cear.retrieval.kg_bert.model import SequenceClassifier
from cear.texts import (
    SpecialTokens,
    SurfaceForms,
    TokenBatch,
    load_encoder,
    positions,
    read_in_batches,
    special_tokens,
    surface_forms,
    surround,
)


class FactReader:
    """Reads ⟨s, r, o⟩ as one sequence, always in this order; subject and object share a segment."""

    segments: ClassVar[tuple[int, ...]] = (0, 1, 0)  # of subject, relation and object

    def __init__(
        self,
        kb: KnowledgeBase,
        forms: FactForms,
        context: Context,
        *,
        encoder: str,
        dropout: float,
        outputs: int = 1,
    ) -> None:
        self._precision, self._n_entities = context.precision, kb.n_entities
        language_model, self.tokenizer = load_encoder(
            encoder, dropout=dropout, seed=context.seed, download=context.download
        )
        _refuse_few_positions(encoder, positions(language_model), forms.form_tokens, len(self.segments))
        model = SequenceClassifier(language_model, outputs=outputs, dropout=dropout, seed=context.seed)
        self.model = model.to(context.device).eval()
        self._forms = forms
        self._read_names(kb)

    def extended(self, kb: KnowledgeBase) -> Self:
        """The same reader of another knowledge base's names, such as one with more entities."""
        grown = copy.copy(self)
        grown._n_entities = kb.n_entities
        grown._read_names(kb)
        return grown

    def _read_names(self, kb: KnowledgeBase) -> None:
        special, forms = special_tokens(self.tokenizer), self._forms
        self._pad = special.pad
        self._pieces = _pieces(surface_forms(kb, self.tokenizer, width=forms.form_tokens, text=forms.text), special)

    def lengths(self, facts: Ints) -> Ints:
        """The number of tokens of each fact, (fact,)."""
        lengths: Ints = self._pieces.counts[self._rows(facts)].sum(axis=1)
        return lengths

    def logits(self, facts: Ints) -> Tensor:
        """What the network says of a batch of facts, (fact, output), with gradients when it trains."""
        pieces = self._pieces.take(self._rows(facts).reshape(-1))
        batch = TokenBatch.of(pieces, self.segments, pad=self._pad, device=device_of(self.model))
        logits: Tensor = self.model(batch)
        return logits

    def read(self, facts: Ints, *, progress: Progress = silent) -> Floats:
        """What the network says of any number of facts, (fact, output); a fact does not depend on its batch."""
        return read_in_batches(
            self.lengths(facts),
            lambda rows: self.logits(facts[rows]),
            device=device_of(self.model),
            precision=self._precision,
            progress=progress,
        )

    def _rows(self, facts: Ints) -> Ints:
        """The pieces of each fact, (fact, piece)."""
        s, r, o = facts.T
        return np.stack([s, 2 * self._n_entities + r, self._n_entities + o], axis=1)


class EndsReader(FactReader):
    """Reads the ends of ⟨s, r, o⟩ without the relation: `[CLS] s [SEP] o [SEP]`, in a segment each."""

    segments: ClassVar[tuple[int, ...]] = (0, 1)

    def _rows(self, facts: Ints) -> Ints:
        s, _, o = facts.T
        return np.stack([s, self._n_entities + o], axis=1)


def facts_of(queries: Queries, entities: Ints, n_relations: int) -> Ints:
    """⟨s, r, o⟩ of each query and the entity in its row, (query, 3): of a head query the entity is the subject.

    >>> facts_of(Queries(np.array([4, 5]), np.array([1, 3])), np.array([8, 9]), 2).tolist()
    [[4, 1, 8], [9, 1, 5]]
    """
    asks_head = queries.relation >= n_relations
    subject = np.where(asks_head, entities, queries.entity)
    return np.stack([subject, queries.relation % n_relations, np.where(asks_head, queries.entity, entities)], axis=1)


def _pieces(forms: SurfaceForms, special: SpecialTokens) -> Ragged:
    """Subjects `[CLS] s [SEP]`, then objects `o [SEP]`, then relations `r [SEP]`."""
    start, end, nothing = np.array([special.start]), np.array([special.separator]), np.zeros(0, np.int64)
    return Ragged.concat(
        [
            surround(forms.entities, start, end),
            surround(forms.entities, nothing, end),
            surround(forms.relations, nothing, end),
        ]
    )


def _refuse_few_positions(encoder: str, limit: int, form_tokens: int, parts: int) -> None:
    if parts * (form_tokens + 1) + 1 > limit:
        raise ConfigError(
            f"{encoder!r} reads {limit} tokens, and {parts} texts of form_tokens: {form_tokens} with their separators "
            f"may have {parts * (form_tokens + 1) + 1}. Set form_tokens to at most {(limit - 1) // parts - 1}."
        )
