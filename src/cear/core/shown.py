"""What is shown of a text that a stranger wrote: nothing hidden, nothing obeyed, no more than one can read.

Files keep names as they are; only what people see on a terminal goes through here.
"""

from __future__ import annotations

import unicodedata

LINE = 4_000  # characters of a line that are shown
NAME = 500  # characters of a name or a fact in a table

# Controls, marks of direction and of no width, halves of characters, separators of lines and of paragraphs.
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0")  # letters by category, and as invisible
_LAYOUT = frozenset("\n\t")  # our own messages have several lines
_NOTE = 60  # characters that the note about a cut may take


class _Escapes(dict[int, str]):
    """How each character is shown, found out when it first appears."""

    def __missing__(self, code: int) -> str:
        self[code] = _seen(chr(code))
        return self[code]


def _seen(character: str) -> str:
    hidden = unicodedata.category(character) in _HIDDEN or character in _BLANK
    return _escaped(character) if hidden and character not in _LAYOUT else character


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


_ESCAPES = _Escapes()


def shown(text: str) -> str:
    r"""The text with every hidden character escaped, and without the middle of lines that are too long.

    Line breaks and tabs stay. What is shown once may be shown again: nothing changes any more.

    >>> print(shown("a name \x1b]0;that sets a title\x07 or \u202edaer si\u202c backwards"))
    a name \x1b]0;that sets a title\x07 or \u202edaer si\u202c backwards
    """
    if len(text) <= LINE and text.isascii() and text.isprintable():  # as nearly all are
        return text
    return "\n".join(_cut(line, LINE) for line in text.translate(_ESCAPES).split("\n"))


def one_line(text: str, most: int = NAME) -> str:
    r"""A name or a fact as it stands in a table: in one line, so that none can write a line of its own.

    >>> print(one_line("Town 1\nNothing is wrong with it."))
    Town 1\nNothing is wrong with it.
    """
    flat = text.translate(_ESCAPES)
    for character in _LAYOUT:
        flat = flat.replace(character, _escaped(character))
    return _cut(flat, most)


def _cut(line: str, most: int) -> str:
    """The beginning of a long line, how much is left out, and its end, where an error says what to do."""
    if len(line) <= most:
        return line
    half = (most - _NOTE) // 2
    return f"{line[:half]}… {len(line) - 2 * half:,} characters left out …{line[-half:]}"
