"""Cross-encoders: published models that read two texts as one sequence and give a single score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from cear.core.errors import ConfigError
from cear.core.types import Ints
from cear.texts.encoders import set_dropout
from cear.texts.folders import FROM_FOLDER, pretrained_folder

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


def load_cross_encoder(
    name: str, *, dropout: float = 0.0, download: bool = False
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """The sequence classifier of one label in a folder, or of this name on the hub, and its tokenizer.

    That is what sentence-transformers calls a CrossEncoder. The hub is asked only if `download`.
    """
    from transformers import AutoConfig, AutoModelForSequenceClassification, AutoTokenizer
    from transformers.utils import logging

    logging.disable_progress_bar()  # ours tell the user more than a count of tensors
    with pretrained_folder(name, "cross-encoder", download=download) as folder:
        settings = AutoConfig.from_pretrained(folder, **FROM_FOLDER)
        _refuse_other_heads(name, settings.architectures, settings.num_labels)
        set_dropout(settings, dropout)
        tokenizer = AutoTokenizer.from_pretrained(folder, **FROM_FOLDER)
        model, found = AutoModelForSequenceClassification.from_pretrained(
            folder, config=settings, use_safetensors=True, output_loading_info=True, **FROM_FOLDER
        )
    if found["missing_keys"]:
        raise ConfigError(f"{name!r} is no cross-encoder: its weights lack {sorted(found['missing_keys'])[0]}.")
    return model.float(), tokenizer


@dataclass(frozen=True, eq=False)
class PairForm:
    """How a tokenizer writes two texts as one sequence: what it puts around them, and their segments."""

    before: Ints
    between: Ints
    behind: Ints
    segments: tuple[int, int]

    @classmethod
    def of(cls, tokenizer: PreTrainedTokenizerBase) -> Self:
        """The form of a tokenizer, read off a pair that it writes."""
        written = tokenizer("a", "b")
        tokens = np.array(written["input_ids"], np.int64)
        owner = np.array([-1 if each is None else each for each in written.sequence_ids(0)])
        first, second = (np.flatnonzero(owner == text) for text in (0, 1))
        segments = written.get("token_type_ids", np.zeros_like(tokens))
        return cls(
            tokens[: first[0]],
            tokens[first[-1] + 1 : second[0]],
            tokens[second[-1] + 1 :],
            (int(segments[first[0]]), int(segments[second[0]])),
        )

    @property
    def tokens(self) -> int:
        """How many it adds to those of the two texts."""
        return len(self.before) + len(self.between) + len(self.behind)


def _refuse_other_heads(name: str, architectures: list[str] | None, labels: int) -> None:
    """Raise `ConfigError` for a model that does not give a pair of texts a single score."""
    what = ", ".join(architectures or ["nothing"])
    if "ForSequenceClassification" not in what:
        raise ConfigError(
            f"{name!r} is no cross-encoder: its config.json names {what}, not a model for sequence classification. "
            "An encoder without a head is for `kind: sequence` or `kind: kg_bert`."
        )
    if labels != 1:
        raise ConfigError(f"{name!r} is no cross-encoder: it has {labels} labels. Give a model with one, a score.")
