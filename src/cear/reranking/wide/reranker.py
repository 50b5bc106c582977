"""The wide re-ranker behind the contract of Stage 2."""

from __future__ import annotations

import copy
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from cear.candidates import Lists, Retrievers
from cear.core.errors import ConfigError
from cear.core.files import read_json, write_json
from cear.core.progress import Progress, silent
from cear.core.tensors import read_tensors, write_tensors
from cear.core.types import NO_ENTITY, Bools, Floats, Ints
from cear.reranking.config import EndToEndConfig, WideConfig
from cear.reranking.wide.evidence import Evidence, n_numbers
from cear.reranking.wide.model import WideBatch, WideModel
from cear.retrieval import DotProductScorer, Retriever
from cear.texts import KeptVectors, TunedVectors, pack_by_tokens, text_vectors, texts

WEIGHTS, CONFIG = "wide.safetensors", "reranker.json"


class WideReranker:
    """Reads each candidate as one vector, and all candidates of a list together."""

    def __init__(
        self,
        retrievers: Retrievers,
        config: WideConfig,
        *,
        vectors_of: Retriever | None = None,
        seed: int = 0,
        download: bool = False,
        progress: Progress = silent,
    ) -> None:
        """`vectors_of` is the Stage 1 whose vectors are read, one that has not seen the facts to learn from."""
        kb = retrievers.kb
        self._retrievers, self._vectors = retrievers, _with_vectors(vectors_of) if config.vectors else None
        self.config, self._seed = config, seed
        self._evidence = Evidence(retrievers, config)
        self._texts: KeptVectors | TunedVectors | None = None
        self._texts_of_relations = torch.zeros(kb.n_relations, 0)
        if config.text:
            entities, self._texts_of_relations = text_vectors(
                kb, config.encoder, tokens=config.text_tokens, download=download, progress=progress
            )
            self._texts = KeptVectors(entities)
        self.model = WideModel(
            config,
            relations=2 * kb.n_relations,
            text_width=self._texts_of_relations.shape[1],
            vector_width=0 if self._vectors is None else self._vectors.entity_vectors(torch.zeros(1).long()).shape[1],
            numbers=n_numbers(config, len(retrievers.also)),
            seed=seed,
        )

    def end_to_end(self, settings: EndToEndConfig) -> Self:
        """A copy that learns on as these settings say, with a way for the loss into texts and Stage-1 vectors.

        Texts are read by an encoder that learns, and Stage 1's vectors are its own from now on.
        """
        phase = settings.model_dump(include={"learning_rate", "max_tokens", "lists", "epochs"})
        opened = copy.copy(self)
        opened.config = self.config.model_copy(update={**phase, "end_to_end": settings})
        opened.model = copy.deepcopy(self.model)
        if isinstance(self._texts, KeptVectors):
            entities = self._retrievers.kb.entities
            opened._texts = opened.model.texts = TunedVectors(
                texts(entities),
                self._texts(torch.arange(len(entities))),
                self.config.encoder,
                tokens=self.config.text_tokens,
                layers=settings.layers,
                dropout=self.config.dropout,
                seed=self._seed,
            )
        if self._vectors is not None:
            opened._vectors = opened.model.stage1 = copy.deepcopy(self._vectors).requires_grad_(True)
        return opened

    @torch.inference_mode()
    def rerank(self, lists: Lists, *, progress: Progress = silent) -> Floats:
        """A score for each candidate; it depends on its own list alone, and not on the order of the list."""
        self.model.eval()
        scores = np.empty(lists.candidates.entities.shape, np.float32)
        with progress("Re-ranking", len(lists)) as bar:
            for rows in pack_by_tokens(self.lengths(lists), self.config.max_tokens):
                scores[rows] = self.score(lists[rows], self.inputs(lists[rows])).numpy()
                bar.advance(len(rows))
        return np.where(lists.candidates.entities == NO_ENTITY, -np.inf, scores)

    def inputs(self, lists: Lists, seen_by: Retrievers | None = None) -> Floats:
        """The numbers of each candidate as these retrievers see it, (list, candidate, number), or its own."""
        return (self._evidence if seen_by is None else Evidence(seen_by, self.config)).of(lists)

    def prepare(self, inputs: Floats) -> None:
        """Take the mean and deviation of each number from the lists that it will learn from."""
        flat = torch.from_numpy(inputs).flatten(0, 1)
        self.model.mean.copy_(flat.mean(0))
        self.model.deviation.copy_(flat.std(0).clamp_min(1e-6))

    def settle(self, *, progress: Progress = silent) -> None:
        """Read all texts again, if who reads them has learned."""
        if isinstance(self._texts, TunedVectors):
            self._texts.refresh_cache(progress=progress)

    def score(self, lists: Lists, inputs: Floats) -> Tensor:
        """The scores of a batch of lists, (list, candidate), with gradients when the model trains."""
        with self._reading(lists):
            entities = torch.from_numpy(lists.candidates.entities)
            relation = torch.from_numpy(lists.queries.relation)
            query_text = candidate_text = None
            if self._texts is not None:
                subject = self._texts(torch.from_numpy(lists.queries.entity))
                query_text = torch.cat(
                    [subject, self._texts_of_relations[relation % len(self._texts_of_relations)]], -1
                )
                candidate_text = self._texts(entities.clamp_min(0))
            numbers, real = torch.from_numpy(inputs), entities != NO_ENTITY
            batch = WideBatch(relation, query_text, candidate_text, numbers, real, *self._vectors_of(lists))
            scores: Tensor = self.model(batch)
        return scores

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
        entities = torch.from_numpy(lists.candidates.entities).clamp_min(0)
        with torch.set_grad_enabled(self.config.end_to_end is not None and torch.is_grad_enabled()):
            found = self._vectors.entity_vectors(entities.flatten())
            return self._vectors.query_vectors(lists.queries), found.view(*entities.shape, -1)

    def lengths(self, lists: Lists) -> Ints:
        """The tokens that each list costs, (list,)."""
        return np.full(len(lists), 1 + lists.candidates.k)

    def shortened(self, lists: Lists) -> Bools:
        """Which lists had to be cut to fit: none."""
        return np.zeros(len(lists), bool)

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

    def save_pretrained(self, folder: Path) -> None:
        """Write weights and settings; texts and counts come from the knowledge base."""
        write_tensors(folder / WEIGHTS, dict(self.model.state_dict()))
        write_json(folder / CONFIG, {"config": self.config.model_dump(), "seed": self._seed})

    @classmethod
    def from_pretrained(cls, folder: Path, retrievers: Retrievers, *, vectors_of: Retriever | None = None) -> Self:
        """The re-ranker saved in a folder, reading the lists of these retrievers."""
        saved = read_json(folder / CONFIG)
        config = WideConfig.parse(saved["config"], source=str(folder / CONFIG))
        reranker = cls(retrievers, config, vectors_of=vectors_of, seed=saved["seed"])
        if config.end_to_end is not None:
            reranker = reranker.end_to_end(config.end_to_end)
        reranker.model.load_state_dict(read_tensors(folder / WEIGHTS)[0])
        return reranker


def _with_vectors(scorer: Retriever | None) -> DotProductScorer:
    if not isinstance(scorer, DotProductScorer):
        raise ConfigError(
            f"reranker.vectors: {type(scorer).__name__} has no vectors of queries and entities. "
            "Set it to false, or take a Stage 1 whose score is a dot product, such as complex or distmult."
        )
    return scorer
