"""The arms of the experiment: which lists, and which of the paper's ablations of the re-ranker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self, get_args

from pydantic import Field, PositiveInt, model_validator

from cear.core.settings import Settings
from cear.reranking import AnyReranker, RerankerConfig, SequenceConfig

Made = Literal["honest", "leaky"]
Variant = Literal["cross", "independent", "shuffled", "scores"]

CHANGES: Mapping[Variant, Mapping[str, Any]] = {
    "cross": {"attention": "cross"},
    "independent": {"attention": "independent"},
    "shuffled": {"order": "shuffled"},
    "scores": {"features": "scores"},
}
"""What each variant changes in the settings of the re-ranker."""


@dataclass(frozen=True)
class Arm:
    """One system of the experiment."""

    made: Made
    """How its lists were made, to learn from and to be measured."""
    variant: Variant


class LeakSettings(Settings):
    """The experiment; what it changes beside the lists is nothing."""

    k: PositiveInt = 40
    """Candidates of a list."""
    facts: PositiveInt | None = None
    """Test facts that are measured, a fixed sample; null takes all."""
    lists: PositiveInt | None = None
    """Training lists, each of a training fact and a side, a fixed sample; null takes all."""
    learn_from: Literal["all", "measured"] = "all"
    """measured draws them from the queries that are measured: what a training on all lists would remember of these
    queries, for the price of a slice. Their test facts teach nothing."""
    reranker: AnyReranker = Field(default_factory=SequenceConfig)
    """Stage 2, the same in both worlds."""
    variants: tuple[Variant, ...] | None = None
    """The ablations; null takes all that the re-ranker has."""

    @property
    def arms(self) -> list[Arm]:
        """Every variant on honest lists, then on leaky ones."""
        return [Arm(made, variant) for made in get_args(Made) for variant in self.variants or self._all_variants]

    def reranker_of(self, variant: Variant) -> RerankerConfig:
        """The settings of Stage 2 in a variant."""
        return self.reranker.model_copy(update=dict(CHANGES[variant]))

    @property
    def _all_variants(self) -> list[Variant]:
        """Those that the re-ranker has, but for what its settings say already."""
        there = [each for each in CHANGES if _has(self.reranker, each)]
        settings = [self.reranker_of(each) for each in there]
        return [each for place, each in enumerate(there) if settings[place] not in settings[:place]]

    @model_validator(mode="after")
    def _the_reranker_has_these_variants(self) -> Self:
        missing = [each for each in self.variants or () if not _has(self.reranker, each)]
        if missing:
            raise ValueError(f"variants: kind: {self.reranker.kind} has no {', '.join(missing)}; leave that out")
        if not self.arms:
            raise ValueError(f"variants: kind: {self.reranker.kind} has none of the variants {', '.join(CHANGES)}")
        return self

    @model_validator(mode="after")
    def _nothing_else_gives_answers_away(self) -> Self:
        reads = [name for name in ("graph", "vectors", "flag_known") if getattr(self.reranker, name, False)]
        if reads:
            raise ValueError(
                f"reranker: {', '.join(reads)}: lists are of facts that Stage 1 and the graph hold, and nothing but "
                "these lists may tell an answer; set it to false"
            )
        return self


def _has(reranker: RerankerConfig, variant: Variant) -> bool:
    """Whether a re-ranker has the settings that a variant changes; wide reads no order, so it has no shuffled one."""
    fields = type(reranker).model_fields
    return all(
        name in fields and value in get_args(fields[name].annotation) for name, value in CHANGES[variant].items()
    )
