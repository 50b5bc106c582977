"""Answering in 8-bit integers: the encoder is exported to ONNX once and run by ONNX Runtime; the head is as it was."""

from __future__ import annotations

import hashlib
import logging
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from cear.core.errors import ConfigError
from cear.core.files import file_digest, replacing
from cear.core.seals import if_whole, read_sealed, write_sealed
from cear.data import cache_root
from cear.reranking.sequence.reranker import ENCODER, SequenceReranker

if TYPE_CHECKING:
    from transformers import PreTrainedModel

WEIGHTS = "encoder.onnx"
_PACKAGES = ("onnx", "onnxruntime", "onnxscript")
_OPSETS = (23, 20)  # the first has attention as one operator, which is faster than its parts, where it can be used
_SAME = 1e-3
READ_TOKENS = 20_000  # in a batch: lists enough for every thread; each is read alone

log = logging.getLogger("cear.reranking")


def with_int8(reranker: SequenceReranker, folder: Path) -> SequenceReranker:
    """A trained re-ranker with an encoder of 8-bit weights: for answering, faster and a little off.

    `folder` is where the re-ranker was saved; its 8-bit encoder is kept in the user's cache, made when first asked for.
    """
    _refuse_missing_packages()
    path = cache_root() / "int8" / f"{_digest(folder / ENCODER)}.onnx"
    if not _is_whole(path):
        log.info("Writing the 8-bit encoder into %s. This is done once.", path)
        export(reranker.model.encoder, path)
        write_sealed(path.with_suffix(".json"), {"sha256": file_digest(path)})
    reranker.model.encoder = Int8Encoder(path)
    reranker.read_tokens = READ_TOKENS
    return reranker


def _is_whole(path: Path) -> bool:
    """Whether an 8-bit encoder is there as it was written; a damaged one is told."""
    known = if_whole(path.with_suffix(".json"), read_sealed)
    if known is None or not path.exists():
        return False
    if known.get("sha256") == file_digest(path):
        return True
    log.warning("%s is damaged and made again.", path)
    return False


@dataclass(frozen=True, slots=True, eq=False)
class Output:
    """What an encoder returns, as far as we read it."""

    last_hidden_state: Tensor


class Int8Encoder(nn.Module):
    """An encoder run by ONNX Runtime, called like the one it was made from.

    Each sequence is read alone, several at a time: the states of a batch would be scaled to 8 bits by the largest of
    them, and a score would depend on its neighbours.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        from onnxruntime import InferenceSession, SessionOptions

        options = SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 4  # an error is raised, and need not be printed, too
        self._session = InferenceSession(path, options, providers=["CPUExecutionProvider"])
        self._readers = ThreadPoolExecutor(torch.get_num_threads())

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Output:
        """The state of every token, (sequence, position, width)."""
        states = self._readers.map(self._read, input_ids, attention_mask)
        return Output(nn.utils.rnn.pad_sequence([*states], batch_first=True))

    def _read(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """The states of one sequence without its padding, (position, width)."""
        length = int(mask.sum())
        inputs = {"input_ids": tokens[None, :length].numpy(), "attention_mask": mask[None, :length].numpy()}
        return torch.from_numpy(self._session.run(None, inputs)[0][0])


def export(encoder: PreTrainedModel, path: Path) -> None:
    """Write an encoder as an ONNX file whose matrices have 8-bit weights, one scale for each of their columns.

    Embeddings, attention and normalisation stay in floating point: they cost little and lose much.
    """
    from onnxruntime.quantization import QuantType, quantize_dynamic

    with TemporaryDirectory() as place, _quiet(), replacing(path) as partial:
        whole = Path(place) / WEIGHTS
        _export_exactly(_States(encoder).eval(), whole)
        matrices = ["MatMul", "Gemm"]
        # 7 of the 8 bits: where a processor adds two products in 16 bits, the eighth would overflow.
        quantize_dynamic(whole, partial, matrices, per_channel=True, reduce_range=True, weight_type=QuantType.QInt8)


def _export_exactly(model: _States, path: Path) -> None:
    """Write a model as an ONNX file that computes the same, by the first set of operators that can."""
    tokens, mask = torch.zeros((2, 8), dtype=torch.int64), torch.ones((2, 8), dtype=torch.int64)
    any_size = {0: torch.export.Dim.AUTO, 1: torch.export.Dim.AUTO}
    for operators in _OPSETS:
        torch.onnx.export(
            model,
            (tokens, mask),  # two tensors: of one given twice, the exporter makes one input
            path,
            input_names=["input_ids", "attention_mask"],
            dynamic_shapes=(any_size, any_size),
            opset_version=operators,
            external_data=False,
            verbose=False,
        )
        if _agree(model, path):
            return
    raise ConfigError(
        f"ONNX Runtime does not compute what {type(model.encoder).__name__} does, so this encoder cannot answer in "
        "8-bit integers. Leave the 8 bits out, or use an encoder in the manner of BERT."
    )


@torch.inference_mode()
def _agree(model: _States, path: Path) -> bool:
    """Whether an exported model has the states of the original, for sequences of other sizes and with padding."""
    tokens = torch.arange(39).reshape(3, 13)
    mask = (torch.arange(13) < torch.tensor([[13], [4], [9]])).long()
    try:
        states = Int8Encoder(path)(tokens, mask).last_hidden_state
    except Exception:  # an operator that it lacks, or has for some shapes only: its errors share no class
        return False
    return bool((states - model(tokens, mask))[mask.bool()].abs().max() < _SAME)


class _States(nn.Module):
    """An encoder that returns a tensor, as an exported graph does."""

    def __init__(self, encoder: nn.Module) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        states: Tensor = self.encoder(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        return states


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep to itself what the exporters say to those who develop them."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


def _digest(folder: Path) -> str:
    """A hash of the files of weights in a folder."""
    hashed = hashlib.sha256()
    for path in sorted(folder.glob("*.safetensors")):
        hashed.update(path.read_bytes())
    return hashed.hexdigest()[:32]


def _refuse_missing_packages() -> None:
    missing = [package for package in _PACKAGES if find_spec(package) is None]
    if missing:
        raise ConfigError(
            f"Answering in 8-bit integers needs {', '.join(missing)}. Run: pip install 'cear[int8]', "
            "or leave the 8 bits out."
        )
