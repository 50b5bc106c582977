"""KG-BERT behind the contract of Stage 2."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Self

from torch import Tensor

from cear.core.context import Context
from cear.core.tensors import write_tensors
from cear.core.types import Ints, Queries
from cear.data import KnowledgeBase
from cear.reranking.kg_bert.config import KgBertSettings
from cear.reranking.one_by_one import OneByOne
from cear.retrieval import FactReader, facts_of

ENCODER, HEAD = "encoder", "head.safetensors"


class KgBertReranker(OneByOne):
    """Reads ⟨s, r, o⟩ of each candidate as one sequence; the candidate of a head query is the subject."""

    def __init__(self, kb: KnowledgeBase, config: KgBertSettings, context: Context) -> None:
        self._n_relations = kb.n_relations
        self.reader = FactReader(kb, config, context, encoder=config.encoder, dropout=config.dropout)
        super().__init__(config, self.reader.model, context)

    def extended(self, kb: KnowledgeBase, first_new: int, context: Context) -> Self:
        """The same, which reads the texts of new entities too."""
        del first_new, context
        grown = copy.copy(self)
        grown.reader = self.reader.extended(kb)
        return grown

    def pair_lengths(self, queries: Queries, entities: Ints) -> Ints:
        """The tokens of each fact, (pair,)."""
        return self.reader.lengths(facts_of(queries, entities, self._n_relations))

    def pair_logits(self, queries: Queries, entities: Ints) -> Tensor:
        """The logit of each fact being true, (pair,)."""
        return self.reader.logits(facts_of(queries, entities, self._n_relations)).squeeze(-1)

    def save_model(self, folder: Path) -> None:
        """Write encoder, tokenizer and head."""
        self.reader.model.encoder.save_pretrained(folder / ENCODER)
        self.reader.tokenizer.save_pretrained(folder / ENCODER)
        write_tensors(folder / HEAD, dict(self.reader.model.head.state_dict()))
