"""The benchmark of the shared store at a tiny scale: it would see a corrupt step, and a service that fails unsaid."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

RIGHT: dict[str, Any] = {
    "shared": {"read_corrupt": 0, "faults": {"requests": 9, "error": 2}},
    "afterwards": {"read_corrupt": 0},
    "broken": [{"error": "s3://bucket could not be asked to read x: 6 tries failed"}],
}


@pytest.fixture
def shared_store(script: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    pytest.importorskip("moto.server")
    module = script("shared_store")
    for name in module.variables(Path(), "any", ""):
        monkeypatch.setenv(name, "put back in the end")
    return module


def test_a_machine_that_fails_on_the_way_reads_and_leaves_whole_steps(shared_store: Any, tmp_path: Path) -> None:
    with shared_store.service() as address, shared_store.proxied(address, shared_store.FAULTS, 1) as proxy:
        found = shared_store.shared(tmp_path, proxy, steps=2, machines=1, kills=0)
        assert (found["read_corrupt"], found["killed"]) == (0, 0)
        assert found["read"] >= 2 <= found["made"]
        later = shared_store.afterwards(tmp_path, proxy, 2)
        assert (later["read"], later["read_corrupt"]) == (2, 0)
        [broken] = shared_store.broken(tmp_path, proxy, ["error"])
        assert "5 tries failed" in broken["error"]


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({}, []),
        ({"afterwards": {"read_corrupt": 1}}, ["something corrupt was read"]),
        ({"shared": {**RIGHT["shared"], "read_corrupt": 1}}, ["something corrupt was read"]),
        ({"broken": [{"error": None}]}, ["a broken service was no clear error"]),
        ({"shared": {**RIGHT["shared"], "faults": {"requests": 9}}}, ["no fault was injected"]),
    ],
)
def test_what_must_hold_is_checked(shared_store: Any, change: dict[str, Any], found: list[str]) -> None:
    assert shared_store.failures(RIGHT | change) == found


def test_a_changed_byte_is_corrupt(shared_store: Any, tmp_path: Path) -> None:
    shared_store.step_of(3, tmp_path / "log").make(tmp_path)
    assert shared_store.is_whole(tmp_path, 3)
    assert not shared_store.is_whole(tmp_path, 4)
    (tmp_path / "small").write_text("step 4")
    assert not shared_store.is_whole(tmp_path, 3)
