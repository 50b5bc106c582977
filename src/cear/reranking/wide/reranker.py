"""The wide re-ranker behind the contract of Stage 2."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from cear.candidates import Lists
from cear.core.context import Context
from cear.core.devices import array, device_of, tensor
from cear.core.errors import ConfigError, UnknownName
from cear.core.progress import Progress, silent
from cear.core.types import NO_ENTITY, Floats
from cear.data import KnowledgeBase
from cear.reranking.learned import LearnedReranker
from cear.reranking.reranker import Phase, Upstream
from cear.reranking.wide.averages import (
    TEXTS,
    VECTORS,
    Hide,
    averaged_rows,
    hide_features,
    hide_texts,
    hide_vectors,
)
from cear.reranking.wide.config import EndToEndConfig, WideSettings
from cear.reranking.wide.features import WideFeatures, feature_groups, n_features
from cear.reranking.wide.model import WideBatch, WideModel
from cear.retrieval import DotProductScorer, Retriever, with_new_entities
from cear.texts import KeptVectors, TextReader, TunedVectors, text_vectors, texts


class WideReranker(LearnedReranker):
    """Reads each candidate as one vector, and all candidates of a list together."""

    config: WideSettings
    model: WideModel

    def __init__(
        self, upstream: Upstream, config: WideSettings, context: Context, *, later: EndToEndConfig | None = None
    ) -> None:
        """`later` is the last phase of its training, if there is one."""
        self._kb, self._extra, self._later = upstream.kb, tuple(upstream.extra), later
        self._hide: Hide | None = None
        self._vectors = _with_vectors(upstream.fold_retriever) if config.vectors else None
        self._texts: KeptVectors | TunedVectors | None = None
        self._texts_of_relations = torch.zeros(self._kb.n_relations, 0)
        if config.text:
            entities, self._texts_of_relations = text_vectors(
                self._kb,
                config.encoder,
                tokens=config.text_tokens,
                device=context.device,
                download=context.download,
                progress=context.progress,
                own=context.vectors,
            )
            reader = TextReader(config.encoder, config.text_tokens, context.device, context.download)
            self._texts = KeptVectors(entities, reader).to(context.device)
        self._texts_of_relations = self._texts_of_relations.to(context.device)
        model = WideModel(
            config,
            relations=2 * self._kb.n_relations,
            text_width=self._texts_of_relations.shape[1],
            vector_width=0 if self._vectors is None else self._vectors.entity_vectors(np.zeros(1, int)).shape[1],
            features=n_features(config, len(upstream.extra)),
            seed=context.seed,
        )
        super().__init__(config, model, context)

    def features(self, lists: Lists) -> Floats:
        """What the retrievers say and counts of all training facts, (list, candidate, feature)."""
        return self._features.of(lists)

    @cached_property
    def _features(self) -> WideFeatures:
        """Counts of all training facts, for lists of facts that nobody has seen."""
        return WideFeatures(self._kb, self.config, device=device_of(self.model))

    def phases(self) -> Sequence[Phase]:
        """The network first; then, if the settings say so, end to end."""
        phases = [Phase("learning", lambda reranker: reranker)]
        if (later := self._later) is not None:
            phases.append(Phase("end_to_end", lambda best: best.end_to_end(later)))
        return phases

    def end_to_end(self, settings: EndToEndConfig) -> Self:
        """A copy that learns on as these settings say, with a way for the loss into texts and Stage-1 vectors.

        Texts are read by an encoder that learns, and Stage 1's vectors are its own from now on.
        """
        phase = settings.model_dump(include={"learning_rate", "max_tokens", "lists_per_epoch", "epochs"})
        opened = copy.copy(self)
        opened.config = self.config.model_copy(update={**phase, "end_to_end": settings})
        opened.model = copy.deepcopy(self.model)
        if isinstance(self._texts, KeptVectors):
            opened._texts = opened.model.texts = TunedVectors(
                texts(self._kb.entities),
                self._texts(torch.arange(self._kb.n_entities)),
                self.config.encoder,
                tokens=self.config.text_tokens,
                layers=settings.layers,
                dropout=self.config.dropout,
                seed=self._seed,
                device=str(device_of(self.model)),
            )
        if self._vectors is not None:
            opened._vectors = opened.model.stage1 = copy.deepcopy(self._vectors).requires_grad_(True)
        return opened

    def extended(self, kb: KnowledgeBase, first_new: int, context: Context) -> Self:
        """The same, which reads texts and vectors of new entities and counts their facts too."""
        grown = copy.copy(self)
        grown._kb = kb
        grown.__dict__.pop("_features", None)  # which counts the facts of the old knowledge base
        if self._texts is not None:
            grown._texts = self._texts.extended(texts(kb.entities)[first_new:])
        if self._vectors is not None:
            grown._vectors = _with_vectors(with_new_entities(self._vectors, kb, first_new, context))
        return grown

    def fit_normalizer(self, features: Floats) -> None:
        """Take the mean and deviation of each feature from the lists that it will learn from."""
        flat = torch.from_numpy(features).flatten(0, 1)
        self.model.mean.copy_(flat.mean(0))
        self.model.deviation.copy_(flat.std(0).clamp_min(1e-6))

    def refresh_cache(self, *, progress: Progress = silent) -> None:
        """Read all texts again, if who reads them has learned."""
        if isinstance(self._texts, TunedVectors):
            self._texts.refresh_cache(progress=progress)

    def score(self, lists: Lists, features: Floats) -> Tensor:
        """The scores of a batch of lists, (list, candidate), with gradients when the model trains."""
        with self._reading(lists):
            batch = self._batch(lists, features)
            scores: Tensor = self.model(batch if self._hide is None else self._hide(batch))
        return scores

    @torch.inference_mode()
    def attention(self, lists: Lists) -> Floats:
        """Who looks at whom in each list, (layer, list, head, seeing, seen): the query first, then the candidates."""
        return array(self.model.attention(self._batch(lists, self.features(lists))))

    def _batch(self, lists: Lists, features: Floats) -> WideBatch:
        device, padded = device_of(self.model), lists.candidates.entities == NO_ENTITY
        return WideBatch(
            tensor(lists.queries.relation, device),
            *self._texts_of(lists),
            tensor(features, device),
            tensor(~padded, device) if padded.any() else None,
            *self._vectors_of(lists),
        )

    def input_groups(self) -> tuple[str, ...]:
        """Stage 1, each retriever beside it, counts of the graph, text vectors, Stage-1 vectors: those it reads."""
        vectors = {TEXTS: self._texts, VECTORS: self._vectors}
        there = (name for name, read in vectors.items() if read is not None)
        return (*feature_groups(self.config, self._extra), *there)

    def rerank_without(self, lists: Lists, group: str) -> Floats:
        """The scores when every candidate has the average of a group in its place."""
        hiding = copy.copy(self)  # threads may share this one
        hiding._hide = self._hiding(group)
        return hiding.rerank(lists)

    @torch.inference_mode()
    def _hiding(self, group: str) -> Hide:
        """What puts averages into the place of a group: those of training, or of a sample of it."""
        if group not in self.input_groups():
            known = ", ".join(self.input_groups())
            raise UnknownName(f"This re-ranker has no group of inputs called {group!r}. It has: {known}.")
        device, entities = device_of(self.model), averaged_rows(self._kb.n_entities)
        if group == TEXTS and self._texts is not None:
            text = self._texts(tensor(entities, device)).mean(0)
            return hide_texts(torch.cat([text, self._texts_of_relations.mean(0)]), text)
        if group == VECTORS and self._vectors is not None:
            asked = self._kb.known("train").queries
            query = self._vectors.query_vectors(asked[averaged_rows(len(asked))]).mean(0)
            return hide_vectors(query, self._vectors.entity_vectors(entities).mean(0))
        return hide_features(feature_groups(self.config, self._extra)[group], self.model.mean)

    def _texts_of(self, lists: Lists) -> tuple[Tensor | None, Tensor | None]:
        """The text vectors of queries (subject, relation) and of candidates, (list, …) and (list, candidate, …)."""
        if self._texts is None:
            return None, None
        device, of_relations = device_of(self.model), self._texts_of_relations
        subject = self._texts(tensor(lists.queries.entity, device))
        relation = of_relations[tensor(lists.queries.relation % len(of_relations), device)]
        entities = tensor(np.maximum(lists.candidates.entities, 0), device)
        return torch.cat([subject, relation], -1), self._texts(entities)

    def _reading(self, lists: Lists) -> AbstractContextManager[None]:
        """In a training end to end, read the subjects and the first candidates of these lists anew."""
        settings = self.config.end_to_end
        if settings is None or not self.model.training or not isinstance(self._texts, TunedVectors):
            return nullcontext()
        first = lists.candidates.entities[:, : settings.candidates]
        read = np.unique(np.concatenate([lists.queries.entity, first[first != NO_ENTITY]]))
        return self._texts.reading(torch.from_numpy(read))

    def _vectors_of(self, lists: Lists) -> tuple[Tensor | None, Tensor | None]:
        """Stage 1's vectors of queries and candidates, (list, width) and (list, candidate, width)."""
        if self._vectors is None:
            return None, None
        entities = np.maximum(lists.candidates.entities, 0)
        with torch.set_grad_enabled(self.config.end_to_end is not None and torch.is_grad_enabled()):
            found = self._vectors.entity_vectors(entities.reshape(-1))
            return self._vectors.query_vectors(lists.queries), found.view(*entities.shape, -1)

    def parameter_groups(self) -> list[dict[str, Any]]:
        """One learning rate for the network; end to end, one for the text encoder and one for Stage 1's vectors."""
        settings = self.config.end_to_end
        rates = {"": self.config.learning_rate}
        if settings is not None:
            rates = {"texts.": settings.encoder_learning_rate, "stage1.": settings.vector_learning_rate} | rates
        left = {name: weight for name, weight in self.model.named_parameters() if weight.requires_grad}
        groups = []
        for prefix, rate in rates.items():
            names = [name for name in left if name.startswith(prefix)]
            groups.append({"params": [left.pop(name) for name in names], "lr": rate})
        return groups

    @staticmethod
    def is_opened(tensors: Mapping[str, Tensor]) -> bool:
        """Whether saved weights are those of a training end to end: they hold who reads the texts."""
        return any(name.startswith(("texts.", "stage1.")) for name in tensors)


def _with_vectors(scorer: Retriever | None) -> DotProductScorer:
    if not isinstance(scorer, DotProductScorer):
        raise ConfigError(
            f"reranker.vectors: {type(scorer).__name__} has no vectors of queries and entities. "
            "Set it to false, or take a Stage 1 whose score is a dot product, such as complex or distmult."
        )
    return scorer
