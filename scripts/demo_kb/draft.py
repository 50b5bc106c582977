"""A knowledge base in the making: facts by id, and names no two entities share."""

from __future__ import annotations

import unicodedata
from typing import NamedTuple


class Fact(NamedTuple):
    """A subject, a relation and an object, by id."""

    head: str
    relation: str
    tail: str


def plain(text: str) -> str:
    """The text without accents and letter case: what two names must differ in.

    >>> plain("Kraków"), plain("Tromsø")
    ('krakow', 'tromso')
    """
    return without_accents(text.translate(str.maketrans("øØłŁđĐıʻ‘’", "oOlLdDi'''"))).casefold()


def without_accents(text: str) -> str:
    """The text with bare letters.

    >>> without_accents("Mazār-e Sharīf")
    'Mazar-e Sharif'
    """
    return "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))


def slug(text: str) -> str:
    """The text as a part of an id: plain letters, digits and hyphens."""
    return "-".join("".join(c if c.isalnum() else " " for c in plain(text).replace("'", "")).split())


class Draft:
    """A knowledge base in the making: names by id, and facts."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        self.facts: list[Fact] = []
        self._taken: set[str] = set()

    def entity(self, id_: str, name: str, *, if_taken: str) -> str:
        """The id, now named; a name that an earlier entity has gets `if_taken` in parentheses behind it."""
        if id_ not in self.names:
            unique = f"{name} ({if_taken})" if plain(name) in self._taken else name
            if plain(unique) in self._taken:
                raise SystemExit(f"Two entities would be called {unique!r}; correct one, the second is {id_}.")
            self._taken.add(plain(unique))
            self.names[id_] = unique
        return id_

    def is_taken(self, name: str) -> bool:
        """Whether an entity has this name, accents and letter case aside."""
        return plain(name) in self._taken

    def fact(self, head: str, relation: str, tail: str) -> None:
        """Add a fact."""
        self.facts.append(Fact(head, relation, tail))
