"""Every setting of Stage 1 and its default, in one place."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, NonNegativeFloat, PositiveFloat, PositiveInt, model_validator

from cear.core.settings import Settings
from cear.retrieval.extreme_text.config import ExtremeTextConfig
from cear.retrieval.rules.config import RulesConfig
from cear.retrieval.text.config import TextConfig


class LossConfig(Settings):
    """What a training step minimises."""

    kind: Literal["softmax", "bce", "self_adversarial", "info_nce"] = "softmax"
    """softmax: cross-entropy over the candidates. bce: every cell on its own. self_adversarial: RotatE's own.
    info_nce: softmax in which the other answers of a query do not compete, which is that of text."""
    negatives: PositiveInt | None = None
    """Entities drawn per batch to compete, shared by its queries, besides their answers; null scores every entity."""
    margin: float = 9.0
    """γ of self_adversarial."""
    temperature: float = 1.0
    """α of self_adversarial: how much the hardest negatives count."""
    subsampling: bool = False
    """With self_adversarial, facts whose questions have many answers count less, as in RotatE's own code."""
    label_smoothing: float = Field(0.0, ge=0, lt=1)
    """Share of a bce label that is spread over all entities."""


class RegularizerConfig(Settings):
    """Weight times the mean over facts of Σ |s|ᵖ + |r|ᵖ + |o|ᵖ; p = 3 is N3 (Lacroix et al. 2018)."""

    p: PositiveFloat = 3.0
    """The power."""
    weight: float = Field(0.05, ge=0)
    """0 turns it off."""


class OptimizerConfig(Settings):
    """The optimiser of all embeddings."""

    kind: Literal["adagrad", "adam", "lazy_adam"] = "adagrad"
    """Adagrad suits softmax losses, Adam RotatE's own; lazy_adam moves only what a small batch looked up."""
    learning_rate: PositiveFloat = 0.1
    """The step size."""
    decay: Literal["none", "linear"] = "none"
    """linear lets the step size fall to zero over all epochs, which Adam wants and Adagrad does by itself."""


class LstmConfig(Settings):
    """How complex_lstm reads names."""

    tokens: PositiveInt = 10
    """A name is cut to so many words."""
    min_count: PositiveInt = 2
    """A word that the training facts use less often shares the vector of unknown words."""
    dropout: float = Field(0.1, ge=0, lt=1)
    """Of the words' vectors and of the names', while training."""


# Models, and the group of settings that they alone read.
_OWN = {"rules": "rules", "text": "text", "extreme_text": "extreme_text", "complex_lstm": "lstm"}


class Stage1Config(Settings):
    """The retriever and how it is trained. The defaults are ComplEx-N3."""

    model: Literal["complex", "distmult", "rotate", "transe", "complex_lstm", "rules", "text", "extreme_text"] = (
        "complex"
    )
    """The scoring function. rules and extreme_text have settings of their own, and no other is read for them; text has
    its own loss and optimiser, and reads below how long to train."""
    rules: RulesConfig = RulesConfig()
    text: TextConfig = TextConfig()
    extreme_text: ExtremeTextConfig = ExtremeTextConfig()
    lstm: LstmConfig = LstmConfig()
    rank: PositiveInt = 128
    """Coordinates of an embedding; complex ones count once."""
    norm: Literal[1, 2] = 2
    """The distance of transe and rotate: 1 sums (moduli of) coordinates, 2 is Euclidean."""
    squared: bool = False
    """With norm 2, minus the squared distance: the same ranking, learned with a gradient that grows with distance."""
    init_scale: PositiveFloat = 1e-3
    """Standard deviation of fresh embeddings."""
    loss: LossConfig = LossConfig()
    regularizer: RegularizerConfig = RegularizerConfig()
    relation_prediction: float = Field(0.0, ge=0)
    """Weight of predicting r from s and o (Chen et al. 2021); complex and distmult only."""
    optimizer: OptimizerConfig = OptimizerConfig()
    batch: PositiveInt = 1000
    """Distinct queries in a step."""
    epochs: PositiveInt = 20
    """Passes over the distinct queries, at most."""
    validate_every: PositiveInt = 1
    """Epochs between two looks at the validation split."""
    patience: PositiveInt = 5
    """Looks without a better MRR before training stops early."""
    checkpoint_seconds: NonNegativeFloat = Field(60.0, exclude=True)  # in no dump: it does not change the result
    """Seconds between two checkpoints inside an epoch: what a kill may cost."""

    def that_counts(self) -> str:
        """The settings that this model reads, as JSON: what a checkpoint was made with.

        Without defaults: a setting that is added later leaves the trainings of today what they are.
        """
        others = {group for model, group in _OWN.items() if model != self.model}
        return self.model_dump_json(exclude=others, exclude_defaults=True)

    def with_epochs(self, epochs: int) -> Self:
        """The same retriever, trained for so many epochs."""
        if self.model == "extreme_text":
            own = self.extreme_text.model_copy(update={"epochs": epochs})
            return self.model_copy(update={"extreme_text": own})
        return self.model_copy(update={"epochs": epochs})

    @model_validator(mode="after")
    def _relations_can_be_predicted(self) -> Self:
        if self.relation_prediction and self.model not in ("complex", "distmult"):
            raise ValueError(f"relation_prediction is for complex and distmult; set it to 0 for {self.model}")
        return self

    @model_validator(mode="after")
    def _only_norm_2_is_squared(self) -> Self:
        if self.squared and self.norm != 2:
            raise ValueError(f"squared is for norm 2; this is norm {self.norm}")
        return self
