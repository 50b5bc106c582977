"""A re-ranker: new scores for candidate lists. The contract of Stage 2, and the paper's way to keep it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Protocol, Self

import numpy as np
import torch
from torch import Tensor, nn

from cear.candidates import Lists, Retrievers
from cear.core.files import read_json, write_json
from cear.core.progress import Progress, silent
from cear.core.tensors import read_tensors, write_tensors
from cear.core.types import NO_ENTITY, Bools, Floats, Ints, Queries
from cear.data import KnowledgeBase
from cear.reranking.config import RerankerConfig, SequenceConfig
from cear.reranking.features import stage1_features
from cear.reranking.model import CrossEntityModel
from cear.reranking.sequences import Assembler, SequenceBatch
from cear.reranking.surface import surface_forms
from cear.texts import load_encoder, pack_by_tokens, positions, special_tokens

HEAD, CONFIG, ENCODER = "head.safetensors", "reranker.json", "encoder"


class Reranker(Protocol):
    """Anything that scores the candidates of lists anew."""

    def rerank(self, lists: Lists, *, progress: Progress = silent) -> Floats:
        """A score for each candidate, (query, candidate), higher is better; -inf where a list is padded."""


class Trainable(Reranker, Protocol):
    """A re-ranker that learns from lists whose answers are known."""

    @property
    def config(self) -> RerankerConfig:
        """Its settings."""

    @property
    def model(self) -> nn.Module:
        """Its weights."""

    def inputs(self, lists: Lists, seen_by: Retrievers | None = None) -> Floats:
        """The numbers it reads beside texts, (list, candidate, number), as these retrievers see them, or its own."""

    def prepare(self, inputs: Floats) -> None:
        """See the inputs of all training lists before the first of them is learned from."""

    def score(self, lists: Lists, inputs: Floats) -> Tensor:
        """The scores of a batch of lists, (list, candidate), with gradients."""

    def settle(self, *, progress: Progress = silent) -> None:
        """Bring what follows from the weights up to date, before they are judged."""

    def lengths(self, lists: Lists) -> Ints:
        """The tokens that each list costs, (list,): what batches are filled by."""

    def shortened(self, lists: Lists) -> Bools:
        """Which lists had to be cut to fit, (list,)."""

    def parameter_groups(self) -> list[dict[str, Any]]:
        """Parameters with their learning rates, for an optimiser."""

    def save_pretrained(self, folder: Path) -> None:
        """Write what `from_pretrained` needs."""


class SequenceReranker:
    """Reads the query and all candidates of a list in one sequence."""

    read_tokens: ClassVar[int] = 1000
    """At most so many in a batch without gradients: what stays in the processor's cache is read a tenth faster."""

    def __init__(self, kb: KnowledgeBase, config: SequenceConfig, *, seed: int = 0, download: bool = False) -> None:
        self.config, self._seed = config, seed
        language_model, self.tokenizer = load_encoder(
            config.encoder, init=config.init, dropout=config.dropout, seed=seed, download=download
        )
        self.model = CrossEntityModel(language_model, config, seed=seed)
        forms = surface_forms(kb, self.tokenizer, width=config.form_tokens, text=config.text)
        self._assembler = Assembler(
            forms, special_tokens(self.tokenizer), width=config.form_tokens, positions=positions(language_model)
        )

    @torch.inference_mode()
    def rerank(self, lists: Lists, *, progress: Progress = silent) -> Floats:
        """A score for each candidate; it depends on its own list alone, not on what shares its batch."""
        self.model.eval()
        features = stage1_features(lists.candidates)
        scores = np.empty(lists.candidates.entities.shape, np.float32)
        with progress("Re-ranking", len(lists)) as bar:
            for rows in pack_by_tokens(self.lengths(lists), min(self.config.max_tokens, self.read_tokens)):
                scores[rows] = self.score(lists[rows], features[rows]).numpy()
                bar.advance(len(rows))
        return np.where(lists.candidates.entities == NO_ENTITY, -np.inf, scores)

    def inputs(self, lists: Lists, seen_by: Retrievers | None = None) -> Floats:
        """What Stage 1 says, which the lists themselves tell."""
        del seen_by
        return stage1_features(lists.candidates)

    def prepare(self, inputs: Floats) -> None:
        """Nothing: the features have one scale for every list."""

    def settle(self, *, progress: Progress = silent) -> None:
        """Nothing: texts are read whenever a list is."""

    def score(self, lists: Lists, inputs: Floats) -> Tensor:
        """The scores of a batch of lists, (list, candidate), with gradients when the model trains."""
        order = self._order(lists)
        entities = np.take_along_axis(lists.candidates.entities, order, axis=1)
        seen = torch.from_numpy(np.take_along_axis(inputs, order[..., None], axis=1))
        scores: Tensor = self.model(self._assemble(lists.queries, entities), self._per_sequence(seen))
        back = torch.from_numpy(np.argsort(order, axis=1))
        return scores.view(entities.shape).gather(1, back)

    def lengths(self, lists: Lists) -> Ints:
        """The tokens that each list costs, (list,): what batches are filled by."""
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
        """Write encoder, tokenizer, head and settings: all that `from_pretrained` needs beside the KB."""
        self.model.encoder.save_pretrained(folder / ENCODER)
        self.tokenizer.save_pretrained(folder / ENCODER)
        head = {key: value for key, value in self.model.state_dict().items() if not key.startswith("encoder.")}
        write_tensors(folder / HEAD, head)
        write_json(folder / CONFIG, {"config": self.config.model_dump(), "seed": self._seed})

    @classmethod
    def from_pretrained(cls, folder: Path, kb: KnowledgeBase) -> Self:
        """The re-ranker saved in a folder, for a knowledge base: its own, or another one's names."""
        saved = read_json(folder / CONFIG)
        config = SequenceConfig.parse(saved["config"], source=str(folder / CONFIG))
        trained = config.model_copy(update={"encoder": str(folder / ENCODER), "init": "pretrained"})
        reranker = cls(kb, trained, seed=saved["seed"])
        reranker.config = config
        encoder = {key: value for key, value in reranker.model.state_dict().items() if key.startswith("encoder.")}
        reranker.model.load_state_dict(encoder | read_tensors(folder / HEAD)[0])  # a missing weight is an error
        return reranker

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

    def _assemble(self, queries: Queries, entities: Ints) -> SequenceBatch:
        if self.config.attention == "independent":
            queries, entities = _one_at_a_time(queries, entities)
        return self._assembler.assemble(queries, entities)

    def _per_sequence(self, features: Tensor) -> Tensor:
        return features.flatten(0, 1).unsqueeze(1) if self.config.attention == "independent" else features


def _one_at_a_time(queries: Queries, entities: Ints) -> tuple[Queries, Ints]:
    """Each list as k lists of one candidate."""
    k = entities.shape[1]
    return Queries(np.repeat(queries.entity, k), np.repeat(queries.relation, k)), entities.reshape(-1, 1)
