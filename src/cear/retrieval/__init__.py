"""Stage 1: retrievers that rank every entity, one plug-in a file or folder, and exact top-k search."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from cear.retrieval.complex import ComplEx, ComplExConfig
from cear.retrieval.conve import ConvE, ConvEConfig
from cear.retrieval.coper_conve import CoPERConvE, CoPERConvEConfig
from cear.retrieval.distances import Distance, DistanceConfig
from cear.retrieval.distmult import DistMult, DistMultConfig
from cear.retrieval.embeddings import (
    EMBEDDINGS,
    EmbeddingConfig,
    Embeddings,
    LstmConfig,
    RowsConfig,
    RowsEmbeddings,
    TextProjectionConfig,
    Vectors,
)
from cear.retrieval.extreme_text import ExtremeText, ExtremeTextConfig, SideTraining, TreeSettings, train_extreme_text
from cear.retrieval.gradient import GradientConfig
from cear.retrieval.kg_bert import (
    Classification,
    Corruption,
    DrawnCandidates,
    FactForms,
    FactReader,
    JudgedFacts,
    KgBert,
    KgBertConfig,
    RelationPredictionConfig,
    RelationPredictor,
    choose_threshold,
    corrupted_facts,
    draw_training,
    facts_of,
    read_judged,
)
from cear.retrieval.losses import LOSSES, Loss, SelfAdversarialLoss, SoftmaxLoss
from cear.retrieval.retriever import Fitted, Retriever, RetrieverConfig, SearchesItself, SlowToRank
from cear.retrieval.rotate import RotatE, RotatEConfig
from cear.retrieval.rules import (
    Atom,
    FiredRule,
    RuleBook,
    RuleRetriever,
    RulesConfig,
    RuleSettings,
    learn_rules,
    load_rules,
    save_rules,
)
from cear.retrieval.scorer import DotProductScorer, Scorer
from cear.retrieval.search import best_of, candidate_scores, top_k
from cear.retrieval.text import TextConfig, TextScorer
from cear.retrieval.transe import TransE, TransEConfig

if TYPE_CHECKING:
    from cear.retrieval.registry import RETRIEVERS, AnyRetriever

__all__ = [
    "EMBEDDINGS",
    "LOSSES",
    "RETRIEVERS",
    "AnyRetriever",
    "Atom",
    "Classification",
    "CoPERConvE",
    "CoPERConvEConfig",
    "ComplEx",
    "ComplExConfig",
    "ConvE",
    "ConvEConfig",
    "Corruption",
    "DistMult",
    "DistMultConfig",
    "Distance",
    "DistanceConfig",
    "DotProductScorer",
    "DrawnCandidates",
    "EmbeddingConfig",
    "Embeddings",
    "ExtremeText",
    "ExtremeTextConfig",
    "FactForms",
    "FactReader",
    "FiredRule",
    "Fitted",
    "GradientConfig",
    "JudgedFacts",
    "KgBert",
    "KgBertConfig",
    "Loss",
    "LstmConfig",
    "RelationPredictionConfig",
    "RelationPredictor",
    "Retriever",
    "RetrieverConfig",
    "RotatE",
    "RotatEConfig",
    "RowsConfig",
    "RowsEmbeddings",
    "RuleBook",
    "RuleRetriever",
    "RuleSettings",
    "RulesConfig",
    "Scorer",
    "SearchesItself",
    "SelfAdversarialLoss",
    "SideTraining",
    "SlowToRank",
    "SoftmaxLoss",
    "TextConfig",
    "TextProjectionConfig",
    "TextScorer",
    "TransE",
    "TransEConfig",
    "TreeSettings",
    "Vectors",
    "best_of",
    "candidate_scores",
    "choose_threshold",
    "corrupted_facts",
    "draw_training",
    "facts_of",
    "learn_rules",
    "load_rules",
    "read_judged",
    "save_rules",
    "top_k",
    "train_extreme_text",
]


def __getattr__(name: str) -> Any:
    """The registry, when it is first asked for: it loads the plug-ins of installed packages, which import from here."""
    if name in ("RETRIEVERS", "AnyRetriever"):
        return getattr(import_module("cear.retrieval.registry"), name)
    raise AttributeError(f"module 'cear.retrieval' has no attribute {name!r}")
