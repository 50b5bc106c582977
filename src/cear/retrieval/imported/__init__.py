"""Trained models of other libraries as Stage 1: read without running anything of them, converted once."""

from cear.retrieval.imported.layout import write_scorer
from cear.retrieval.imported.plugin import ImportedConfig

__all__ = ["ImportedConfig", "write_scorer"]
