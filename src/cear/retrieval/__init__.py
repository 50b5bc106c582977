"""Stage 1: retrievers that rank every entity, one plug-in a file or folder, and exact top-k search."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from cear.retrieval.behind import NewcomersBehind, with_new_entities
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
    MappedRows,
    RowsConfig,
    RowsEmbeddings,
    TextProjectionConfig,
    Vectors,
)
from cear.retrieval.extreme_text import (
    ExtremeText,
    ExtremeTextConfig,
    SideInParts,
    SidePart,
    SideTraining,
    TreeSettings,
    closed_nodes,
    map_side,
    side_file,
    train_extreme_text,
)
from cear.retrieval.gradient import GradientConfig
from cear.retrieval.imported import ImportedConfig, write_scorer
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
from cear.retrieval.listed import ListedRetriever, ListsConfig, Rankings, encoded_id, is_parquet, read_rankings
from cear.retrieval.losses import LOSSES, Loss, SelfAdversarialLoss, SoftmaxLoss
from cear.retrieval.parts import EntityPart, InParts, Pending, slices_of
from cear.retrieval.paths import PathRetriever, PathsConfig
from cear.retrieval.pykeen_weights import export_pykeen, has_pykeen_model
from cear.retrieval.retriever import (
    Fitted,
    GivesReasons,
    Holders,
    Retriever,
    RetrieverConfig,
    SearchesItself,
    SlowToRank,
    TakesNewEntities,
    learned,
)
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
    "EntityPart",
    "ExtremeText",
    "ExtremeTextConfig",
    "FactForms",
    "FactReader",
    "FiredRule",
    "Fitted",
    "GivesReasons",
    "GradientConfig",
    "Holders",
    "ImportedConfig",
    "InParts",
    "JudgedFacts",
    "KgBert",
    "KgBertConfig",
    "ListedRetriever",
    "ListsConfig",
    "Loss",
    "LstmConfig",
    "MappedRows",
    "NewcomersBehind",
    "PathRetriever",
    "PathsConfig",
    "Pending",
    "Rankings",
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
    "SideInParts",
    "SidePart",
    "SideTraining",
    "SlowToRank",
    "SoftmaxLoss",
    "TakesNewEntities",
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
    "closed_nodes",
    "corrupted_facts",
    "draw_training",
    "encoded_id",
    "export_pykeen",
    "facts_of",
    "has_pykeen_model",
    "is_parquet",
    "learn_rules",
    "learned",
    "load_rules",
    "map_side",
    "read_judged",
    "read_rankings",
    "save_rules",
    "side_file",
    "slices_of",
    "top_k",
    "train_extreme_text",
    "with_new_entities",
    "write_scorer",
]


def __getattr__(name: str) -> Any:
    """The registry, when it is first asked for: it loads the plug-ins of installed packages, which import from here."""
    if name in ("RETRIEVERS", "AnyRetriever"):
        return getattr(import_module("cear.retrieval.registry"), name)
    raise AttributeError(f"module 'cear.retrieval' has no attribute {name!r}")
