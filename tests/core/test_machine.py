"""What a process says about its machine and its code."""

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from cear.core import machine


def test_a_processor_has_a_count_and_a_name():
    assert re.match(r"[1-9]\d* x \S", machine.cpu_name())


def test_peak_memory_is_in_bytes():
    block = np.ones(30_000_000 // 8)
    assert block.nbytes < machine.peak_bytes() < 2**40


@pytest.mark.skipif(not Path("/proc/meminfo").exists(), reason="only Linux tells what is available")
def test_available_memory_is_in_bytes():
    assert 2**20 < machine.available_bytes() < 2**50


class TestCommit:
    """The package as part of a checkout made for the test."""

    @pytest.fixture(autouse=True)
    def _asked_anew(self):
        machine.checkout.cache_clear()
        yield
        machine.checkout.cache_clear()

    def git(self, folder, *arguments):
        identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
        subprocess.run(["git", "-C", str(folder), *identity, *arguments], check=True, capture_output=True)

    def commit_all(self, folder):
        self.git(folder, "init")
        self.git(folder, "add", ".")
        self.git(folder, "commit", "-m", "some")

    def package_in(self, folder, monkeypatch):
        package = Path(folder) / "src" / "cear"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text("")
        monkeypatch.setattr(machine.cear, "__file__", str(package / "__init__.py"))
        return package

    def test_a_clean_checkout_and_a_changed_one(self, tmp_path, monkeypatch):
        package = self.package_in(tmp_path, monkeypatch)
        self.commit_all(tmp_path)
        (tmp_path / "result.json").write_text("{}")  # what a run writes does not make the code dirty
        commit, dirty = machine.checkout()
        assert re.fullmatch(r"[0-9a-f]{40}", commit)
        assert dirty is False
        (package / "new.py").write_text("")
        assert machine.checkout() == (commit, False), "asked for once a process"
        machine.checkout.cache_clear()
        assert machine.checkout() == (commit, True)

    def test_an_installation_inside_somebody_elses_checkout_has_no_commit(self, tmp_path, monkeypatch):
        self.git(tmp_path, "init")
        self.package_in(tmp_path, monkeypatch)
        assert machine.checkout() == (None, None)

    def test_without_git_there_is_no_commit(self, monkeypatch):
        monkeypatch.setenv("PATH", "")
        assert machine.checkout() == (None, None)

    def test_files_changed_since_a_commit_when_they_differ_from_it_committed_or_not(self, tmp_path, monkeypatch):
        package = self.package_in(tmp_path, monkeypatch)
        self.commit_all(tmp_path)
        start, _ = machine.checkout()
        (tmp_path / "README.md").write_text("other files are not the package")
        assert machine.changed_since(start) is False
        (package / "new.py").write_text("")
        assert machine.changed_since(start) is True
        self.commit_all(tmp_path)
        assert machine.changed_since(start) is True
        (package / "new.py").unlink()
        self.commit_all(tmp_path)
        assert machine.changed_since(start) is False, "what was taken back is as it was"

    def test_of_a_commit_that_is_not_here_nothing_is_known(self, tmp_path, monkeypatch):
        self.package_in(tmp_path, monkeypatch)
        self.commit_all(tmp_path)
        assert machine.changed_since("0" * 40) is None
