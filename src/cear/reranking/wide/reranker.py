"""The wide re-ranker behind the contract of Stage 2."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from cear.candidates import Lists, Retrievers
from cear.errors import ConfigError
from cear.files import read_json, write_json
from cear.nouns import NO_ENTITY, Bools, Floats, Ints
from cear.progress import Progress, silent
from cear.reranking.config import WideConfig
from cear.reranking.wide.evidence import Evidence, n_numbers
from cear.reranking.wide.model import WideBatch, WideModel
from cear.retrieval import DotProductScorer, Retriever
from cear.tensors import read_tensors, write_tensors
from cear.texts import fill, text_vectors

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
        self._vectors = _with_vectors(vectors_of) if config.vectors else None
        self.config, self._seed, self._n_relations = config, seed, kb.n_relations
        self._evidence = Evidence(retrievers, config)
        self._texts = None
        if config.text:
            self._texts = text_vectors(
                kb, config.encoder, tokens=config.text_tokens, download=download, progress=progress
            )
        self.model = WideModel(
            config,
            relations=2 * kb.n_relations,
            text_width=0 if self._texts is None else self._texts[0].shape[1],
            vector_width=0 if self._vectors is None else self._vectors.entity_vectors(torch.zeros(1).long()).shape[1],
            numbers=n_numbers(config, len(retrievers.also)),
            seed=seed,
        )

    @torch.inference_mode()
    def rerank(self, lists: Lists, *, progress: Progress = silent) -> Floats:
        """A score for each candidate; it depends on its own list alone, and not on the order of the list."""
        self.model.eval()
        scores = np.empty(lists.candidates.entities.shape, np.float32)
        with progress("Re-ranking", len(lists)) as bar:
            for rows in fill(self.lengths(lists), self.config.max_tokens):
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

    def score(self, lists: Lists, inputs: Floats) -> Tensor:
        """The scores of a batch of lists, (list, candidate), with gradients when the model trains."""
        entities = torch.from_numpy(lists.candidates.entities)
        relation = torch.from_numpy(lists.queries.relation)
        query_text = candidate_text = None
        if self._texts is not None:
            of_entities, of_relations = self._texts
            subject = of_entities[torch.from_numpy(lists.queries.entity)]
            query_text = torch.cat([subject, of_relations[relation % self._n_relations]], -1)
            candidate_text = of_entities[entities.clamp_min(0)]
        numbers, real = torch.from_numpy(inputs), entities != NO_ENTITY
        batch = WideBatch(relation, query_text, candidate_text, numbers, real, *self._vectors_of(lists))
        scores: Tensor = self.model(batch)
        return scores

    @torch.no_grad()
    def _vectors_of(self, lists: Lists) -> tuple[Tensor | None, Tensor | None]:
        """Stage 1's vectors of queries and candidates, (list, width) and (list, candidate, width)."""
        if self._vectors is None:
            return None, None
        entities = torch.from_numpy(lists.candidates.entities).clamp_min(0)
        found = self._vectors.entity_vectors(entities.flatten())
        return self._vectors.query_vectors(lists.queries), found.view(*entities.shape, -1)

    def lengths(self, lists: Lists) -> Ints:
        """The tokens that each list costs, (list,)."""
        return np.full(len(lists), 1 + lists.candidates.k)

    def shortened(self, lists: Lists) -> Bools:
        """Which lists had to be cut to fit: none."""
        return np.zeros(len(lists), bool)

    def parameter_groups(self) -> list[dict[str, Any]]:
        """One learning rate for everything."""
        return [{"params": [*self.model.parameters()], "lr": self.config.learning_rate}]

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
        reranker.model.load_state_dict(read_tensors(folder / WEIGHTS)[0])
        return reranker


def _with_vectors(scorer: Retriever | None) -> DotProductScorer:
    if not isinstance(scorer, DotProductScorer):
        raise ConfigError(
            f"reranker.vectors: {type(scorer).__name__} has no vectors of queries and entities. "
            "Set it to false, or take a Stage 1 whose score is a dot product, such as complex or distmult."
        )
    return scorer
