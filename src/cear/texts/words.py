"""Texts as words, and words as numbers."""

from __future__ import annotations

import numpy as np
import polars as pl

from cear.core.types import Ints

_WORD = r"[\p{L}\p{M}\p{N}]+"  # letters with their marks, and digits, of any script


def words_of(texts: pl.Series) -> pl.Series:
    """The words of each text in lower case; a text without any, such as "?!", is one word itself.

    >>> words_of(pl.Series(["New York!", "?!"])).to_list()
    [['new', 'york'], ['?!']]
    """
    lower = pl.col("text").str.to_lowercase()
    words = lower.str.extract_all(_WORD)
    found = pl.when(words.list.len() > 0).then(words).otherwise(pl.concat_list(lower))
    return texts.alias("text").to_frame().select(found.alias("words"))["words"]


def numbered(words: pl.Series) -> tuple[Ints, int]:
    """The words of all texts, one text after the other, as numbers in alphabetical order; and how many there are.

    >>> numbered(pl.Series([["new", "york"], ["york"]]))
    (array([0, 1, 1]), 2)
    """
    flat = words.explode().drop_nulls()  # which some versions of Polars make of an empty list
    distinct = flat.unique().sort()
    return flat.cast(pl.Enum(distinct)).to_physical().to_numpy().astype(np.int64), len(distinct)
