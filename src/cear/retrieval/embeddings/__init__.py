"""What a vector is: a row that is learned, an LSTM over a name, or a projection of what a text means.

How vectors score is the other part, a `Scorer`. Any scorer takes any embedding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cear.core.registry import union_of
from cear.retrieval.embeddings.embedding import EmbeddingConfig, Embeddings, Vectors
from cear.retrieval.embeddings.lstm import LstmConfig, LstmEmbeddings
from cear.retrieval.embeddings.mapped import ENTITIES, RELATIONS, MappedRows
from cear.retrieval.embeddings.rows import GrownRows, Rows, RowsConfig, RowsEmbeddings
from cear.retrieval.embeddings.text import TextEmbeddings, TextProjectionConfig

EMBEDDINGS: dict[str, type[EmbeddingConfig]] = {
    "rows": RowsConfig,
    "lstm": LstmConfig,
    "text": TextProjectionConfig,
}

if TYPE_CHECKING:
    AnyEmbedding = EmbeddingConfig
else:
    AnyEmbedding = union_of(EMBEDDINGS, "kind", default="rows")

__all__ = [
    "EMBEDDINGS",
    "ENTITIES",
    "RELATIONS",
    "AnyEmbedding",
    "EmbeddingConfig",
    "Embeddings",
    "GrownRows",
    "LstmConfig",
    "LstmEmbeddings",
    "MappedRows",
    "Rows",
    "RowsConfig",
    "RowsEmbeddings",
    "TextEmbeddings",
    "TextProjectionConfig",
    "Vectors",
]
