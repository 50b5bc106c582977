"""ExtremeText: a probabilistic label tree over all entities, asked with the words of the query."""

from cear.retrieval.extreme_text.config import TreeSettings
from cear.retrieval.extreme_text.model import ExtremeText
from cear.retrieval.extreme_text.origin import origin_of
from cear.retrieval.extreme_text.plugin import ExtremeTextConfig
from cear.retrieval.extreme_text.training import SideTraining, train_extreme_text

__all__ = ["ExtremeText", "ExtremeTextConfig", "SideTraining", "TreeSettings", "origin_of", "train_extreme_text"]
