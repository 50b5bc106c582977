"""The configurations for open knowledge bases, made small: each goes all the way from facts to answers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cear.config import load_config
from cear.pipeline import open_run, run

CONFIGS = Path(__file__).parents[1] / "configs"
NAMES = ("complex", "complex-lstm", "extreme-text", "text", "cear-complex-lstm", "cear-extreme-text", "wide")

TINY = {
    "complex": ["stage1.rank=6", "stage1.epochs=1", "stage1.loss.negatives=12"],
    "extreme_text": ["stage1.dim=8", "stage1.pair_bits=12", "stage1.epochs=1"],
    "text": ["stage1.epochs=1"],
}
EXTRA = "candidates.extra_retrievers"
TINY_LISTS = ("candidates.k=5", "candidates.crossfit.folds=4")
TINY_WIDE = (f"{EXTRA}.complex_lstm.epochs=1", f"{EXTRA}.text.epochs=1", "reranker.epochs=1")


@pytest.mark.parametrize("name", NAMES)
def test_it_goes_from_facts_to_answers(
    name: str, write_towns: Callable[..., Path], encoder_of: Callable[..., str], tmp_path: Path
) -> None:
    data, encoder = write_towns(tmp_path / "towns"), encoder_of()
    small = {
        "cear": [*TINY_LISTS, "reranker.form_tokens=4", f"reranker.encoder={encoder}"],
        "wide": [
            *TINY_LISTS,
            *TINY_WIDE,
            f"{EXTRA}.text.encoder={encoder}",
            f"reranker.encoder={encoder}",
        ],
        "text": [f"stage1.encoder={encoder}"],
    }
    path = CONFIGS / "reverb45k" / f"{name}.yaml"
    tiny = [*TINY[load_config(path).stage1.model], *small.get(name.split("-")[0], []), f"data={data}"]
    finished = run(load_config(path, tiny), tmp_path / "run")
    evaluation = finished.evaluate("test")
    assert len(evaluation.ranks) == 24
    assert (evaluation.before is not None) == name.startswith(("cear", "wide"))
    assert open_run(tmp_path / "run").evaluate("test").summary() == evaluation.summary()
    assert len(finished.ask("lies in", subject="Town 1", k=30)) == 30


@pytest.mark.parametrize("name", NAMES)
def test_both_knowledge_bases_are_treated_alike(name: str) -> None:
    one, other = (load_config(CONFIGS / data / f"{name}.yaml") for data in ("reverb45k", "mokb6-en"))
    assert one == other.model_copy(update={"data": "reverb45k"})


@pytest.mark.parametrize("name", ["complex-lstm", "extreme-text"])
def test_the_second_stage_takes_over_the_first(name: str) -> None:
    first, both = (load_config(CONFIGS / "reverb45k" / f"{prefix}{name}.yaml") for prefix in ("", "cear-"))
    assert first.stage1 == both.stage1
    assert first.reranker is None
    assert both.reranker is not None
    assert both.candidates.k == 30
