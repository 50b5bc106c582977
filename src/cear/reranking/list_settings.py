"""Settings that re-rankers share which read the candidates of a list together."""

from __future__ import annotations

from typing import Any, ClassVar

from cear.candidates import CandidatesConfig
from cear.core.types import Bools, Floats
from cear.reranking.reranker import RerankerConfig


class ListSettings(RerankerConfig):
    """What a candidate's score may know of the others beside attention, and what known answers are there for.

    With `flag_known` the last feature of a candidate says whether it is a known answer.
    """

    added_later: ClassVar[frozenset[str]] = RerankerConfig.added_later | {"list_inputs", "flag_known"}
    describing: ClassVar[frozenset[str]] = frozenset({"list_inputs", "flag_known"})
    """The settings that features depend on."""

    list_inputs: bool = True
    """Inputs that are normalised over the list, such as a candidate's probability and rank among the others; false
    gives raw scores alone: an ablation."""
    flag_known: bool = False
    """Marks the training answers that lists keep, and leaves them out of the loss: they are read, not judged."""

    def refuse_lists(self, candidates: CandidatesConfig) -> None:
        """Refuse marks for known answers in lists that have none, or whose answers are all known."""
        if self.flag_known and candidates.known == "drop":
            raise ValueError(
                "reranker.flag_known marks the training answers in a list, and candidates.known: drop leaves none; "
                "set known: keep, or flag_known: false"
            )
        if self.flag_known and not candidates.held_out:
            raise ValueError(
                "reranker.flag_known leaves the answers that the retrievers have learned out of the loss, and without "
                "folds these are all; set candidates.crossfit or candidates.learn_from: valid, or flag_known: false"
            )

    @property
    def feature_settings(self) -> dict[str, Any]:
        """The settings that its features depend on."""
        return {name: value for name, value in self.settings_key().items() if name in self.describing}

    def only_read(self, features: Floats) -> Bools:
        """Which candidates are there to be read and are left out of the loss, (list, candidate): the marked ones."""
        return features[..., -1] > 0 if self.flag_known else super().only_read(features)
