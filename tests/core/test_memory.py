"""Freed memory stays with the process, and what was prepared for shapes that do not come again is forgotten."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from cear.core.memory import bound_prepared_products

# Pages that the system hands out are counted as minor faults: 64 MB are 16,384 pages of 4 KB each time.
COUNT_FAULTS = """
import resource, sys
import torch
from cear.core.memory import keep_freed_memory

torch.set_num_threads(1)
if sys.argv[1] == "keep":
    assert keep_freed_memory()
for _ in range(3):
    torch.ones(2**24)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10):
    torch.ones(2**24)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(mode: str) -> int:
    done = subprocess.run([sys.executable, "-c", COUNT_FAULTS, mode], capture_output=True, text=True, check=True)
    return int(done.stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="glibc's allocator is what is told")
def test_a_tensor_that_comes_again_gets_the_pages_it_had() -> None:
    assert faults("keep") < faults("plain") / 2


GIVE_BACK = """
import torch
from cear.core.memory import give_back_memory, keep_freed_memory

def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096

keep_freed_memory()
many = [torch.ones(2**20) for _ in range(100)]
last = torch.ones(2**20)  # what lies behind them stays in use
del many
before = resident()
give_back_memory()
print(before - resident())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="glibc's allocator is what is told")
def test_what_is_not_used_again_is_given_back() -> None:
    done = subprocess.run([sys.executable, "-c", GIVE_BACK], capture_output=True, text=True, check=True)
    assert int(done.stdout) > 300_000_000  # of 400 MB


def test_what_onednn_keeps_is_bounded_unless_the_user_has_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ONEDNN_PRIMITIVE_CACHE_CAPACITY", raising=False)
    bound_prepared_products()
    assert int(os.environ["ONEDNN_PRIMITIVE_CACHE_CAPACITY"]) < 1024  # which is oneDNN's own
    monkeypatch.setenv("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "7")
    bound_prepared_products()
    assert os.environ["ONEDNN_PRIMITIVE_CACHE_CAPACITY"] == "7"
