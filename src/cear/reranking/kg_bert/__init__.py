"""KG-BERT as a re-ranker: every candidate is read in a fact of its own."""

from cear.reranking.kg_bert.plugin import KgBertRerankerConfig
from cear.reranking.kg_bert.reranker import KgBertReranker

__all__ = ["KgBertReranker", "KgBertRerankerConfig"]
