"""Freed memory stays with the process, and what was prepared for shapes that do not come again is forgotten."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from cear.core.memory import bound_prepared_products

# glibc's own account: fordblks are the bytes that were freed and are kept for the next who asks.
FREED_AND_KEPT = """
import ctypes, sys
import torch
from cear.core.memory import keep_freed_memory

class Account(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in
                "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()]

libc = ctypes.CDLL(None)
libc.mallinfo2.restype = Account
if sys.argv[1] == "keep":
    assert keep_freed_memory()
torch.ones(2**24)
print(libc.mallinfo2().fordblks)
"""


def kept(mode: str) -> int:
    done = subprocess.run([sys.executable, "-c", FREED_AND_KEPT, mode], capture_output=True, text=True, check=True)
    return int(done.stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="glibc's allocator is what is told")
def test_a_large_tensor_that_is_freed_stays_for_the_next() -> None:
    assert kept("plain") < 2**26 <= kept("keep")  # of 64 MB


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
