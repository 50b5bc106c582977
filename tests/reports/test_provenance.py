"""What a provenance holds."""

import json
import platform
import re
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import torch

import cear
from cear.reports import Provenance, peak_bytes
from cear.reports import provenance as module


def test_it_names_versions_machine_and_moment(provenance):
    assert provenance.versions == {
        "cear": cear.__version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
        "polars": provenance.versions["polars"],
    }
    assert provenance.threads == torch.get_num_threads()
    assert re.match(r"\d+ x \S", provenance.cpu)
    moment = datetime.fromisoformat(provenance.date)
    assert moment.utcoffset() == timedelta(0)
    assert abs(datetime.now(UTC) - moment) < timedelta(minutes=5)


def test_it_is_json(provenance):
    assert json.loads(json.dumps(provenance.as_json()))["config"] == {"model": "complex", "rank": 8}


def test_it_holds_no_path_of_this_machine(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.argv", [f"{tmp_path}/bin/cear", "run", f"{tmp_path}/x.yaml"])
    made = Provenance.collect(config={"data": str(tmp_path / "kb")}, data=str(tmp_path / "kb"), digest="", seconds=0.0)
    assert str(tmp_path) not in json.dumps(made.as_json())
    assert made.command == "cear run x.yaml"


def test_peak_memory_is_in_bytes():
    block = np.ones(30_000_000 // 8)
    assert block.nbytes < peak_bytes() < 2**40


class TestCommit:
    """The package as part of a checkout made for the test."""

    def git(self, folder, *arguments):
        identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
        subprocess.run(["git", "-C", str(folder), *identity, *arguments], check=True, capture_output=True)

    def package_in(self, folder, monkeypatch):
        package = Path(folder) / "src" / "cear"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text("")
        monkeypatch.setattr(module.cear, "__file__", str(package / "__init__.py"))
        return package

    def test_a_clean_checkout_and_a_changed_one(self, tmp_path, monkeypatch):
        package = self.package_in(tmp_path, monkeypatch)
        self.git(tmp_path, "init")
        self.git(tmp_path, "add", ".")
        self.git(tmp_path, "commit", "-m", "start")
        (tmp_path / "result.json").write_text("{}")  # what a run writes does not make the code dirty
        commit, dirty = module._checkout()
        assert re.fullmatch(r"[0-9a-f]{40}", commit)
        assert dirty is False
        (package / "new.py").write_text("")
        assert module._checkout() == (commit, True)

    def test_an_installation_inside_somebody_elses_checkout_has_no_commit(self, tmp_path, monkeypatch):
        self.git(tmp_path, "init")
        self.package_in(tmp_path, monkeypatch)
        assert module._checkout() == (None, None)

    def test_without_git_there_is_no_commit(self, monkeypatch):
        monkeypatch.setenv("PATH", "")
        assert module._checkout() == (None, None)
