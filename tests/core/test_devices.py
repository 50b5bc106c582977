"""Devices: where a module is."""

from __future__ import annotations

import torch
from torch import nn

from cear.core.devices import device_of


def test_a_module_is_where_its_weights_or_its_buffers_are() -> None:
    buffered = nn.Module()
    buffered.register_buffer("kept", torch.zeros(1, device="meta"))
    assert device_of(nn.Linear(1, 1, device="meta")).type == "meta"
    assert device_of(buffered).type == "meta"
    assert device_of(nn.Module()).type == "cpu", "which has nothing to be anywhere"
