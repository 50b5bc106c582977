"""Records do not carry the paths of the machine that made them."""

from pathlib import Path

import pytest

from cear.reports.machine_paths import clean, clean_command, clean_text


@pytest.fixture
def project(tmp_path, monkeypatch):
    (tmp_path / "project" / "configs").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "project"


def test_a_command_is_what_one_would_type(project):
    command = [f"{project}/.venv/bin/cear", "run", f"{project}/configs/x.yaml", "--out", f"{project}/runs/x"]
    assert clean_command(command) == "cear run configs/x.yaml --out runs/x"


def test_a_module_is_called_as_one(project):
    assert clean_command([f"{project}/src/cear/__main__.py", "demo"]) == "python -m cear demo"


def test_a_script_is_called_by_python(project):
    assert clean_command([f"{project}/benchmarks/speed.py", "--n", "3"]) == "python benchmarks/speed.py --n 3"


def test_the_running_command_is_the_default(monkeypatch):
    monkeypatch.setattr("sys.argv", ["/usr/local/bin/cear", "data", "check", "demo"])
    assert clean_command() == "cear data check demo"


def test_a_path_outside_the_working_folder_keeps_its_last_part(project):
    assert clean_text(f"{project.parent}/elsewhere/facts.tsv") == "facts.tsv"
    assert clean_text(f"--data={project.parent}/elsewhere/facts.tsv") == "--data=facts.tsv"


@pytest.mark.usefixtures("project")
def test_a_home_folder_is_never_shown():
    assert clean_text(str(Path.home() / "not" / "there" / "facts.tsv")) == "facts.tsv"
    assert clean_text("~/facts.tsv") == "facts.tsv"


@pytest.mark.parametrize(
    "text", ["configs/x.yaml", "/people/person/gender", "/", "stage1.rank=64", "a = b", "", "\0", "x" * 5000]
)
def test_other_texts_stay_as_they_are(text):
    assert clean_text(text) == text


def test_a_configuration_is_cleaned_in_depth(project):
    config = {"data": f"{project}/kb", "stage1": {"rank": 64, "files": [Path(f"{project}/a"), None, True]}}
    assert clean(config) == {"data": "kb", "stage1": {"rank": 64, "files": ["a", None, True]}}
