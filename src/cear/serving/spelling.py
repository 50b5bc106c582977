"""What of a name counts when people type it: its words, without case, accents and signs, in any script."""

from __future__ import annotations

import re
import unicodedata

LONGEST = 64  # characters of a word that count
MOST = 32  # words of a name that count

# Letters of their own that people without the keyboard type otherwise; Unicode does not take them apart.
_OTHERWISE = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i"})
_DROPPED = re.compile("['`´‘’ʻʼ]")  # O'Neill is one word, and is also typed as one
_CHINESE = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff"  # with Japanese syllables: no blanks
_SIGNS = r"\s!-/:-@\[-`{-~\xa1-\xbf\u2000-\u206f\u3000-\u303f"
_WORD = re.compile(f"[{_CHINESE}]|[^{_SIGNS}{_CHINESE}]+")
_ASCII_WORD = re.compile("[0-9a-z]+")


def folded(text: str) -> str:
    """What is left of a text when letter case, accents, widths and invisible characters do not count.

    >>> folded("São TOMÉ"), folded("Łódź"), folded("ＷＩＤＥ")
    ('sao tome', 'lodz', 'wide')
    """
    if text.isascii():  # as most are
        return _DROPPED.sub("", text.lower())
    # Folding the case may make new letters with accents, so they are taken apart again (Unicode's D146).
    apart = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    kept = "".join(character for character in apart if character.isascii() or not _does_not_count(character))
    return _DROPPED.sub("", unicodedata.normalize("NFKC", kept).translate(_OTHERWISE))


def _does_not_count(character: str) -> bool:
    """Whether it is an accent, a point of Hebrew or Arabic, or invisible; vowels of Indic scripts are none of them."""
    mark = unicodedata.combining(character)
    return mark >= 200 or 10 <= mark <= 35 or unicodedata.category(character) == "Cf"


def words(text: str) -> list[str]:
    """The words of a text that is folded; each character of Chinese, which has no blanks, is one.

    A text of nothing but signs is a word itself: there is a band called !!!.

    >>> words(folded("Saint-Étienne (Loire)")), words(folded("東京 2020")), words("!!!")
    (['saint', 'etienne', 'loire'], ['東', '京', '2020'], ['!!!'])
    """
    found = (_ASCII_WORD if text.isascii() else _WORD).findall(text) or text.split()
    return [word[:LONGEST] for word in found[:MOST]]
