"""What an accelerator would refuse, refused without one: operations on tensors of several devices.

Model and data stand on the `meta` device, where tensors have shapes and no values. Whatever asks for a value
(`item`, `nonzero`, a comparison in an `if`) fails there by itself; this mode adds that tensors of two devices meet.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

# Copying is how a tensor comes from one device to another; the lengths of packed sequences stay on the CPU by design.
ALLOWED = {
    torch.ops.aten.copy_.default,
    torch.ops.aten._to_copy.default,
    torch.ops.aten._pack_padded_sequence.default,
    torch.ops.aten._pack_padded_sequence_backward.default,
    torch.ops.aten.lstm.data,
}


class TwoDevices(AssertionError):
    """An operation got tensors of two devices."""


class OneDevice(TorchDispatchMode):
    """Within it, an operation on tensors of two devices is an error; a 0-dimensional one on the CPU is a number."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        tensors = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)]
        devices = {str(t.device) for t in tensors if t.dim() or t.device.type != "cpu"}
        if len(devices) > 1 and func not in ALLOWED:
            shapes = ", ".join(f"{tuple(t.shape)} on {t.device}" for t in tensors)
            raise TwoDevices(f"{func} got {shapes}.")
        return func(*args, **(kwargs or {}))
