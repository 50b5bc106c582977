"""Freed memory stays with the process while it trains.

Every training step makes and drops the same large tensors. The C library gives blocks of that size back to the system
and asks for new pages the next time, which on a CPU can cost as much as the arithmetic.
"""

from __future__ import annotations

import ctypes
import sys

# mallopt(3) of glibc
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_KEEP_UP_TO = 2**31 - 1  # bytes
_REUSE_BLOCKS_UP_TO = 2**30  # bytes; a larger one is still given back when it is freed


def keep_freed_memory() -> bool:
    """Let the C library keep what is freed for the next tensor of that size; whether it can be told so.

    Changes no result. Where the C library is not glibc, everything stays as it is.
    """
    if sys.platform != "linux" or not hasattr(libc := ctypes.CDLL(None), "mallopt"):
        return False
    told = (libc.mallopt(_MMAP_THRESHOLD, _REUSE_BLOCKS_UP_TO), libc.mallopt(_TRIM_THRESHOLD, _KEEP_UP_TO))
    return all(told)
