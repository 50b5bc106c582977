"""Memory of a training on the CPU: what is freed stays at hand, and what nobody asks for again does not pile up.

Every training step makes and drops the same large tensors. The C library gives blocks of that size back to the system
and asks for new pages the next time, which can cost as much as the arithmetic. And oneDNN, which multiplies in
bfloat16, prepares each product for its shapes and keeps what it prepared for the last 1,024 of them; with other shapes
in every step these are gigabytes.
"""

from __future__ import annotations

import ctypes
import os
import sys

# mallopt(3) of glibc
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_KEEP_UP_TO = 2**31 - 1  # bytes
_REUSE_BLOCKS_UP_TO = 2**30  # bytes; a larger one is still given back when it is freed


_PRODUCTS = "ONEDNN_PRIMITIVE_CACHE_CAPACITY"  # read by oneDNN when it prepares its first product
_KEPT_PRODUCTS = 16


def prepare_for_training() -> None:
    """Keep freed memory and bound what oneDNN keeps; changes no result."""
    bound_prepared_products()
    keep_freed_memory()


def bound_prepared_products() -> None:
    """Let oneDNN keep what it prepared for a few products only, unless the user has said for how many."""
    os.environ.setdefault(_PRODUCTS, str(_KEPT_PRODUCTS))


def keep_freed_memory() -> bool:
    """Let the C library keep what is freed for the next tensor of that size; whether it can be told so.

    Where the C library is not glibc, everything stays as it is.
    """
    libc = _glibc()
    if libc is None:
        return False
    told = (libc.mallopt(_MMAP_THRESHOLD, _REUSE_BLOCKS_UP_TO), libc.mallopt(_TRIM_THRESHOLD, _KEEP_UP_TO))
    return all(told)


def give_back_memory() -> None:
    """Give freed memory back to the system: what has not been used again by now lies between what is in use."""
    if (libc := _glibc()) is not None:
        libc.malloc_trim(0)


def _glibc() -> ctypes.CDLL | None:
    if sys.platform != "linux":
        return None
    libc = ctypes.CDLL(None)
    return libc if hasattr(libc, "mallopt") and hasattr(libc, "malloc_trim") else None
