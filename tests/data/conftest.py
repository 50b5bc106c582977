from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

Write = Callable[[Mapping[str, str | bytes]], Path]


@pytest.fixture(autouse=True)
def _own_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees or leaves anything in the user's own cache or data folder."""
    monkeypatch.setenv("CEAR_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("CEAR_DATA", raising=False)


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes files by name into a folder and returns the folder."""

    def write_files(files: Mapping[str, str | bytes]) -> Path:
        folder = tmp_path / "kb"
        folder.mkdir(exist_ok=True)
        for name, content in files.items():
            (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        return folder

    return write_files
