"""The settings of KG-BERT as a re-ranker; the defaults are the published ones, on the embedded encoder."""

from __future__ import annotations

from typing import Literal

from pydantic import PositiveFloat, PositiveInt

from cear.reranking.reranker import RerankerConfig
from cear.retrieval import Corruption, FactForms


class KgBertSettings(FactForms, Corruption, RerankerConfig):
    """What KG-BERT reads, and how it is trained."""

    loss: Literal["bce", "softmax"] = "bce"
    """bce judges every fact on its own, as published; softmax compares a fact with its corruptions."""
    learning_rate: PositiveFloat = 5e-5
    """At the start; it falls linearly to zero."""
    epochs: PositiveInt = 5
    """Passes over the training lists, at most."""
