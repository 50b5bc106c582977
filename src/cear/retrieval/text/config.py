"""Every setting of the text retriever and its default, in one place."""

from __future__ import annotations

from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt

from cear.core.settings import Settings
from cear.texts import EMBEDDED


class TuneConfig(Settings):
    """Training of the encoder itself."""

    layers: PositiveInt | None = None
    """So many of its last layers learn; null lets all of it, the vectors of words too."""
    warm_up: NonNegativeInt = 2
    """So many first epochs leave it as it is and read nothing, while the rest finds its way."""
    learning_rate: PositiveFloat = 5e-5
    """Of the encoder, at the start; it falls linearly to zero."""


class TextSettings(Settings):
    """How queries and entities are read, and what competes in a step of training."""

    tune: TuneConfig | None = None
    """null learns a transformation of text vectors that stay as they are; settings train who makes the vectors."""
    encoder: str = EMBEDDED
    """Who reads the texts: embedded (all-MiniLM-L6-v2), a folder with a Hugging Face encoder, or a name on its hub."""
    tokens: PositiveInt = 48
    """A text is cut to so many tokens before it is encoded."""
    hidden: PositiveInt = 512
    """Width of the hidden layer of the query's transformation."""
    words: NonNegativeInt = 256
    """Width of the vectors of words and pieces of words, which say what texts share letter by letter; 0 has none."""
    dropout: float = Field(default=0.1, ge=0, lt=1)
    """In that hidden layer, and in those of the encoder when it is tuned."""
    negatives: NonNegativeInt = 2000
    """Entities drawn at random to compete in a step, beside the answers and the subjects of its queries."""
    hard: NonNegativeInt = 1
    """Entities drawn for each answer from those whose text vectors are nearest to its own, to compete as well."""
    learning_rate: PositiveFloat = 1e-3
    """Of the transformations, at the start; it falls linearly to zero."""
    word_learning_rate: PositiveFloat = 8e-3
    """Of the vectors of words, at the start; it falls linearly to zero."""
