"""How a knowledge base is completed: which questions are asked, how many answers are proposed."""

from __future__ import annotations

from pydantic import Field, NonNegativeInt, PositiveInt

from cear.core.settings import Settings


class CalibrationConfig(Settings):
    """How probabilities are learned from validation facts, by asking the questions that a completion asks."""

    questions: PositiveInt = 20_000
    """How many questions are asked, those with the most missing answers to expect first."""
    proposals: PositiveInt = 10
    """The best so many candidates of a question are proposed."""
    least_share: float = Field(default=0.1, gt=0, lt=1)
    """⟨s, r, ?⟩ is plausible if s has r already, or if this share of the entities that have some relation or type of
    s have r."""
    linked: bool = True
    """Whether probabilities may know that a training fact joins the two ends; false for a benchmark like FB15K-237,
    which took every linked pair out of valid and test, so that knowing it rewards how it was cut."""
    folds: NonNegativeInt = 1
    """So many folds that Stage 2 has not learned from are asked as well, by retrievers that have not seen them: they
    have more facts than validation has. 0 is validation alone, for knowledge bases with many facts."""
