"""Texts: the encoders that read them, batches by tokens, and one vector for each entity and relation."""

from cear.texts.batches import deal, fill, padding
from cear.texts.encoders import EMBEDDED, Init, SpecialTokens, embedded_folder, load_encoder, positions, special_tokens
from cear.texts.lines import texts
from cear.texts.tuned import KeptVectors, TunedVectors, learn_last
from cear.texts.vectors import encode, pooled, text_vectors

__all__ = [
    "EMBEDDED",
    "Init",
    "KeptVectors",
    "SpecialTokens",
    "TunedVectors",
    "deal",
    "embedded_folder",
    "encode",
    "fill",
    "learn_last",
    "load_encoder",
    "padding",
    "pooled",
    "positions",
    "special_tokens",
    "text_vectors",
    "texts",
]
