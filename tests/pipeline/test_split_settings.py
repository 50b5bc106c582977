"""The split of facts that come in one file, as a configuration says it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cear.config import RunConfig
from cear.core.errors import ConfigError
from cear.core.types import SPLITS
from cear.data import KnowledgeBase, load
from cear.pipeline import lay_out


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A hundred facts of a circle of twenty."""
    lines = [f"e{i}\tstep {step}\te{(i + step) % 20}\n" for i in range(20) for step in range(1, 6)]
    (tmp_path / "facts.tsv").write_text("".join(lines))
    return tmp_path / "facts.tsv"


def split_of(file: Path, **split: Any) -> KnowledgeBase:
    values = {"data": str(file), **({"split": split} if split else {})}
    return lay_out(RunConfig.parse(values, source="test"), file.parent / "run").kb


def test_shares_are_those_of_the_configuration(file: Path) -> None:
    kb = split_of(file, valid=0.2, test=0.1)
    assert [len(kb.facts(split)) for split in SPLITS] == [70, 20, 10]


def test_by_default_the_data_is_what_it_always_was(file: Path) -> None:
    assert split_of(file).digest == split_of(file, seed=0, valid=0.05, test=0.05).digest == load(file).digest


def test_another_seed_holds_out_others(file: Path) -> None:
    assert split_of(file, seed=1).digest != split_of(file).digest
    assert split_of(file, seed=1).digest == load(file, seed=1).digest


@pytest.mark.parametrize(
    ("split", "told"),
    [
        ({"valid": 0.5, "test": 0.5}, r"split: .*valid 0\.5 and test 0\.5 .* leave some for train"),
        ({"valid": -0.1}, r"split\.valid: .*found -0\.1"),
        ({"sede": 1}, r"split\.sede: no such setting\. Did you mean 'seed'"),
    ],
)
def test_what_is_no_split_is_refused(split: dict[str, Any], told: str, file: Path) -> None:
    with pytest.raises(ConfigError, match=told):
        split_of(file, **split)
