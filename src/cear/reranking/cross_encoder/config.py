"""The settings of a published cross-encoder as a re-ranker."""

from __future__ import annotations

from typing import Literal

from pydantic import PositiveFloat, PositiveInt

from cear.reranking.reranker import RerankerConfig


class CrossEncoderSettings(RerankerConfig):
    """What a cross-encoder reads, and whether it learns."""

    encoder: str = "cross-encoder/ms-marco-MiniLM-L6-v2"
    """A folder with a CrossEncoder of sentence-transformers, or a name on the Hugging Face hub."""
    tune: bool = True
    """false takes it as it was published; true trains it further on the lists."""
    text: Literal["name", "description"] = "description"
    """description writes the name of an entity and, where there is one, the description after it."""
    form_tokens: PositiveInt = 48
    """A question, and a candidate, is cut to so many tokens."""
    learning_rate: PositiveFloat = 2e-5
    """At the start; it falls linearly to zero."""
