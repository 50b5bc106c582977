"""Texts: encoders, surface forms, sequences, batches by tokens, and one vector for each entity and relation."""

from cear.texts.batches import pack_by_tokens, padding, shuffled_batches
from cear.texts.cross_encoders import PairForm, load_cross_encoder
from cear.texts.encoders import EMBEDDED, Init, SpecialTokens, embedded_folder, load_encoder, positions, special_tokens
from cear.texts.lines import texts
from cear.texts.sequences import TokenBatch, read_in_batches
from cear.texts.surface import SurfaceForms, cut, surface_forms, surround, tokens_of
from cear.texts.tuned import KeptVectors, TunedVectors, learn_last
from cear.texts.vectors import TextReader, encode, pooled, text_vectors
from cear.texts.words import numbered, words_of

__all__ = [
    "EMBEDDED",
    "Init",
    "KeptVectors",
    "PairForm",
    "SpecialTokens",
    "SurfaceForms",
    "TextReader",
    "TokenBatch",
    "TunedVectors",
    "cut",
    "embedded_folder",
    "encode",
    "learn_last",
    "load_cross_encoder",
    "load_encoder",
    "numbered",
    "pack_by_tokens",
    "padding",
    "pooled",
    "positions",
    "read_in_batches",
    "shuffled_batches",
    "special_tokens",
    "surface_forms",
    "surround",
    "text_vectors",
    "texts",
    "tokens_of",
    "words_of",
]
