"""Stage 2: re-rankers that read the query and its candidates together, and the fusion of both stages."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from cear.reranking.cross_encoder import CrossEncoderConfig, CrossEncoderReranker
from cear.reranking.features import log_probabilities, stage1_features
from cear.reranking.fusion import STAGE2_ALONE, Fusion, choose_fusion
from cear.reranking.kg_bert import KgBertReranker, KgBertRerankerConfig
from cear.reranking.learned import WEIGHTS, LearnedReranker
from cear.reranking.outsiders import OldEntitiesAlone, rereading
from cear.reranking.reranker import (
    STAGE1_INPUTS,
    GroupsInputs,
    LearnsFrom,
    Phase,
    Reranker,
    RerankerConfig,
    RereadsEntities,
    Trainable,
    Upstream,
)
from cear.reranking.sequence import SequenceConfig, SequenceReranker
from cear.reranking.task import Examples, Stage2Task, Trained, train_phases
from cear.reranking.wide import EndToEndConfig, WideConfig, WideReranker

if TYPE_CHECKING:
    from cear.reranking.registry import RERANKERS, AnyReranker, load_reranker

__all__ = [
    "RERANKERS",
    "STAGE1_INPUTS",
    "STAGE2_ALONE",
    "WEIGHTS",
    "AnyReranker",
    "CrossEncoderConfig",
    "CrossEncoderReranker",
    "EndToEndConfig",
    "Examples",
    "Fusion",
    "GroupsInputs",
    "KgBertReranker",
    "KgBertRerankerConfig",
    "LearnedReranker",
    "LearnsFrom",
    "OldEntitiesAlone",
    "Phase",
    "Reranker",
    "RerankerConfig",
    "RereadsEntities",
    "SequenceConfig",
    "SequenceReranker",
    "Stage2Task",
    "Trainable",
    "Trained",
    "Upstream",
    "WideConfig",
    "WideReranker",
    "choose_fusion",
    "load_reranker",
    "log_probabilities",
    "rereading",
    "stage1_features",
    "train_phases",
]


def __getattr__(name: str) -> Any:
    """The registry, when it is first asked for: it loads the plug-ins of installed packages, which import from here."""
    if name in ("RERANKERS", "AnyReranker", "load_reranker"):
        return getattr(import_module("cear.reranking.registry"), name)
    raise AttributeError(f"module 'cear.reranking' has no attribute {name!r}")
