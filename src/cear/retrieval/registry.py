"""The retrievers by name: a dictionary to read, and one type for the settings of any of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cear.core.registry import union_of, with_installed
from cear.retrieval.complex import ComplExConfig
from cear.retrieval.conve import ConvEConfig
from cear.retrieval.coper_conve import CoPERConvEConfig
from cear.retrieval.distmult import DistMultConfig
from cear.retrieval.extreme_text import ExtremeTextConfig
from cear.retrieval.imported import ImportedConfig
from cear.retrieval.kg_bert import KgBertConfig
from cear.retrieval.listed import ListsConfig
from cear.retrieval.paths import PathsConfig
from cear.retrieval.retriever import RetrieverConfig
from cear.retrieval.rotate import RotatEConfig
from cear.retrieval.rules import RulesConfig
from cear.retrieval.text import TextConfig
from cear.retrieval.transe import TransEConfig

RETRIEVERS: dict[str, type[RetrieverConfig]] = with_installed(
    {
        "complex": ComplExConfig,
        "conve": ConvEConfig,
        "coper_conve": CoPERConvEConfig,
        "distmult": DistMultConfig,
        "rotate": RotatEConfig,
        "transe": TransEConfig,
        "rules": RulesConfig,
        "paths": PathsConfig,
        "text": TextConfig,
        "extreme_text": ExtremeTextConfig,
        "imported": ImportedConfig,
        "lists": ListsConfig,
        "kg_bert": KgBertConfig,
    },
    "cear.retrievers",
)

if TYPE_CHECKING:
    AnyRetriever = RetrieverConfig
else:
    AnyRetriever = union_of(RETRIEVERS, "model", default="complex")
