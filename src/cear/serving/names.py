"""Entities by what somebody types of their names: from the first letter on, with typos, among millions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from rapidfuzz import fuzz, process
from tantivy import Index, Occur, Order, Query

from cear.data import KnowledgeBase, cache_root
from cear.serving.name_index import SHORT, Names, index_of, whole_name
from cear.serving.spelling import folded, words

FOLDER = "names"
SAME = 100.0  # the score of the same words
TYPO = range(4, 33)  # letters of a word that may have a typo; what is longer would be slow, and is no word
TYPOS = range(8, 17)  # letters of a word that may have two, where nothing is found otherwise
_TYPED = 12  # words of a search that count
_LOOKED_AT = 100  # names, at least, whose likeness is compared


@dataclass(frozen=True, slots=True)
class Hit:
    """An entity that a text may mean."""

    id: str
    name: str
    score: float
    """How alike the text and the name, or an alias, are: 100 for the same words or the id, by rapidfuzz's WRatio."""


class NameSearch:
    """Finds entities by name, alias or id. Immutable; threads may share it.

    An index gives the names that match, those of entities with the most facts first, and likeness orders them.
    """

    def __init__(self, kb: KnowledgeBase, names: Names, index: Index) -> None:
        self.kb = kb
        self._names = names
        self._schema = index.schema
        self._searcher = index.searcher()

    @classmethod
    def of(cls, kb: KnowledgeBase, folder: Path | None = None) -> NameSearch:
        """The search over a knowledge base. Its index is kept in the folder, by default in the cache."""
        names = Names.of(kb)
        return cls(kb, names, index_of(names, cache_root() / FOLDER if folder is None else folder))

    def search(self, text: str, limit: int = 10) -> list[Hit]:
        """The entities that a text may mean, the most alike first, then those with the most facts.

        Names have all words of the text; of the last one perhaps only the beginning is typed. Where there are too few
        such names, every word of four letters or more may have a typo. Where there are none, longer words may have two,
        and words may be missing.
        """
        typed = words(folded(text))[:_TYPED]
        scores = self._scored(" ".join(typed), self._places(typed, limit)) if typed else {}
        if (itself := self.kb.entities.by_id.get(text.strip())) is not None:
            scores = {itself: SAME} | scores | {itself: SAME}
        entities, first = self.kb.entities, islice(scores.items(), max(limit, 0))
        return [Hit(entities.id(each), entities.name(each), score) for each, score in first]

    def _places(self, typed: Sequence[str], limit: int) -> list[int]:
        """The places of names to compare with what was typed."""
        most = max(_LOOKED_AT, 2 * limit)
        found = {*self._first(self._term("whole", whole_name(typed)), most), *self._first(self._all(typed), most)}
        if len(found) < limit:
            found.update(self._first(self._all(typed, typos=1), most))
        return sorted(found) or self._fullest(self._any(typed), most)

    def _first(self, query: Query, most: int) -> list[int]:
        """The first places whose names match."""
        found = self._searcher.search(query, most, count=False, order_by_field="place", order=Order.Asc)
        return [place for place, _ in found.hits]

    def _fullest(self, query: Query, most: int) -> list[int]:
        """The places whose names match the most parts of a query."""
        found = [address for _, address in self._searcher.search(query, most, count=False).hits]
        return [int(place) for place in self._searcher.fast_field_values("place", found) if place is not None]

    def _all(self, typed: Sequence[str], *, typos: int = 0) -> Query:
        *before, last = typed
        parts = [*(self._word(word, typos=typos) for word in before), self._begun(last, typos=typos)]
        return Query.boolean_query([(Occur.Must, part) for part in parts])

    def _any(self, typed: Sequence[str]) -> Query:
        return Query.boolean_query([(Occur.Should, self._word(word, typos=2)) for word in typed])

    def _word(self, word: str, *, typos: int) -> Query:
        typos = min(typos, _typos_in(word))
        return self._fuzzy(word, typos, begun=False) if typos else self._term("word", word)

    def _begun(self, word: str, *, typos: int) -> Query:
        if len(word) <= SHORT:
            return self._term("short", word)
        return self._fuzzy(word, min(typos, _typos_in(word)), begun=True)

    def _fuzzy(self, word: str, typos: int, *, begun: bool) -> Query:
        """Words with at most so many letters wrong, missing, too many, or the wrong way round."""
        return Query.fuzzy_term_query(self._schema, "word", word, typos, transposition_cost_one=True, prefix=begun)

    def _term(self, field: str, text: str) -> Query:
        return Query.term_query(self._schema, field, text, "basic")

    def _scored(self, typed: str, places: Sequence[int]) -> dict[int, float]:
        """The entities at these places in their order, each with the score of its name that is most alike."""
        # One by one: for so few, polars spends longer on calling its threads than on the names.
        spelled = [" ".join(words(folded(self._names.text[place]))) for place in places]
        alike = process.extract(typed, spelled, scorer=fuzz.WRatio, limit=None)
        best: dict[int, float] = {}
        for score, place in sorted((-score, places[which]) for _, score, which in alike):
            best.setdefault(int(self._names.entity[place]), -score)
        return best


def _typos_in(word: str) -> int:
    """How many typos a word may have at most."""
    return (len(word) in TYPO) + (len(word) in TYPOS)
