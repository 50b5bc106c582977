"""Elements of HTML and SVG as text. Whatever is not markup already is escaped."""

from __future__ import annotations

import re
from html import escape

_VOID = ("meta",)  # elements without an end
_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Markup(str):
    """Text that is markup and is not escaped again."""

    __slots__ = ()


def tag(name: str, /, *children: str, **attributes: str | float | None) -> Markup:
    """An element; `class_` is class, `stroke_width` is stroke-width, and None leaves an attribute out.

    >>> tag("a", "R&D", tag("b", "!"), href="x.json", class_=None)
    '<a href="x.json">R&amp;D<b>!</b></a>'
    """
    given = "".join(f' {_key(key)}="{_text(value)}"' for key, value in attributes.items() if value is not None)
    if name in _VOID:
        return Markup(f"<{name}{given}/>")
    return Markup(f"<{name}{given}>{joined(*children)}</{name}>")


def joined(*children: str, by: str = "") -> Markup:
    """Elements and texts one after the other."""
    return Markup(by.join(each if isinstance(each, Markup) else _text(each) for each in children))


def _key(name: str) -> str:
    return name.rstrip("_").replace("_", "-")


def _text(value: str | float) -> str:
    """A value as it may stand between tags and in quotes; places are precise to a hundredth."""
    shown = value if isinstance(value, str) else f"{round(value, 2):.10g}"
    return escape(_NOT_IN_XML.sub("", shown))
