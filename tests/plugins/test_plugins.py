"""Models from outside: installed packages add them, and nobody here knows about them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples" / "plugins"

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

ALL_THREE = """
import json, math, sys
import numpy as np
import cear
from cear.core.types import Queries

data, out = sys.argv[1:]
values = {
    "data": data,
    "stage1": {"model": "frequency", "smoothing": 0.5},
    "candidates": {
        "k": 8, "crossfit": {"folds": 3}, "extra_retrievers": {"cp": {"model": "cp", "rank": 4, "epochs": 2}}
    },
    "reranker": {"kind": "linear", "epochs": 2},
}
made = cear.run(cear.RunConfig.parse(values, source="here"), out)
opened, kb = cear.open_run(out), made.kb
lies_in, a_country = kb.relations.find("lies in"), kb.entities.find("Country A")
scores = opened.scorer.score_all(Queries(np.array([0]), np.array([lies_in])))[0]
facts = kb.facts("train")
facts = facts[facts[:, 1] == lies_in]
stages = opened.scorer, opened.plan.retrievers.extra["cp"], opened.ranker.reranker
print(json.dumps({
    "who": [type(each).__name__ for each in stages],
    "same": opened.evaluate("test").summary() == made.evaluate("test").summary(),
    "counted": float(scores[a_country]),
    "by hand": math.log(((facts[:, 2] == a_country).sum() + 0.5) / (len(facts) + 0.5 * kb.n_entities)),
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
    """A folder into which pip has installed the packages of the page, built from their sources."""
    sources, target = tmp_path_factory.mktemp("sources") / "plugins", tmp_path_factory.mktemp("installed")
    shutil.copytree(EXAMPLES, sources)  # building leaves files behind
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check"]
    packages = [str(path.parent) for path in sources.glob("*/pyproject.toml")]
    subprocess.run([sys.executable, "-m", "pip", "install", *options, "--target", str(target), *packages], check=True)
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

    def test_a_retriever_that_counts_and_a_re_ranker_work_beside_it(
        self, installed: Path, write_towns: Callable[..., Path], tmp_path: Path
    ) -> None:
        done = python(ALL_THREE, str(write_towns(tmp_path / "towns")), str(tmp_path / "run"), path=installed)
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
        assert found["who"] == ["FrequencyRetriever", "CP", "LinearReranker"]
        assert found["same"]
        assert found["counted"] == pytest.approx(found["by hand"])

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
