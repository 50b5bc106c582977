"""Stage 1: fast scorers that rank every entity, their losses and training, and exact top-k search."""

from cear.retrieval.complex import ComplEx
from cear.retrieval.config import Stage1Config
from cear.retrieval.distmult import DistMult
from cear.retrieval.extreme_text import ExtremeText, ExtremeTextConfig, SideTraining, train_extreme_text
from cear.retrieval.models import MODELS, build_scorer
from cear.retrieval.rotate import RotatE
from cear.retrieval.scorer import DotProductScorer, Scorer
from cear.retrieval.search import top_k
from cear.retrieval.training import train_stage1
from cear.retrieval.transe import TransE

__all__ = [
    "MODELS",
    "ComplEx",
    "DistMult",
    "DotProductScorer",
    "ExtremeText",
    "ExtremeTextConfig",
    "RotatE",
    "Scorer",
    "SideTraining",
    "Stage1Config",
    "TransE",
    "build_scorer",
    "top_k",
    "train_extreme_text",
    "train_stage1",
]
