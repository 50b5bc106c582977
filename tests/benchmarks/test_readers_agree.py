"""The fast and the slow reader of every text format agree on generated files, and a reader that errs is caught."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

FILES = 280  # twenty of each format; `python benchmarks/readers_agree.py` reads 10,000


def test_the_readers_of_every_text_format_agree(script: Any, tmp_path: Path) -> None:
    differing: list[bytes] = []
    found = script("readers_agree").compare(FILES, 1, tmp_path, lambda path: differing.append(path.read_bytes()))
    assert differing == []
    assert {each.files for each in found.values()} == {20}
    assert min(each.fast for each in found.values()) > 0, "a format that is never read fast shows nothing"
    assert all(each.fast < each.files for each in found.values()), "nor does one whose slow way is never needed"


def test_a_reader_that_overlooks_something_is_caught(
    script: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    differing: list[bytes] = []
    monkeypatch.setattr("cear.data.tables.has_lone_returns", lambda _: False)
    found = script("readers_agree").compare(FILES // 2, 1, tmp_path, lambda path: differing.append(path.read_bytes()))
    assert sum(each.differ for each in found.values()) == len(differing) > 0
    assert all(b"\r" in content for content in differing)


def test_the_record_has_the_counts(script: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "record.json"
    monkeypatch.setattr(sys, "argv", ["readers_agree.py", "--files", "28", "--out", str(out)])
    script("readers_agree").main()
    record = json.loads(out.read_text(encoding="utf-8"))
    assert (record["files"], record["differ"]) == (28, 0)
    assert record["formats"]["n-triples"]["files"] == 2
