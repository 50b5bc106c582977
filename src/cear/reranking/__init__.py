"""Stage 2: the language model reads the query and its candidates together and scores them anew."""

from cear.reranking.config import SequenceConfig
from cear.reranking.encoders import embedded_folder, load_encoder
from cear.reranking.fusion import STAGE2_ALONE, Fusion, choose_fusion
from cear.reranking.int8 import Int8Reranker
from cear.reranking.reranker import Reranker, SequenceReranker
from cear.reranking.training import train_stage2

__all__ = [
    "STAGE2_ALONE",
    "Fusion",
    "Int8Reranker",
    "Reranker",
    "SequenceConfig",
    "SequenceReranker",
    "choose_fusion",
    "embedded_folder",
    "load_encoder",
    "train_stage2",
]
