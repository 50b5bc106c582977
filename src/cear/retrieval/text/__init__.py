"""A Stage 1 that reads: queries and entities as vectors of their texts."""

from cear.retrieval.text.config import TextSettings, TuneConfig
from cear.retrieval.text.plugin import TextConfig
from cear.retrieval.text.scorer import TextScorer

__all__ = ["TextConfig", "TextScorer", "TextSettings", "TuneConfig"]
