"""Names of extra retrievers: identifiers, and none that a run uses for something else."""

from __future__ import annotations

import pytest

from cear.candidates import CandidatesConfig
from cear.core.errors import ConfigError


def named(name: str, **others: str) -> CandidatesConfig:
    return CandidatesConfig.parse({"extra_retrievers": {name: {"model": "rules"}}, **others}, source="mine.yaml")


@pytest.mark.parametrize("name", ["../../x", "/abs", "..", "a/b", "", "a\0b", "rules\n", "a" * 65])
def test_a_path_is_no_name(name: str) -> None:
    with pytest.raises(ConfigError, match=r"mine\.yaml is not a configuration that works"):
        named(name)


def test_an_identifier_is_one() -> None:
    assert [*named("label_tree-2").extra_retrievers] == ["label_tree-2"]


def test_names_of_a_run_are_taken() -> None:
    with pytest.raises(ConfigError, match="take another name"):
        named("stage1")
    with pytest.raises(ConfigError, match="take another name"):
        named("lists", lists="mine.parquet")
    assert [*named("lists").extra_retrievers] == ["lists"]
