"""A bi-encoder: the query ⟨s, r, ?⟩ and every entity become vectors of their texts; near ones belong together.

In the manner of SimKGC (Wang et al. 2022). Nothing belongs to one entity alone, so that an entity without any fact
is scored like every other, by what is written about it.
"""

from __future__ import annotations

import copy
import math
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn

from cear.core.context import Context
from cear.core.devices import tensor
from cear.core.types import NO_ENTITY, Ints, Queries
from cear.data import KnowledgeBase
from cear.retrieval.scorer import Scorer
from cear.retrieval.text.config import TextSettings
from cear.retrieval.text.words import Directions, WordVectors, correction
from cear.texts import KeptVectors, TunedVectors, texts

if TYPE_CHECKING:
    from cear.retrieval.text.pieces import Pieces

_SCALE, _MAX_SCALE = 20.0, 100.0  # 1 / temperature: where SimKGC starts, and where CLIP stops


class TextScorer(Scorer):
    """cos(query, entity) / τ with a learned temperature τ (Wang et al. 2022), and the same of words if there are any.

    query = s + f(s, r's text, r, s r) with a learned r for either direction of each relation, entity = e + W e, both
    at unit length, s and e being vectors of texts. f and W start at zero: untrained, an answer is what reads like the
    subject. f has a hidden layer; W has none, for a step compares many more entities than queries.

    A text is nearest to itself, and few relations lead back to their subject: as its own answer a subject has a learned
    number more, one for either direction of each relation, which starts at minus what a text scores with itself.
    """

    _relations: Tensor

    def __init__(
        self,
        texts: KeptVectors | TunedVectors,
        n_entities: int,
        relations: Tensor,
        config: TextSettings,
        *,
        pieces: Pieces | None = None,
        seed: int = 0,
    ) -> None:
        """`texts` has the vectors of entities, `relations` are those of relations; `pieces` are those of words."""
        super().__init__(n_entities, len(relations))
        width = relations.shape[1]
        self.texts, self._cut = texts, config.tokens
        self.register_buffer("_relations", relations.repeat(2, 1), persistent=False)  # a reciprocal reads alike
        self._gain = math.sqrt(width)  # makes a coordinate of a unit vector about one
        self.relation = Directions.drawn(len(relations), width, generator=torch.Generator().manual_seed(seed))
        self.query_correction = correction(4 * width, width, config, seed=seed)
        with torch.random.fork_rng(devices=[]):  # what it draws is thrown away
            self.entity_correction = nn.Linear(width, width, bias=False)
        nn.init.zeros_(self.entity_correction.weight)
        self.words: WordVectors | None = None
        if pieces is not None:
            self.words = WordVectors(pieces, len(relations), width, config, seed=seed)
        self.log_scale = nn.Parameter(torch.tensor(math.log(_SCALE)))
        itself = _SCALE if self.words is None else _SCALE + self.words.start
        self.itself = Directions(torch.full((len(relations), 1), -itself))
        self._every: Tensor | None = None  # the vectors of all entities, while the weights stay as they are
        self.register_load_state_dict_post_hook(_forget)  # type: ignore[no-untyped-call]

    def query_vectors(self, queries: Queries) -> Tensor:
        """The subject's text vector, corrected for the relation, over the temperature; then that of its words."""
        relations = tensor(queries.relation, self.device)
        r, s = self.relation(relations), self.texts(tensor(queries.entity, self.device))
        wide = self._gain * s
        read = torch.cat([wide, self._gain * self._relations[relations], r, wide * r], -1)
        scale = self.log_scale.clamp(max=math.log(_MAX_SCALE)).exp()
        meaning = scale * nn.functional.normalize(s + self.query_correction(read), dim=-1)
        return meaning if self.words is None else torch.cat([meaning, self.words.queries(queries, wide)], -1)

    def entity_vectors(self, among: Ints | None = None) -> Tensor:
        """The text vectors, corrected, with gradients in training; in use they are made once for all entities."""
        if self.training:
            return self._corrected(np.arange(self.n_entities) if among is None else among)
        if self._every is None:
            with torch.inference_mode(mode=False), torch.no_grad():  # a later caller may want gradients of the query
                self._every = self._corrected(np.arange(self.n_entities))
        return self._every if among is None else self._every[tensor(among, self._every.device)]

    def train(self, mode: bool = True) -> TextScorer:
        """Change between training and use; either forgets the vectors of entities."""
        self._every = None
        return super().train(mode)

    def score(self, facts: Ints) -> Tensor:
        """The dot product of query and entity of each fact, and what a subject has more as its own answer."""
        s, r, o = facts.T
        apart = (self.query_vectors(Queries(s, r)) * self.entity_vectors(o)).sum(-1)
        return apart + self._more(r).to(apart.dtype) * tensor(s == o, apart.device)

    def score_all(self, queries: Queries, among: Ints | None = None) -> Tensor:
        """The dot product of each query with each entity, and what a subject has more, (query, entity)."""
        columns = queries.entity
        if among is not None:
            place = np.full(self.n_entities, NO_ENTITY)
            place[among] = np.arange(len(among))
            columns = place[columns]
        rows = np.flatnonzero(columns != NO_ENTITY)  # the queries whose subject is a candidate
        scores = self.query_vectors(queries) @ self.entity_vectors(among).T
        cells = tensor(rows, scores.device), tensor(columns[rows], scores.device)
        return scores.index_put(cells, self._more(queries.relation[rows]).to(scores.dtype), accumulate=True)

    def extended(self, kb: KnowledgeBase, first_new: int, context: Context) -> TextScorer:
        """The same with the texts of new entities too, read as all were; nothing is learned."""
        del context
        with torch.inference_mode(mode=False):
            grown = copy.deepcopy(self).eval()
            grown.n_entities = kb.n_entities
            grown.texts = self.texts.extended(texts(kb.entities)[first_new:])
        if grown.words is not None:
            from cear.retrieval.text.pieces import Pieces  # SciPy, for who compares words alone

            grown.words.read(Pieces.of(kb.entities, words=self._cut, first_new=first_new))
        return grown

    def entity_moduli(self, entities: Ints) -> Tensor:
        """|e| of the coordinates of the entity vectors."""
        return self.entity_vectors(entities).abs()

    def relation_moduli(self, relations: Ints) -> Tensor:
        """|r| of the learned coordinates."""
        moduli: Tensor = self.relation(tensor(relations, self.device)).abs()
        return moduli

    def _more(self, relations: Ints) -> Tensor:
        """What a subject has more as its own answer, (relation,)."""
        more: Tensor = self.itself(tensor(relations, self.device)).squeeze(-1)
        return more

    def _corrected(self, among: Ints) -> Tensor:
        e = self.texts(tensor(among, self.device))
        meaning = nn.functional.normalize(e + self.entity_correction(e), dim=-1)
        return meaning if self.words is None else torch.cat([meaning, self.words.entities(among)], -1)


def _forget(scorer: TextScorer, _: object) -> None:
    scorer._every = None
