"""Stage 2: the query and its candidates are read together and scored anew, in one sequence or one token each."""

from cear.reranking.config import RerankerConfig, SequenceConfig, WideConfig
from cear.reranking.fusion import STAGE2_ALONE, Fusion, choose_fusion
from cear.reranking.int8 import Int8Reranker
from cear.reranking.reranker import Reranker, SequenceReranker, Trainable
from cear.reranking.training import train_stage2
from cear.reranking.wide import WideReranker

__all__ = [
    "STAGE2_ALONE",
    "Fusion",
    "Int8Reranker",
    "Reranker",
    "RerankerConfig",
    "SequenceConfig",
    "SequenceReranker",
    "Trainable",
    "WideConfig",
    "WideReranker",
    "choose_fusion",
    "train_stage2",
]
