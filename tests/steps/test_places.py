"""Where steps are kept: under the store, whatever a plug-in calls them."""

from __future__ import annotations

from pathlib import Path

import pytest

from cear.core.context import HERE
from cear.core.errors import ConfigError
from cear.steps import Step, Store, holds_steps


@pytest.mark.parametrize("kind", ["../../x", "/abs", "..", "a/b", "", "a\0b"])
def test_a_kind_that_is_a_path_is_refused_before_anything_is_made(kind: str, tmp_path: Path) -> None:
    step = Step("a step", kind, {}, lambda folder: pytest.fail(f"it was made in {folder}"))
    with pytest.raises(ConfigError, match="cannot be the name of a kind of step"):
        Store(tmp_path / "store", context=HERE).get(step)
    assert not [*tmp_path.iterdir()]


def test_a_store_is_known_by_a_finished_step(tmp_path: Path) -> None:
    assert not holds_steps(tmp_path / "nothing")
    (tmp_path / "home" / "documents").mkdir(parents=True)
    (tmp_path / "home" / "documents" / "step.json").write_text("{}")
    assert not holds_steps(tmp_path / "home")
    Store(tmp_path / "store", context=HERE).get(Step("a step", "kind", {}, lambda _: None))
    assert holds_steps(tmp_path / "store")
