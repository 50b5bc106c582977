"""A retriever from outside: an installed package adds a model, and nobody here knows about it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

HERE = Path(__file__).parent

RUN = """
import json, sys
import cear
from cear.retrieval import RETRIEVERS

data, out = sys.argv[1:]
stage1 = {"model": "cp", "rank": 8, "epochs": 4, "batch": 20, "embedding": {"kind": "lstm"}}
config = cear.RunConfig.parse({"data": data, "stage1": stage1}, source="here")
made = cear.run(config, out).evaluate("test").summary()["both"]
opened = cear.open_run(out)
print(json.dumps({
    "scorer": type(opened.scorer).__name__,
    "same": opened.evaluate("test").summary()["both"] == made,
    "mrr": made["mrr"],
    "answers": len(opened.ask("lies in", subject="Town 1", k=3, new=True)),
    "known": sorted(RETRIEVERS),
}))
"""

REFUSE = """
import cear
cear.RunConfig.parse({"stage1": {"model": "cp", "norm": 1}}, source="here")
"""


def python(script: str, *arguments: str, path: Path) -> subprocess.CompletedProcess[str]:
    """A fresh Python that finds packages in `path`, too."""
    command = [sys.executable, "-c", script, *arguments]
    return subprocess.run(
        command, env=os.environ | {"PYTHONPATH": str(path)}, capture_output=True, text=True, check=False
    )


def with_entry_points(folder: Path, *, group: str = "cear.retrievers", **points: str) -> Path:
    """A folder in which a package seems to be installed that names these plug-ins."""
    about = folder / "strange-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: strange\nVersion: 1.0\n")
    lines = [f"{name} = {value}" for name, value in points.items()]
    (about / "entry_points.txt").write_text("\n".join([f"[{group}]", *lines, ""]))
    return folder


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which pip has installed CP, built from its sources."""
    sources, target = tmp_path_factory.mktemp("sources") / "cear_cp", tmp_path_factory.mktemp("installed")
    shutil.copytree(HERE / "cear_cp", sources)  # building leaves files behind
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check"]
    command = [sys.executable, "-m", "pip", "install", *options, "--target", str(target), str(sources)]
    subprocess.run(command, check=True)
    return target


class TestFromOutside:
    def test_it_runs_opens_and_answers(self, installed: Path, write_towns: Callable[..., Path], tmp_path: Path) -> None:
        data = write_towns(tmp_path / "towns")
        done = python(RUN, str(data), str(tmp_path / "run"), path=installed)
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
        assert (found["scorer"], found["same"], found["answers"]) == ("CP", True, 3)
        assert 0 < found["mrr"] <= 1
        assert {"cp", "complex"} <= set(found["known"])

    def test_its_settings_are_checked_like_ours(self, installed: Path) -> None:
        done = python(REFUSE, path=installed)
        assert "ConfigError" in done.stderr
        assert "stage1.norm: no such setting" in done.stderr

    def test_who_imports_it_first_has_it_too(self, installed: Path) -> None:
        script = "import cear_cp; from cear.retrieval import RETRIEVERS; assert RETRIEVERS['cp'] is cear_cp.CPConfig"
        done = python(script, path=installed)
        assert (done.returncode, done.stderr) == (0, "")


class TestBroken:
    """A stranger's mistake is told, and stops nobody else's work."""

    KNOWN = "from cear.retrieval import RETRIEVERS; print(*RETRIEVERS)"

    @pytest.mark.parametrize(
        ("value", "why"),
        [("no_such_module:Config", "No module named"), ("json:loads", "no class of settings"), ("json:no", "no")],
        ids=["no module", "no settings", "no name"],
    )
    def test_what_does_not_load_is_left_out_with_a_warning(self, value: str, why: str, tmp_path: Path) -> None:
        done = python(self.KNOWN, path=with_entry_points(tmp_path, mine=value))
        assert done.returncode == 0, done.stderr
        assert "mine" not in done.stdout.split()
        assert "complex" in done.stdout.split()
        assert f"mine = {value} of cear.retrievers was not loaded" in done.stderr
        assert why in done.stderr

    def test_a_name_of_ours_cannot_be_taken(self, tmp_path: Path) -> None:
        script = "from cear.retrieval import RETRIEVERS; print(RETRIEVERS['complex'].__module__)"
        done = python(script, path=with_entry_points(tmp_path, complex="json:loads"))
        assert done.stdout.strip() == "cear.retrieval.complex"
        assert "complex is a name of ours" in done.stderr


RERANKER = """
from typing import Literal

from cear.reranking import WideConfig


class NarrowConfig(WideConfig):
    \"\"\"A wide re-ranker that is narrow.\"\"\"

    kind: Literal["narrow"] = "narrow"
    width: int = 8
"""

RERANK = """
import sys
import cear
from cear.reranking import RERANKERS

data, out = sys.argv[1:]
reranker = {"kind": "narrow", "text": False, "heads": 2, "epochs": 1}
stage1, candidates = {"rank": 8, "epochs": 2, "batch": 20}, {"k": 6, "crossfit": {"folds": 3}}
values = {"data": data, "stage1": stage1, "candidates": candidates, "reranker": reranker}
done = cear.run(cear.RunConfig.parse(values, source="here"), out)
print(sorted(RERANKERS), done.evaluate("test").before is not None, done.ranker.reranker.config.width)
"""


def test_a_re_ranker_from_outside_re_ranks(tmp_path: Path, write_towns: Callable[..., Path]) -> None:
    place = with_entry_points(tmp_path / "site", group="cear.rerankers", narrow="narrow_reranker:NarrowConfig")
    (place / "narrow_reranker.py").write_text(RERANKER)
    done = python(RERANK, str(write_towns(tmp_path / "towns")), str(tmp_path / "run"), path=place)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[0] == "['narrow', 'sequence', 'wide'] True 8"
