"""Lists of anyone as Stage 1: readers of several formats, and a retriever whose scores are what a file says."""

from cear.retrieval.listed.plugin import ListsConfig
from cear.retrieval.listed.rankings import Rankings
from cear.retrieval.listed.reading import is_parquet, read_rankings
from cear.retrieval.listed.retriever import ListedRetriever
from cear.retrieval.listed.trec import encoded_id

__all__ = ["ListedRetriever", "ListsConfig", "Rankings", "encoded_id", "is_parquet", "read_rankings"]
