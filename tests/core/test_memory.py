"""Freed memory stays with the process: the same pages are used again."""

from __future__ import annotations

import subprocess
import sys

import pytest

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
    assert faults("keep") < faults("plain") / 10
