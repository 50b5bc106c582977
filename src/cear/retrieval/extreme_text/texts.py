"""Text as numbers: words, and pairs of neighbouring words hashed into buckets (fastText, Joulin et al. 2017)."""

from __future__ import annotations

import numpy as np
import polars as pl

from cear.core.types import Bools, Ints, Ragged
from cear.texts import numbered, words_of

_MIX = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio (Knuth's multiplicative hashing)


def text_features(texts: pl.Series, *, buckets: int) -> Ragged:
    """The features of each text: first the numbers of its words, then those of its pairs of words.

    >>> features = text_features(pl.Series(["New York", "york"]), buckets=10)
    >>> features.row(0)[:2], features.row(1)  # new is 0, york is 1
    (array([0, 1]), array([1]))
    """
    words = words_of(texts)
    ids, n_words = numbered(words)
    row = np.repeat(np.arange(len(texts)), words.list.len().to_numpy())
    neighbours = row[1:] == row[:-1]
    pair = n_words + _hash(ids[:-1][neighbours] * n_words + ids[1:][neighbours], buckets)
    return Ragged.grouped(np.concatenate([row, row[1:][neighbours]]), np.concatenate([ids, pair]), len(texts))


def stacked(*parts: Ragged) -> Ragged:
    """All rows of all parts, one part below the other; equal numbers of different parts are made different."""
    ends = np.cumsum([0, *(len(part.values) for part in parts)])
    widths = np.cumsum([0, *(int(part.values.max(initial=-1)) + 1 for part in parts)])
    offsets = [part.offsets[:-1] + end for part, end in zip(parts, ends[:-1], strict=True)]
    values = [part.values + width for part, width in zip(parts, widths[:-1], strict=True)]
    return Ragged(np.concatenate([*offsets, ends[-1:]]), np.concatenate(values))


def only(features: Ragged, kept: Bools) -> Ragged:
    """The same rows without the features that are not kept, (feature,); the others are numbered from 0."""
    inside = kept[features.values]
    number = np.cumsum(kept) - 1
    return Ragged.grouped(features.rows[inside], number[features.values[inside]], len(features))


def _hash(keys: Ints, buckets: int) -> Ints:
    """A number below `buckets` for each key; neighbouring keys go to unrelated ones."""
    mixed = (keys.astype(np.uint64) * _MIX) >> np.uint64(20)
    return (mixed % np.uint64(buckets)).astype(np.int64)
