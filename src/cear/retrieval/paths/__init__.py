"""A Stage 1 that follows paths: messages start at the entity of a query and pass along relations."""

from cear.retrieval.paths.config import PathSettings
from cear.retrieval.paths.network import PathNetwork
from cear.retrieval.paths.plugin import PathsConfig
from cear.retrieval.paths.retriever import PathRetriever

__all__ = ["PathNetwork", "PathRetriever", "PathSettings", "PathsConfig"]
