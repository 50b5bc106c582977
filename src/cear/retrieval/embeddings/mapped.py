"""Rows that a file holds, mapped into memory: for who looks at some of them and has no room for all."""

from __future__ import annotations

from pathlib import Path

from cear.core.errors import MismatchError
from cear.core.tensors import map_tensors
from cear.retrieval.embeddings.embedding import Embeddings, Inverse, Start
from cear.retrieval.embeddings.rows import Rows

ENTITIES, RELATIONS = "entity.weight", "relation.weight"  # what a scorer over rows calls them


class MappedRows(Embeddings):
    """The rows of a trained scorer in their file; a scorer that is built over them has its weights, read as needed."""

    seed = 0

    def __init__(self, path: Path) -> None:
        self._tensors = map_tensors(path)
        self.n_entities, self.n_relations = len(self._tensors[ENTITIES]), len(self._tensors[RELATIONS]) // 2

    def entities(self, width: int, *, start: Start | None = None) -> Rows:
        """A row for each entity."""
        del start
        return self._rows(ENTITIES, width)

    def relations(self, width: int, *, inverse: Inverse, start: Start | None = None) -> Rows:
        """A row for each relation and one for its reciprocal."""
        del inverse, start
        return self._rows(RELATIONS, width)

    def _rows(self, name: str, width: int) -> Rows:
        found = self._tensors[name]
        if found.shape[1] != width:
            raise MismatchError(
                f"{self._tensors.path} has rows of width {found.shape[1]} as {name}, and the scorer asks for {width}. "
                "Build it with the settings that it was trained with."
            )
        return Rows(found)
