"""Names for integers: the user's ids, names and descriptions of entities or relations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Literal

import polars as pl
from rapidfuzz import process, utils

from cear.core.errors import AmbiguousName, DataError, UnknownName
from cear.data.lookup import NameIndex

SCHEMA = pl.Schema({"id": pl.String(), "name": pl.String(), "description": pl.String()})

ALIASES = pl.Schema({"index": pl.Int64(), "alias": pl.String()})

Kind = Literal["entity", "relation"]


class Vocabulary:
    """The entities (or relations) of a knowledge base: row i of the table speaks of integer i.

    `name` is never null: where the data has none, it is the id. `aliases` are what else an integer is called: it is
    found by them, and nothing learns from them.

    >>> v = Vocabulary.from_ids("entity", ["Q90", "Q64"], names=["Paris", "Berlin"])
    >>> len(v), v.name(1), v.find("paris"), v.find("Q64")
    (2, 'Berlin', 0, 1)
    """

    def __init__(self, kind: Kind, table: pl.DataFrame, aliases: pl.DataFrame | None = None) -> None:
        if table.schema != SCHEMA:
            raise DataError(f"A vocabulary has the columns {SCHEMA}, but this table has {table.schema}.")
        if table["id"].null_count() or table["name"].null_count():
            raise DataError(f"Every {kind} needs an id and a name, but this table leaves some out.")
        if table["id"].n_unique() != table.height:
            twice = table["id"].filter(table["id"].is_duplicated())[0]
            raise DataError(f"Two rows have the {kind} id {twice!r}; ids must be distinct.")
        self.kind: Kind = kind
        self.table = table
        self.aliases = pl.DataFrame(schema=ALIASES) if aliases is None else aliases.select(ALIASES.names())

    @classmethod
    def from_ids(
        cls,
        kind: Kind,
        ids: list[str],
        *,
        names: list[str] | None = None,
        descriptions: list[str] | None = None,
    ) -> Vocabulary:
        """A vocabulary of these ids, in this order; names default to the ids."""
        nothing = [None] * len(ids)
        columns = {
            "id": ids,
            "name": ids if names is None else names,
            "description": nothing if descriptions is None else descriptions,
        }
        return cls(kind, pl.DataFrame(columns, schema=SCHEMA))

    def __len__(self) -> int:
        return self.table.height

    def id(self, index: int) -> str:
        """The user's id of an integer."""
        return str(self.table["id"][int(index)])

    def name(self, index: int) -> str:
        """The name to show for an integer."""
        return str(self.table["name"][int(index)])

    def description(self, index: int) -> str | None:
        """What the data says about it, or None."""
        text = self.table["description"][int(index)]
        return None if text is None else str(text)

    def find(self, text: str) -> int:
        """The integer whose id is `text`, or else whose name is, as `named` finds it; close names on a typo."""
        matches = self.called(text)
        if len(matches) > 1:
            ids = ", ".join(self.id(index) for index in matches[:10])
            raise AmbiguousName(f"{len(matches)} {self._plural} are called {text!r}. Say which by its id: {ids}.")
        if not matches:
            raise UnknownName(f"No {self.kind} is called {text!r}.{self._suggestion(text)}")
        return matches[0]

    def called(self, text: str) -> list[int]:
        """The integer whose id is `text`, or else those whose name is."""
        return [self.by_id[text]] if text in self.by_id else self.named(text)

    def named(self, text: str) -> list[int]:
        """The integers whose name is `text`: exactly; else in another encoding; else letter case and blanks aside.

        Where nothing has that name, those that have it as an alias.
        """
        return self._index.find(text) or self._also_called(text)

    @cached_property
    def by_id(self) -> Mapping[str, int]:
        """The integer of each id."""
        return {id_: index for index, id_ in enumerate(self.table["id"].to_list())}

    def content(self) -> Iterator[bytes]:
        """Bytes that differ whenever ids, names or descriptions do; what a digest is made of."""
        # A column that nothing ever filled once stood here. Saved files carry digests with it, so it still counts.
        nothing = pl.Series([None] * len(self), dtype=pl.Int64)
        yield _numbers(nothing)
        for texts in (*self.table.iter_columns(), pl.Series(dtype=pl.String)):
            yield _numbers(texts.str.len_bytes())
            yield str(texts.str.join("")[0] or "").encode()

    def _suggestion(self, text: str) -> str:
        names = self.table["name"].to_list()
        close = process.extract(text, names, processor=utils.default_process, limit=3, score_cutoff=60)
        if not close:
            return f" This knowledge base has {len(self)} {self._plural}, such as {', '.join(names[:3])}."
        return f" Did you mean {' or '.join(repr(name) for name in dict.fromkeys(c[0] for c in close))}?"

    @property
    def _plural(self) -> str:
        return {"entity": "entities", "relation": "relations"}[self.kind]

    def _also_called(self, text: str) -> list[int]:
        rows = self._alias_index.find(text)
        return sorted(set(self.aliases["index"].gather(rows).to_list()))

    @cached_property
    def _alias_index(self) -> NameIndex:
        return NameIndex(self.aliases["alias"].to_list())

    @cached_property
    def _index(self) -> NameIndex:
        return NameIndex(self.table["name"].to_list())


def _numbers(counts: pl.Series) -> bytes:
    """Counts as bytes; -1 stands for "none given", which is not the same as empty."""
    return counts.cast(pl.Int64).fill_null(-1).to_numpy().astype("<i8").tobytes()
