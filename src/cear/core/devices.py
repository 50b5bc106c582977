"""The one boundary where arrays become tensors, and where tensors become arrays again."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from cear.core.context import Precision
from cear.core.errors import ConfigError


def resolve(device: str) -> str:
    """The device that a setting means; `auto` takes a GPU where there is one, each of several processes its own."""
    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if device == "auto":
        device = next((name for name, found in there.items() if found), "cpu")
    if not there.get(device.partition(":")[0], True):
        raise ConfigError(f"device: {device} is not on this machine. Set it to auto, or to cpu.")
    own = os.environ.get("LOCAL_RANK")  # of a process that torchrun or accelerate started beside others
    return f"cuda:{own}" if device == "cuda" and own is not None else device


def device_of(module: nn.Module) -> torch.device:
    """Where the weights of a module are."""
    first = next(chain(module.parameters(), module.buffers()), None)
    return torch.device("cpu") if first is None else first.device


def runs_kernels(device: torch.device) -> bool:
    """Whether our compiled loops run there; elsewhere plain PyTorch computes the same."""
    return device.type == "cpu"


def tensor(array: npt.NDArray[Any] | Tensor, device: torch.device | str) -> Tensor:
    """An array as a tensor of a device; a tensor is moved there."""
    if isinstance(array, Tensor):
        return array.to(device)
    return torch.as_tensor(np.ascontiguousarray(array), device=device)


def array(values: Tensor) -> npt.NDArray[Any]:
    """A tensor, wherever it is, as an array; half precision becomes float32, which numpy can rank."""
    values = values.detach()
    values = values.float() if values.dtype in (torch.bfloat16, torch.float16) else values
    return np.asarray(values.cpu().numpy())


def has_bf16(device: str | torch.device) -> bool:
    """Whether bfloat16 is computed there rather than emulated; on a processor that emulates it, it is slow."""
    return torch.device(device).type != "cpu" or bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())


@contextmanager
def as_it_can(device: torch.device) -> Iterator[None]:
    """In float32 inside, where a processor has no bfloat16: oneDNN has no recurrent layers for it there."""
    with torch.autocast(device.type, enabled=False) if not has_bf16(device) else nullcontext():
        yield


@contextmanager
def computing(device: str | torch.device, precision: Precision) -> Iterator[None]:
    """Matrix products in this precision, inside."""
    if precision == "fp32":
        yield
        return
    with torch.autocast(torch.device(device).type, dtype=torch.bfloat16):
        yield
