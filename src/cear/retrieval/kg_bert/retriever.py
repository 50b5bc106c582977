"""KG-BERT as a retriever: it reads every entity in the place that is asked for."""

from __future__ import annotations

import time

import numpy as np
import torch
from torch import Tensor

from cear.core.blocks import blocks
from cear.core.context import Context
from cear.core.progress import Progress, silent
from cear.core.types import Floats, Ints, Queries
from cear.data import KnowledgeBase
from cear.retrieval.kg_bert.reader import FactReader, facts_of

_BLOCK = 2**16  # facts whose sequences are planned together
_TIMED = 256  # facts that are read to tell how long one takes


class KgBert:
    """The logit of ⟨s, r, o⟩ being true, for every entity: the published ranker, which takes days to rank them all."""

    def __init__(self, kb: KnowledgeBase, reader: FactReader) -> None:
        self.n_entities, self._n_relations = kb.n_entities, kb.n_relations
        self.reader = reader

    def score_all(self, queries: Queries, among: Ints | None = None) -> Tensor:
        """The logit of every entity, or of those in `among`, as the answer: (query, entity)."""
        columns = np.arange(self.n_entities) if among is None else among
        every = np.broadcast_to(columns, (len(queries), len(columns)))
        parts = blocks(len(queries), _BLOCK // max(len(columns), 1))
        scores = (self.score_candidates(queries[part], every[part]) for part in parts)
        return torch.cat([torch.zeros(0, len(columns)), *scores])

    def score_candidates(self, queries: Queries, entities: Ints) -> Tensor:
        """The logit of the entities in each query's row, (query, candidate)."""
        asked = queries[np.repeat(np.arange(len(queries)), entities.shape[1])]
        logits = self.reader.read(facts_of(asked, entities.reshape(-1), self._n_relations))
        return torch.from_numpy(logits).view(entities.shape)

    def extended(self, kb: KnowledgeBase, first_new: int, context: Context) -> KgBert:
        """The same, which reads the texts of new entities too."""
        del first_new, context
        return KgBert(kb, self.reader.extended(kb))

    def judge(self, facts: Ints, *, progress: Progress = silent) -> Floats:
        """The probability of each fact (s, r, o), (fact, 3) -> (fact,)."""
        logits = torch.from_numpy(self.reader.read(facts, progress=progress))
        return np.asarray(logits.reshape(-1).double().sigmoid())

    def seconds_a_score(self) -> float:
        """The seconds that it takes to read one fact here, measured on a few that are drawn."""
        rng = np.random.default_rng(0)
        limits = (self.n_entities, self._n_relations, self.n_entities)
        facts = np.stack([rng.integers(limit, size=_TIMED) for limit in limits], axis=1)
        self.reader.read(facts[: _TIMED // 4])  # the first is always slower
        start = time.perf_counter()
        self.reader.read(facts)
        return (time.perf_counter() - start) / _TIMED
