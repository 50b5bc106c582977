"""What an encoder reads of a knowledge base: one text for each entity and each relation."""

from __future__ import annotations

from cear.data import Vocabulary


def texts(vocabulary: Vocabulary) -> list[str]:
    """Name and description of each, as one text."""
    table = vocabulary.table
    return [f"{name}, {more}" if more else name for name, more in table.select("name", "description").iter_rows()]
