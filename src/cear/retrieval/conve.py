"""ConvE (Dettmers et al. 2018): a convolution over subject and relation, laid side by side as an image."""

from __future__ import annotations

from typing import Literal, Self

import torch
from pydantic import Field, PositiveInt, model_validator
from torch import Tensor, nn

from cear.core.context import Context
from cear.core.devices import tensor
from cear.core.types import Ints, Queries
from cear.data import KnowledgeBase
from cear.retrieval.embeddings import AnyEmbedding, Embeddings, RowsConfig
from cear.retrieval.gradient import GradientConfig, RegularizerConfig
from cear.retrieval.losses import AnyLoss, BceLoss
from cear.retrieval.optimizers import OptimizerConfig
from cear.retrieval.over_embeddings import OverEmbeddings
from cear.retrieval.scorer import DotProductScorer


class ImageScorer(OverEmbeddings, DotProductScorer):
    """A network reads an embedding as an image; behind it a query is a vector, and an entity one with its bias."""

    def __init__(self, embeddings: Embeddings, config: ConvESettings, *, relation_rank: int) -> None:
        super().__init__(embeddings.n_entities, embeddings.n_relations)
        self.height, self.width = config.rank // config.image_width, config.image_width
        self.entity = embeddings.entities(config.rank)
        self.relation = embeddings.relations(relation_rank, inverse=lambda r: r)
        self.bias = nn.Parameter(torch.zeros(embeddings.n_entities))

    def entity_vectors(self, among: Ints | None = None) -> Tensor:
        """The entity embeddings, then their biases, (entity, rank + 1)."""
        bias = self.bias if among is None else self.bias[tensor(among, self.bias.device)]
        return torch.cat([self.entity(among), bias.unsqueeze(-1)], -1)

    def score(self, facts: Ints) -> Tensor:
        """The dot product of query and entity of each fact."""
        s, r, o = facts.T
        return (self.query_vectors(Queries(s, r)) * self.entity_vectors(o)).sum(-1)

    def entity_moduli(self, entities: Ints) -> Tensor:
        """|e|."""
        return self.entity(entities).abs()

    def relation_moduli(self, relations: Ints) -> Tensor:
        """|r|."""
        return self.relation(relations).abs()

    def grown(self, kb: KnowledgeBase, first_new: int, context: Context) -> Self:
        """A copy with vectors for new entities; their biases are the mean of all, and stay so."""
        grown = super().grown(kb, first_new, context)
        more = self.bias.detach().mean().expand(kb.n_entities - first_new)
        grown.bias = nn.Parameter(torch.cat([self.bias.detach(), more]), requires_grad=False)
        return grown


class ConvE(ImageScorer):
    """ReLU(W vec(ReLU([s; r] * ω))) · o + b(o) (Eq. 1), with batch normalisation and dropout as published.

    Behind the convolution a query is a vector and an entity is one, with its bias as a coordinate more: scoring all
    entities is a matrix product, and the convolution is done once for each distinct query.
    """

    def __init__(self, embeddings: Embeddings, config: ConvESettings) -> None:
        super().__init__(embeddings, config, relation_rank=config.rank)
        side = config.kernel - 1
        seen = config.channels * (2 * self.height - side) * (self.width - side)
        with torch.random.fork_rng(devices=[]):  # fresh weights depend on the seed alone
            torch.manual_seed(embeddings.seed)
            self.convolution = nn.Sequential(
                nn.BatchNorm2d(1),
                nn.Dropout(config.input_dropout),
                nn.Conv2d(1, config.channels, config.kernel),
                nn.BatchNorm2d(config.channels),
                nn.ReLU(),
                nn.Dropout2d(config.feature_dropout),
            )
            self.projection = nn.Sequential(
                nn.Linear(seen, config.rank), nn.Dropout(config.hidden_dropout), nn.BatchNorm1d(config.rank), nn.ReLU()
            )

    def query_vectors(self, queries: Queries) -> Tensor:
        """What the network makes of subject and relation, then 1 for the bias, (query, rank + 1)."""
        vectors = (self.entity(queries.entity), self.relation(queries.relation))
        s, r = (each.view(len(queries), 1, self.height, self.width) for each in vectors)
        image = torch.cat([s, r], dim=2)  # (query, 1, 2 height, width)
        seen: Tensor = self.projection(self.convolution(image).flatten(1))
        return torch.cat([seen, seen.new_ones(len(queries), 1)], -1)


class ConvESettings(GradientConfig):
    """The network and how it is trained; the defaults are those published, with every entity scored (1-N)."""

    rank: PositiveInt = 200
    """Coordinates of an embedding."""
    image_width: PositiveInt = 20
    """Coordinates in a row of the image; rank / image_width rows of the subject stand above as many of the relation."""
    channels: PositiveInt = 32
    """Filters of the convolution."""
    kernel: PositiveInt = 3
    """Height and width of a filter."""
    input_dropout: float = Field(default=0.2, ge=0, lt=1)
    """Of the image."""
    feature_dropout: float = Field(default=0.2, ge=0, lt=1)
    """Of whole channels behind the convolution."""
    hidden_dropout: float = Field(default=0.3, ge=0, lt=1)
    """Of the projection."""
    embedding: AnyEmbedding = RowsConfig(scale=0.05)
    """What a vector is: rows that are learned, lstm over names, or text, a projection of what texts mean."""
    loss: AnyLoss = BceLoss(label_smoothing=0.1)
    """What a training step minimises: softmax, bce, self_adversarial or info_nce."""
    regularizer: RegularizerConfig = RegularizerConfig(weight=0)
    optimizer: OptimizerConfig = OptimizerConfig(kind="adam", learning_rate=0.003, decay="linear")
    batch: PositiveInt = 128
    """Distinct queries in a step."""

    @model_validator(mode="after")
    def _the_image_is_whole(self) -> Self:
        if self.rank % self.image_width:
            raise ValueError(f"rank: {self.rank} coordinates are no whole rows of image_width: {self.image_width}")
        if self.kernel > min(self.image_width, self.rank // self.image_width):
            raise ValueError(f"kernel: {self.kernel} is larger than the image of an embedding")
        return self


class ConvEConfig(ConvESettings):
    """ConvE and how it is trained."""

    model: Literal["conve"] = "conve"
    """Which retriever."""

    def scorer(self, embeddings: Embeddings) -> ConvE:
        """ConvE over these embeddings."""
        return ConvE(embeddings, self)
