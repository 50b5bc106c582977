"""Compiled kernels on as many threads as PyTorch uses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numba
import torch


@contextmanager
def torch_threads() -> Iterator[int]:
    """Give numba PyTorch's number of threads, which it returns, and leave that number as it was."""
    threads = torch.get_num_threads()
    numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))  # type: ignore[attr-defined]
    try:
        yield numba.get_num_threads()
    finally:
        if torch.get_num_threads() != threads:  # both share OpenMP, and numba sets its number when it first starts
            torch.set_num_threads(threads)


def use_threads(threads: int | None) -> None:
    """Let PyTorch, and the compiled kernels that follow it, use so many CPU threads; None keeps what it chose."""
    if threads is not None:
        torch.set_num_threads(threads)
