"""ExtremeText: a probabilistic label tree over all entities, asked with the words of the query."""

from cear.retrieval.extreme_text.config import TreeSettings
from cear.retrieval.extreme_text.model import ExtremeText, side_file
from cear.retrieval.extreme_text.origin import origin_of
from cear.retrieval.extreme_text.parts import SideInParts, SidePart, closed_nodes, map_side
from cear.retrieval.extreme_text.plugin import ExtremeTextConfig
from cear.retrieval.extreme_text.training import SideTraining, train_extreme_text

__all__ = [
    "ExtremeText",
    "ExtremeTextConfig",
    "SideInParts",
    "SidePart",
    "SideTraining",
    "TreeSettings",
    "closed_nodes",
    "map_side",
    "origin_of",
    "side_file",
    "train_extreme_text",
]
