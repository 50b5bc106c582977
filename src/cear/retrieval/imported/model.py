"""A trained model in the words of this package, whoever trained it: what every reader of a format returns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from cear.core.errors import DataError
from cear.retrieval.complex import ComplExConfig
from cear.retrieval.conve import ConvEConfig
from cear.retrieval.coper_conve import CoPERConvEConfig
from cear.retrieval.distmult import DistMultConfig
from cear.retrieval.gradient import GradientConfig
from cear.retrieval.rotate import RotatEConfig
from cear.retrieval.transe import TransEConfig

SCORERS: dict[str, type[GradientConfig]] = {
    "complex": ComplExConfig,
    "conve": ConvEConfig,
    "coper_conve": CoPERConvEConfig,
    "distmult": DistMultConfig,
    "rotate": RotatEConfig,
    "transe": TransEConfig,
}
COMPLEX = ("complex", "rotate")  # two real numbers of an entity are one coordinate


@dataclass(frozen=True, eq=False)
class TrainedModel:
    """The weights of a scorer and the ids that their rows are of."""

    source: Path
    config: GradientConfig
    """Which of our scorers it is, with its rank and norm."""
    entities: Sequence[str]
    relations: Sequence[str]
    tensors: Mapping[str, Tensor]
    """`entity` (entity, width), real parts before imaginary ones; `relation` (R, width), or (2R, width) with the
    reciprocal of r in row r + R, phases for RotatE; and what else the scorer has, by the names of its weights."""

    def __post_init__(self) -> None:
        for name, tensor in self.tensors.items():
            if tensor.is_floating_point() and not tensor.isfinite().all():
                bad = int((~tensor.isfinite()).sum())
                raise DataError(
                    f"{bad} of the {tensor.numel()} numbers in `{name}` of {self.source} are NaN or infinite: its "
                    "training has failed. Take an earlier checkpoint."
                )
        for what, ids in (("entities", self.entities), ("relations", self.relations)):
            if not all(isinstance(id_, str) for id_ in ids) or len(set(ids)) != len(ids):
                raise DataError(f"The ids of {what} of {self.source} are not texts that differ: which row is whose?")
        n_entities, n_relations = len(self.entities), len(self.relations)
        self._refuse_rows("entity", "entities", (n_entities,))
        self._refuse_rows("relation", "relations", (n_relations, 2 * n_relations))

    @property
    def reciprocal(self) -> bool:
        """Whether the inverse of each relation has a vector of its own."""
        return len(self.tensors["relation"]) == 2 * len(self.relations)

    def _refuse_rows(self, name: str, ids: str, expected: tuple[int, ...]) -> None:
        shape = tuple(self.tensors[name].shape)
        if len(shape) != 2 or shape[0] not in expected:
            counts = " or ".join(f"{count:,}" for count in expected)
            raise DataError(
                f"The vectors of {ids} in {self.source} have the shape {shape}, but its ids ask for {counts} rows. The "
                "weights and the file of ids are of different data sets."
            )


def config_of(kind: str, source: Path, **settings: Any) -> GradientConfig:
    """The settings of one of our scorers, checked."""
    return SCORERS[kind].parse(settings, source=str(source))


def rank_of(kind: str, entity: Tensor) -> int:
    """The rank of a scorer whose entities have these vectors."""
    return int(entity.shape[-1]) // (2 if kind in COMPLEX else 1)
