"""KG-BERT: a language model reads a fact and says whether it is true, or which relation holds between two entities."""

from cear.retrieval.kg_bert.classification import Classification, choose_threshold, corrupted_facts, read_judged
from cear.retrieval.kg_bert.config import Corruption, FactForms
from cear.retrieval.kg_bert.drawing import DrawnCandidates, JudgedFacts, draw_training
from cear.retrieval.kg_bert.plugin import KgBertConfig
from cear.retrieval.kg_bert.reader import FactReader, facts_of
from cear.retrieval.kg_bert.relations import RelationPredictionConfig, RelationPredictor
from cear.retrieval.kg_bert.retriever import KgBert

__all__ = [
    "Classification",
    "Corruption",
    "DrawnCandidates",
    "FactForms",
    "FactReader",
    "JudgedFacts",
    "KgBert",
    "KgBertConfig",
    "RelationPredictionConfig",
    "RelationPredictor",
    "choose_threshold",
    "corrupted_facts",
    "draw_training",
    "facts_of",
    "read_judged",
]
