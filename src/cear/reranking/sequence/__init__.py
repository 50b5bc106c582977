"""The paper's re-ranker: the query and its candidates in one sequence of a language model."""

from cear.reranking.sequence.plugin import SequenceConfig
from cear.reranking.sequence.reranker import SequenceReranker

__all__ = ["SequenceConfig", "SequenceReranker"]
