"""Stage 1: fast scorers, rules and label trees that rank every entity, losses and training, and exact top-k search."""

from cear.retrieval.complex import ComplEx
from cear.retrieval.complex_lstm import ComplExLSTM
from cear.retrieval.config import Stage1Config
from cear.retrieval.distmult import DistMult
from cear.retrieval.extreme_text import ExtremeText, ExtremeTextConfig, SideTraining, train_extreme_text
from cear.retrieval.models import MODELS, TEXT_MODELS, build_scorer, scorer_for
from cear.retrieval.rotate import RotatE
from cear.retrieval.rules import (
    Atom,
    FiredRule,
    RuleBook,
    RuleRetriever,
    RulesConfig,
    learn_rules,
    load_rules,
    save_rules,
)
from cear.retrieval.scorer import DotProductScorer, Retriever, Scorer, SearchesItself
from cear.retrieval.search import top_k
from cear.retrieval.stage1 import load_stage1, train_stage1
from cear.retrieval.text.config import TextConfig
from cear.retrieval.text.scorer import TextScorer
from cear.retrieval.transe import TransE

__all__ = [
    "MODELS",
    "TEXT_MODELS",
    "Atom",
    "ComplEx",
    "ComplExLSTM",
    "DistMult",
    "DotProductScorer",
    "ExtremeText",
    "ExtremeTextConfig",
    "FiredRule",
    "Retriever",
    "RotatE",
    "RuleBook",
    "RuleRetriever",
    "RulesConfig",
    "Scorer",
    "SearchesItself",
    "SideTraining",
    "Stage1Config",
    "TextConfig",
    "TextScorer",
    "TransE",
    "build_scorer",
    "learn_rules",
    "load_rules",
    "load_stage1",
    "save_rules",
    "scorer_for",
    "top_k",
    "train_extreme_text",
    "train_stage1",
]
