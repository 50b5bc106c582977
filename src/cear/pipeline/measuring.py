"""A completion measured: the questions of a run asked, hidden facts right, everything else counted as wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from cear.completion import Counts, Proposals, among, fact_keys
from cear.core.errors import DataError
from cear.core.types import Floats
from cear.data import KnowledgeBase
from cear.evaluation import Calibration, Proposed, calibration_by_relation
from cear.pipeline.completion_plan import CompletionPlan
from cear.pipeline.parts import Whole

BASELINES = {"Stage 1's score": 4, "Stage 1's softmax": 5, "Stage 2's score": 1, "the final score": 0}
"""What proposals could be sorted by instead, and which feature of a view it is."""


@dataclass(frozen=True, eq=False)
class CompletionEvaluation:
    """What became of the proposals of a run: by their probability, and by what else they could be sorted by."""

    proposed: Proposed
    probability: Floats  # (proposal,)
    baselines: Mapping[str, Proposed]
    questions: int
    relations: Mapping[int, str]

    @property
    def calibration(self) -> Calibration:
        """How far the probabilities hold."""
        return Calibration.of(self.probability, self.proposed.right)

    def surest(self, n: int, kb: KnowledgeBase) -> pl.DataFrame:
        """The n most probable proposals by name, and whether they are hidden test facts."""
        best = self.proposed.order[:n]
        s, r, o = self.proposed.facts[best].T
        names = {"subject": kb.entities.table[s], "relation": kb.relations.table[r], "object": kb.entities.table[o]}
        known = ["test" if right else None for right in self.proposed.right[best]]
        return pl.DataFrame(
            {
                **{f"{end}_name": table["name"] for end, table in names.items()},
                "probability": self.probability[best],
                "known": pl.Series(known, dtype=pl.String),
            }
        )

    def as_json(self) -> dict[str, Any]:
        """All figures, unrounded, as a value of JSON."""
        by_relation = calibration_by_relation(self.proposed.facts[:, 1], self.probability, self.proposed.right)
        return {
            "questions": self.questions,
            "proposals": len(self.proposed),
            "hidden": self.proposed.hidden,
            "probability": self.proposed.summary().as_json(),
            "without_easy": self.proposed.without_easy().summary().as_json(),
            "baselines": {name: each.summary().as_json() for name, each in self.baselines.items()},
            "baselines_without_easy": {
                name: each.without_easy().summary().as_json() for name, each in self.baselines.items()
            },
            "calibration": self.calibration.as_json(),
            "relations": {self.relations[number]: each.as_json() for number, each in by_relation.items()},
        }


def evaluate_completion(steps: CompletionPlan) -> CompletionEvaluation:
    """The completion of the training facts, with the test facts hidden; validation facts are known and left out."""
    kb = steps.plan.kb
    if not len(kb.facts("test")):
        raise DataError(f"{kb.name!r} has no test facts: there is nothing to measure a completion by.")
    proposals = steps.proposed(Whole(kb))
    proposals = proposals[~among(fact_keys(proposals.facts, kb), kb.facts("valid"), kb)]
    probability, counts = steps.calibrator.probability(proposals), Counts(kb)
    scores = {name: proposals.best_view(feature) for name, feature in BASELINES.items()}
    return CompletionEvaluation(
        _proposed(proposals, probability, counts),
        probability,
        {name: _proposed(proposals, each, counts) for name, each in scores.items()},
        steps.settings.questions,
        {number: kb.relations.name(number) for number in range(kb.n_relations)},
    )


def _proposed(proposals: Proposals, scores: Floats, counts: Counts) -> Proposed:
    hidden = counts.kb.facts("test")
    right = among(fact_keys(proposals.facts, counts.kb), hidden, counts.kb)
    easy = counts.turned_round(proposals.facts)
    return Proposed(
        proposals.facts, scores.astype(np.float64), right, easy, len(hidden), int(counts.turned_round(hidden).sum())
    )
