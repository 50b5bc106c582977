"""Published cross-encoders as re-rankers: a question and a candidate, read as two texts."""

from cear.reranking.cross_encoder.plugin import CrossEncoderConfig
from cear.reranking.cross_encoder.reranker import CrossEncoderReranker

__all__ = ["CrossEncoderConfig", "CrossEncoderReranker"]
