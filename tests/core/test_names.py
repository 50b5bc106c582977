"""Names that become parts of paths: what is not plainly a name leads nowhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cear.core.errors import ConfigError, DataError
from cear.core.names import beside, identifier

PATHS = ["../../x", "/abs", "..", ".", "a/b", "a\\b", "C:x", "", "a\0b"]


@pytest.mark.parametrize("name", [*PATHS, "rules\n", "-x", "x.y", "é", "a" * 65])
def test_what_is_no_identifier_is_refused_with_the_rule(name: str) -> None:
    with pytest.raises(ConfigError, match=r"cannot be the name of a size.*Take a letter") as told:
        identifier(name, "size")
    assert str(told.value).isprintable(), "what was found is shown escaped"


@pytest.mark.parametrize("name", ["x", "label_tree-2", "a" * 64])
def test_identifiers_are_taken_as_they_are(name: str) -> None:
    assert identifier(name, "size") == name


@pytest.mark.parametrize("name", [*PATHS, None, 3, ["ids.txt"]])
def test_a_file_names_none_elsewhere(name: Any) -> None:
    with pytest.raises(DataError, match=r"scorer\.json names .*expected the name of a file beside it") as told:
        beside(Path("folder/scorer.json"), name)
    assert str(told.value).isprintable()


@pytest.mark.parametrize("name", ["ids.txt", "...", "a b", ".hidden"])
def test_a_file_may_name_any_beside_it(name: str) -> None:
    assert beside(Path("folder/scorer.json"), name) == Path("folder") / name
