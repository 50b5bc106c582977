"""Mutated files of every kind that is read: each is read or refused, and a reader that errs is caught."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

CASES = 1_000  # `python benchmarks/fuzz.py` makes 10,000


@pytest.mark.timeout(600)
def test_nothing_but_a_reading_or_a_sentence(script: Any, tmp_path: Path) -> None:
    fuzz = script("fuzz")
    found = [*fuzz.cases(CASES, 1, tmp_path)]

    assert [each for each in found if each.became in fuzz.WRONG] == []
    assert Counter(each.became for each in found)["refused"] > CASES // 3, "mutations that hurt nobody show nothing"
    assert all(each.told for each in found if each.became == "refused")


def test_a_reader_that_errs_is_caught(script: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fuzz = script("fuzz")
    monkeypatch.setattr(fuzz, "read_log", lambda path: path.read_text(encoding="utf-8").index("verdict"))
    found = [each for each in fuzz.cases(120, 1, tmp_path) if each.target == "a log of decisions"]

    assert "a traceback" in {each.became for each in found}
