"""Devices: where a module is, and what a setting means."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from cear.core.devices import device_of, resolve
from cear.core.errors import ConfigError


def test_a_module_is_where_its_weights_or_its_buffers_are() -> None:
    buffered = nn.Module()
    buffered.register_buffer("kept", torch.zeros(1, device="meta"))
    assert device_of(nn.Linear(1, 1, device="meta")).type == "meta"
    assert device_of(buffered).type == "meta"
    assert device_of(nn.Module()).type == "cpu", "which has nothing to be anywhere"


class TestResolve:
    def test_auto_is_a_gpu_where_there_is_one(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("LOCAL_RANK", raising=False)
        for cuda, mps, expected in [(True, True, "cuda"), (False, True, "mps"), (False, False, "cpu")]:
            monkeypatch.setattr(torch.cuda, "is_available", lambda cuda=cuda: cuda)
            monkeypatch.setattr(torch.backends.mps, "is_available", lambda mps=mps: mps)
            assert resolve("auto") == expected
        with pytest.raises(ConfigError, match="device: cuda is not on this machine"):
            resolve("cuda")

    def test_each_of_several_processes_has_a_gpu_of_its_own(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
        monkeypatch.setenv("LOCAL_RANK", "1")
        assert [resolve(device) for device in ("auto", "cuda", "cuda:0", "cpu")] == [
            "cuda:1",
            "cuda:1",
            "cuda:0",
            "cpu",
        ]
