"""Names as people type them: another encoding, letter case or spacing of a text is the same name."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence


def composed(text: str) -> str:
    r"""The text with a letter and its accents as one character, wherever there is one (NFC): one form of many.

    >>> composed("Sa\u0303o Tome\u0301") == "S\u00e3o Tom\u00e9"
    True
    """
    return unicodedata.normalize("NFC", text)


def folded(text: str) -> str:
    """What is left of a text when encoding, letter case, widths and blanks around and between words do not count.

    >>> folded("  New   YORK ")
    'new york'
    """
    if not text.isascii():  # as most names are, and then there is one form only
        # Folding may part what was one character, so that it is made one form again (Unicode's D146).
        text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return " ".join(text.casefold().split())


class NameIndex:
    """Finds the integers that have a name, among millions as fast as among ten. Made in a second or two of a million.

    >>> index = NameIndex(["Polish", "polish", "Paris"])
    >>> index.find("polish"), index.find("POLISH"), index.find(" paris")
    ([1], [0, 1], [2])
    """

    def __init__(self, names: Sequence[str]) -> None:
        """Names by integer."""
        self._names = names
        self._first: dict[str, int] = {}
        self._others: dict[str, list[int]] = {}  # most names are nobody else's: no list for each
        for index, name in enumerate(names):
            key = folded(name)
            if self._first.setdefault(key, index) != index:
                self._others.setdefault(key, []).append(index)

    def find(self, text: str) -> list[int]:
        """The integers whose name is `text`: exactly; else in another encoding; else letter case and blanks aside."""
        key = folded(text)
        if key not in self._first:
            return []
        alike = [self._first[key], *self._others.get(key, ())]
        exact = [index for index in alike if self._names[index] == text]  # "Polish" is not "polish" where both exist
        return exact or [index for index in alike if composed(self._names[index]) == composed(text)] or alike
