"""Compiled loops work with and without a place to keep their machine code."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CODE = """
import sys
sys.path.insert(0, {folder!r})
import kernel
print(kernel.total([1.0, 2.5]), kernel.total.stats.cache_path)
"""
KERNEL = """
import numba
from cear.core.compiling import compiled

@compiled(fastmath=True)
def add(a, b):
    return a + b

@compiled()
def total(values):
    found = 0.0
    for value in values:
        found = add(found, value)
    return found
"""


def called(folder: Path, **variables: str) -> str:
    (folder / "kernel.py").write_text(KERNEL)
    command = [sys.executable, "-W", "ignore", "-c", CODE.format(folder=str(folder))]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=120, check=False)
    assert done.stderr == ""
    return done.stdout


def test_machine_code_is_kept_where_there_is_a_place(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    assert called(tmp_path, NUMBA_CACHE_DIR=str(kept)).startswith("3.5 ")
    assert len(list(kept.rglob("*.nbc"))) == 2


def test_without_any_place_it_is_compiled_in_memory(tmp_path: Path) -> None:
    # No locator: as with a read-only installation and without a home.
    assert called(tmp_path, NUMBA_CACHE_LOCATOR_CLASSES="IPythonCacheLocator") == "3.5 None\n"
    assert not list(tmp_path.rglob("*.nbc"))


@pytest.mark.parametrize("suffix", ["nbc", "nbi"])
def test_kept_code_that_is_cut_off_is_compiled_again(tmp_path: Path, suffix: str) -> None:
    kept = tmp_path / "kept"
    called(tmp_path, NUMBA_CACHE_DIR=str(kept))
    for path in kept.rglob(f"*.{suffix}"):
        path.write_bytes(path.read_bytes()[:40])
    assert called(tmp_path, NUMBA_CACHE_DIR=str(kept)).startswith("3.5 ")
