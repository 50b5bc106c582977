"""`cear serve` as a user types it: what it refuses before it loads anything."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cear.cli import main

Refuses = Callable[..., str]


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Refuses:
    """The sentence that the program ends with, in this process."""
    monkeypatch.setenv("COLUMNS", "400")
    monkeypatch.delenv("CEAR_TOKEN", raising=False)

    def call(*arguments: str) -> str:
        monkeypatch.setattr(sys, "argv", ["cear", "serve", str(tmp_path), *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 2
        return capsys.readouterr().err

    return call


def test_other_machines_only_with_a_token(refused: Refuses, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "Give it a token, `--token` or CEAR_TOKEN" in refused("--host", "0.0.0.0")
    monkeypatch.setenv("CEAR_TOKEN", "0123456789abcdef")
    assert "no finished run" in refused("--host", "0.0.0.0", "--port", "0")


def test_without_its_packages_it_says_what_to_install(refused: Refuses, monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec

    def without(name: str, *more: Any) -> Any:
        return None if name in ("fastapi", "tantivy") else found(name, *more)

    monkeypatch.setattr(importlib.util, "find_spec", without)
    assert "Serving needs fastapi, tantivy. Run: pip install 'cear[serve]'." in refused()


def test_a_folder_without_a_run_is_told_before_anybody_waits(refused: Refuses) -> None:
    assert "no finished run" in refused("--port", "0")
