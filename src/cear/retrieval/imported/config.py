"""The settings of an imported model."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from cear.core.settings import Settings


class ImportedSettings(Settings):
    """Where a trained model is, and what its files do not say."""

    path: str
    """A folder or checkpoint of PyKEEN, LibKGE, OpenKE or the RotatE repository, or vectors (bring-your-model.md)."""
    entities: str | None = None
    """The file with the ids of entities, where it is not beside the model."""
    relations: str | None = None
    """The file with the ids of relations, where it is not beside the model."""
    scorer: Literal["complex", "distmult", "rotate", "transe"] | None = None
    """What vectors do, where nothing beside them says it: plain vectors, and OpenKE's TransE and DistMult."""
    norm: Literal[1, 2] | None = None
    """Of the distance, where nothing says it: plain vectors of TransE and RotatE, and OpenKE's TransE (`p_norm`)."""
    unit_length: bool | None = None
    """Whether vectors are brought to length 1 before they score: OpenKE's TransE (`norm_flag`)."""
    fold: dict[str, Any] = Field(default_factory=dict)
    """Settings of our own scorer of the same kind and rank, which learns on folds in place of the model."""
