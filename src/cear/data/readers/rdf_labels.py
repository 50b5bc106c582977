"""Which of a thing's labels is its name: by language, then by script, never by the order of the file."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple


class Label(NamedTuple):
    """A text about a thing: its language, in lower case and "" for none, and how good its property is, 0 the best."""

    language: str
    property_rank: int
    text: str


Labels = Mapping[str, Sequence[Label]]
"""The labels of each IRI."""


def best_texts(labels: Labels, languages: Sequence[str], usual: str | None) -> dict[str, str]:
    """The text of each IRI that stands first: by language, by property, by the alphabet.

    The preferred languages come first, in their order; then texts without a language, then those in the `usual`
    script, then all others.
    """

    def rank(label: Label) -> tuple[int, Label]:
        return _language_rank(label, tuple(languages), usual), label

    return {iri: min(each, key=rank).text for iri, each in labels.items()}


def usual_script(labels: Labels) -> str | None:
    """The script of most labels, or None when there are none; of two equally frequent ones the first by alphabet."""
    counts = Counter(script_of(label.text) for each in labels.values() for label in each)
    del counts[""]
    return min(counts, key=lambda script: (-counts[script], script), default=None)


def script_of(text: str) -> str:
    """The script of the first letter of a text, "" without one.

    >>> script_of("1. Москва"), script_of("Paris"), script_of("42")
    ('CYRILLIC', 'LATIN', '')
    """
    return next((_script(letter) for letter in text if letter.isalpha()), "")


def _language_rank(label: Label, languages: tuple[str, ...], usual: str | None) -> int:
    if not label.language:
        return len(languages)
    preferred = _preferred(label.language, languages)
    if preferred is not None:
        return preferred
    return len(languages) + (1 if script_of(label.text) == usual else 2)


@cache
def _preferred(language: str, languages: tuple[str, ...]) -> int | None:
    """The place of a language, with or without its region, among the preferred ones."""
    found = (place for place, each in enumerate(languages) if language == each or language.startswith(f"{each}-"))
    return next(found, None)


@cache
def _script(letter: str) -> str:
    # Python has no table of scripts; the names of characters begin with theirs: LATIN SMALL LETTER A.
    return unicodedata.name(letter, "").partition(" ")[0]
