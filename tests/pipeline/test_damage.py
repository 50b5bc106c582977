"""A finished run whose files are damaged: an error or the very same answers, never others and never a traceback."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from cear.config import RunConfig
from cear.core.errors import CearError, DataError, MismatchError
from cear.pipeline import Run, open_run, run

Damage = Callable[[bytes], bytes]


def flipped(content: bytes) -> bytes:
    """One bit, in the middle."""
    half = len(content) // 2
    return content[:half] + bytes([content[half] ^ 4]) + content[half + 1 :]


DAMAGES: dict[str, Damage] = {
    "truncated": lambda content: content[: 2 * len(content) // 3],
    "emptied": lambda _: b"",
    "flipped": flipped,
    "garbage": lambda content: (b"\x93garbage\0\xff" * (1 + len(content) // 10))[: len(content)],
}


@pytest.fixture(scope="module")
def config(write_towns: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> RunConfig:
    values: dict[str, Any] = {"data": str(write_towns(tmp_path_factory.mktemp("data") / "towns")), "threads": 1}
    values["stage1"] = {"rank": 4, "batch": 64, "epochs": 2, "validate_every": 2}
    values["candidates"] = {"k": 6, "crossfit": {"folds": 2}, "extra_retrievers": {"rules": {"model": "rules"}}}
    values["reranker"] = {"kind": "wide", "text": False, "width": 8, "heads": 2, "epochs": 1}
    return RunConfig.model_validate(values)


@pytest.fixture(scope="module")
def folder(config: RunConfig, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of two stages, evaluated, with its store inside."""
    made = run(config, tmp_path_factory.mktemp("runs") / "run")
    made.evaluate("test")
    return made.folder


@pytest.fixture
def copy(folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(folder, tmp_path / "run"))


def answers(done: Run) -> object:
    """What a run says: answers of a question, the figures of an evaluation, and how it was trained."""
    asked = done.ask("lies in", subject="Town 3", k=5)
    evaluation = done.evaluate("test")
    return asked, evaluation.summary(), evaluation.ranks.above.tolist(), done.record(evaluation).as_json()["details"]


def files_of(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file() and path.suffix != ".lock")


def without_seconds(said: Any) -> Any:
    """A step that is made again takes other seconds."""
    if isinstance(said, dict):
        return {key: without_seconds(value) for key, value in said.items() if "seconds" not in key}
    return [without_seconds(each) for each in said] if isinstance(said, list | tuple) else said


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_every_file_of_a_run_and_its_store(damage: Damage, folder: Path, copy: Path) -> None:
    right, whole = without_seconds(answers(open_run(folder))), {path: path.read_bytes() for path in files_of(copy)}
    refused = set()
    for path, content in whole.items():
        path.write_bytes(damage(content))
        try:
            assert without_seconds(answers(open_run(copy))) == right, path
        except CearError:
            refused.add(path.relative_to(copy).parts[-1])
        for each in [*files_of(copy)]:
            if each not in whole:
                each.unlink()
        for each, before in whole.items():
            if not each.exists() or each.read_bytes() != before:
                each.parent.mkdir(parents=True, exist_ok=True)
                each.write_bytes(before)
    needed = {"config.yaml", "run.json", "best.safetensors", "rules.safetensors", "weights.safetensors", "fusion.json"}
    assert refused >= needed, "what the answers come from, and what says so"
    assert "ranks.parquet" not in refused, "an evaluation is made again"


def test_a_damaged_step_is_named_by_who_only_opens_and_made_again_by_who_runs(
    config: RunConfig, folder: Path, copy: Path, caplog: pytest.LogCaptureFixture
) -> None:
    [weights] = copy.glob("steps/reranker-wide/*/model/weights.safetensors")
    content = weights.read_bytes()
    weights.write_bytes(flipped(content))
    with pytest.raises(DataError, match=r"of its re-ranker, weights\.safetensors is not what .* same `cear run` again"):
        open_run(copy)
    again = run(config, copy)
    assert "re-ranker is damaged and not used: weights.safetensors" in caplog.text
    assert [report.name for report in again.steps() if not report.reused] == ["re-ranker"]
    assert weights.read_bytes() == content
    assert without_seconds(answers(open_run(copy))) == without_seconds(answers(open_run(folder)))


class TestConfiguration:
    def test_an_edited_one_is_told_apart_from_a_damaged_one(self, copy: Path) -> None:
        path = copy / "config.yaml"
        values = yaml.safe_load(path.read_text())
        path.write_text(yaml.safe_dump(values | {"fusion": "none"}))
        with pytest.raises(MismatchError, match=r"config\.yaml was changed after the run was made.*--out OTHER"):
            open_run(copy)
        path.write_text("stage1: [")
        with pytest.raises(DataError, match=r"config\.yaml is damaged: .*(?s:.*)same `cear run` again"):
            open_run(copy)

    @pytest.mark.parametrize("content", ["fusion: none\ndata: towns\n", "stage1: [", None])
    def test_the_same_run_puts_it_back(
        self, content: str | None, config: RunConfig, copy: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        path = copy / "config.yaml"
        before = path.read_bytes()
        path.unlink() if content is None else path.write_text(content)
        again = run(config, copy)
        assert path.read_bytes() == before
        assert "config.yaml was not what the run was made with" in caplog.text
        assert all(report.reused for report in again.steps())

    def test_another_run_is_refused_whatever_the_file_says_now(self, config: RunConfig, copy: Path) -> None:
        other = config.model_copy(update={"fusion": "none"})
        (copy / "config.yaml").write_text(yaml.safe_dump(other.model_dump()))
        with pytest.raises(MismatchError, match="was changed after the run was made"):
            run(other, copy)


class TestRunFile:
    @pytest.mark.parametrize(
        "content", ["", "null", "[]", "{}", '{"schema": 2}', '{"schema": null}', '{"schema": 2, "steps": null}', "\0"]
    )
    def test_anything_else_is_an_error_with_its_path(self, content: str, copy: Path) -> None:
        (copy / "run.json").write_text(content)
        with pytest.raises(CearError, match=str(copy)):
            open_run(copy)

    def test_one_of_before_there_were_seals_is_read(self, folder: Path, copy: Path) -> None:
        values = json.loads((copy / "run.json").read_text())
        (copy / "run.json").write_text(json.dumps({k: v for k, v in values.items() if k not in ("seal", "config")}))
        for path in copy.rglob("seal.json"):
            path.unlink()
        assert answers(open_run(copy)) == answers(open_run(folder))

    def test_deleted_as_the_error_says_it_is_made_anew_and_every_step_is_reused(
        self, config: RunConfig, copy: Path
    ) -> None:
        (copy / "run.json").write_bytes(flipped((copy / "run.json").read_bytes()))
        with pytest.raises(DataError, match=r"run\.json cannot be read.*delete it and run the command that made it"):
            run(config, copy)
        (copy / "run.json").unlink()
        assert all(report.reused for report in run(config, copy).steps())
