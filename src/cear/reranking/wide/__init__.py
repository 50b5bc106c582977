"""The wide re-ranker: a candidate is one token, so that hundreds of them can attend to each other."""

from cear.reranking.wide.config import EndToEndConfig
from cear.reranking.wide.plugin import WideConfig
from cear.reranking.wide.reranker import WideReranker

__all__ = ["EndToEndConfig", "WideConfig", "WideReranker"]
