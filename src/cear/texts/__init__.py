"""Texts: the encoders that read them, batches by tokens, and one vector for each entity and relation."""

from cear.texts.batches import pack_by_tokens, padding, shuffled_batches
from cear.texts.encoders import EMBEDDED, Init, SpecialTokens, embedded_folder, load_encoder, positions, special_tokens
from cear.texts.lines import texts
from cear.texts.tuned import KeptVectors, TunedVectors, learn_last
from cear.texts.vectors import encode, pooled, text_vectors
from cear.texts.words import numbered, words_of

__all__ = [
    "EMBEDDED",
    "Init",
    "KeptVectors",
    "SpecialTokens",
    "TunedVectors",
    "embedded_folder",
    "encode",
    "learn_last",
    "load_encoder",
    "numbered",
    "pack_by_tokens",
    "padding",
    "pooled",
    "positions",
    "shuffled_batches",
    "special_tokens",
    "text_vectors",
    "texts",
    "words_of",
]
