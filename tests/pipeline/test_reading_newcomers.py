"""New entities in a file: read with clear errors, and asked about from a finished run, also on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cear.cli import app
from cear.config import RunConfig
from cear.core.errors import CearError, ConfigError, DataError, UnknownName
from cear.data import KnowledgeBase
from cear.pipeline import Run, read_newcomers, run

HAMLET = {"name": "Hamlet", "description": "a small town", "facts": [["this", "lies in", "Country A"]]}


def written(folder: Path, values: Any) -> Path:
    path = folder / "new.json"
    path.write_text(json.dumps(values))
    return path


def test_json_and_yaml_say_the_same(tmp_path: Path, towns: KnowledgeBase) -> None:
    lines = "- name: Hamlet\n  description: a small town\n  facts:\n    - [Hamlet, lies in, c0]\n"
    (tmp_path / "new.yaml").write_text(lines)
    (from_yaml,) = read_newcomers(tmp_path / "new.yaml", towns)
    (from_json,) = read_newcomers(written(tmp_path, HAMLET), towns)
    assert (from_json.id, from_json.name, from_json.description) == ("Hamlet", "Hamlet", "a small town")
    assert from_json.facts == (("this", "lies in", "Country A"),)
    assert from_yaml.facts == (("Hamlet", "lies in", "c0"),)


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        ([], DataError, "no list of new entities"),
        (["Hamlet"], DataError, "no list of new entities"),
        ([HAMLET, {"nam": "Nook"}], ConfigError, "new entity 2 .*(\n.*)*Did you mean 'name'"),
        ({**HAMLET, "facts": [["this", "lies in"]]}, ConfigError, "new entity 1 .*(\n.*)*facts"),
        ({**HAMLET, "facts": [["this", "lives in", "c0"]]}, UnknownName, "new.json: .*Did you mean 'lies in'"),
        ({**HAMLET, "name": "town 3"}, DataError, "is called 'town 3' already: t3"),
        ({**HAMLET, "id": "t3"}, DataError, "new.json: .* that of 'Town 3'"),
    ],
)
def test_what_is_wrong_is_told_with_where_and_what_to_do(
    values: Any, error: type[CearError], message: str, tmp_path: Path, towns: KnowledgeBase
) -> None:
    with pytest.raises(error, match=message):
        read_newcomers(written(tmp_path, values), towns)


def test_a_name_that_exists_is_fine_with_an_id_of_its_own(tmp_path: Path, towns: KnowledgeBase) -> None:
    (other,) = read_newcomers(written(tmp_path, {"name": "Town 3", "id": "another"}), towns)
    assert (other.id, other.name) == ("another", "Town 3")


def test_what_is_no_file_of_data_is_told(tmp_path: Path, towns: KnowledgeBase) -> None:
    (tmp_path / "new.yaml").write_text("[{name: ]")
    with pytest.raises(DataError, match="neither JSON nor YAML"):
        read_newcomers(tmp_path / "new.yaml", towns)


@pytest.fixture(scope="module")
def finished(write_towns: Any, tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("newcomers")
    stage1 = {"model": "complex", "rank": 8, "epochs": 20, "batch": 32, "validate_every": 20}
    config = RunConfig.model_validate({"data": str(write_towns(folder / "data")), "stage1": stage1})
    return run(config, folder / "run")


def test_a_run_answers_about_newcomers_and_stays_as_it_is(finished: Run, tmp_path: Path) -> None:
    before = sorted(path for path in finished.folder.rglob("*"))
    grown = finished.with_entities(read_newcomers(written(tmp_path, HAMLET), finished.kb))
    told, *_ = grown.ask("lies in", subject="Hamlet", k=3)
    assert (told.name, told.known) == ("Country A", "train")
    answers = grown.ask("lies in", object="Country A", k=30)
    assert "Hamlet" in [answer.name for answer in answers if answer.known == "train"]
    assert grown.kb.n_entities == finished.kb.n_entities + 1
    assert sorted(path for path in finished.folder.rglob("*")) == before
    with pytest.raises(UnknownName):
        finished.ask("lies in", subject="Hamlet")


def test_the_command_line_reads_them(finished: Run, tmp_path: Path) -> None:
    path = written(tmp_path, HAMLET)
    asked = ["ask", str(finished.folder), "Hamlet", "road to", "--new-entities", str(path), "--k", "3"]
    result = CliRunner().invoke(app, asked)
    assert result.exit_code == 0, result.output
    assert "⟨Hamlet, road to, ?⟩" in result.output
