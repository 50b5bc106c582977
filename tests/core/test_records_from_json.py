"""Dataclasses from JSON: what another version wrote is an error that says so."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import pytest

from cear.core.errors import DataError
from cear.core.records import from_json


@dataclass
class Place:
    epoch: int
    losses: list[float] = field(default_factory=list)
    done: bool = False


def test_what_was_written_comes_back() -> None:
    place = Place(3, [0.5], done=True)
    assert from_json(Place, asdict(place), "place.json") == place


def test_a_field_with_a_default_may_be_missing() -> None:
    assert from_json(Place, {"epoch": 3}, "place.json") == Place(3)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"epoch": 3, "colour": "red"}, r"no field of Place is called colour"),
        ({"done": True}, r"Place has no epoch there"),
        ([3], r"it holds list, expected the fields of Place"),
    ],
)
def test_anything_else_is_refused_with_file_reason_and_remedy(values: Any, said: str) -> None:
    with pytest.raises(DataError, match=rf"place\.json cannot be read: {said}\. .*delete it and run the command"):
        from_json(Place, values, "place.json")
