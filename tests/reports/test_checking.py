"""Whether a record still holds: its configuration, the code, the data."""

from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

import cear
from cear.core.errors import ConfigError, DataError
from cear.data import load
from cear.reports import (
    Loaded,
    Record,
    check_records,
    checking,
    checks_table,
    read_records,
    set_aside,
    write_record,
)
from cear.reports.checking import Verdict

SETTINGS = {"data": "demo", "stage1": {"rank": 8, "sizes": (1, 2)}, "also": {}}
THEN = {"data": "demo", "stage1": {"rank": 8, "sizes": [1, 2]}, "also": {}}  # as JSON has it


@pytest.fixture(scope="module")
def digest():
    return load("demo").digest


@pytest.fixture
def made(provenance, digest):
    """The provenance of a record that nothing has happened to."""
    versions = {"cear": cear.__version__}
    command = "cear run toy.yaml stage1.rank=8 --out runs/x=y --json a.json"
    return replace(
        provenance, command=command, config=THEN, digest=digest, commit="c" * 40, dirty=False, versions=versions
    )


@pytest.fixture
def check(evaluation, tmp_path, monkeypatch):
    """Checks the one record of a provenance against settings of today and what git says about the package."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "toy.yaml").write_text("")

    def call(made, *, settings=SETTINGS, written=None, changed=False, steps=None):
        monkeypatch.setattr(checking, "changed_since", lambda _: changed)
        write_record(tmp_path / "results" / "a.json", Record.of(evaluation, made, model="complex"), evaluation)
        (found,) = check_records(tmp_path / "results", lambda *_: Loaded(settings, written or {}), lambda _: steps)
        return found

    return call


def states(found):
    return found.configuration.state, found.code.state, found.data.state


def test_nothing_has_changed(check, made):
    found = check(made)
    assert states(found) == ("same", "same", "same")
    assert not found.changed


class TestConfiguration:
    def test_another_value(self, check, made):
        found = check(made, settings={**SETTINGS, "stage1": {"rank": 9, "sizes": (1, 2)}})
        assert states(found) == ("changed", "same", "same")
        assert found.configuration.reason == "stage1.rank was 8, is 9"
        assert found.changed

    def test_a_setting_that_is_gone(self, check, made):
        assert check(made, settings={**SETTINGS, "stage1": {"rank": 8}}).configuration.state == "changed"

    def test_a_default_that_came_later_is_no_change_of_the_file(self, check, made):
        assert check(made, settings={**SETTINGS, "new": 1}).configuration.state == "same"

    def test_a_setting_that_the_file_has_now_and_had_not_is(self, check, made):
        assert check(made, settings={**SETTINGS, "new": 1}, written={"new": 1}).configuration.state == "changed"

    def test_a_group_that_is_no_longer_empty_is(self, check, made):
        assert check(made, settings={**SETTINGS, "also": {"text": {"rank": 1}}}).configuration.state == "changed"

    def test_many_changes_are_counted(self, check, made):
        made = replace(made, config=THEN | dict.fromkeys("abcdef", 1))
        assert check(made).configuration.reason.endswith("; and 3 more")

    def test_a_file_that_is_not_there(self, check, made):
        found = check(replace(made, command="cear run none.yaml"))
        assert (found.configuration.state, found.configuration.reason) == ("missing", "there is no none.yaml")
        assert not found.changed

    def test_a_name_is_that_of_a_configuration_of_the_package(self, check, made):
        assert check(replace(made, command="cear run own data=x.tsv")).configuration.state == "same"

    def test_settings_that_no_longer_parse_are_a_change_with_a_reason(self, made, check, tmp_path):
        check(made)

        def refuse(*_):
            raise ConfigError("toy.yaml is not a configuration that works:\n  rnk: no such setting.")

        (found,) = check_records(tmp_path / "results", refuse, lambda _: None)
        assert found.configuration.state == "changed"
        assert "works: rnk: no such setting." in found.configuration.reason

    @pytest.mark.parametrize(
        "command", ["cear evaluate runs/x", "cear demo", "python x.py", "", "cear run 'x", "cear run"]
    )
    def test_other_commands_name_none(self, check, made, command):
        assert check(replace(made, command=command)).configuration.state == "unknown"

    def test_the_overrides_of_the_command_are_applied(self, made, check, tmp_path):
        check(replace(made, command="python -m cear run toy.yaml a=1 --out b=2 --download 'c=[1, 2]' --skip-bad-lines"))
        asked = []
        list(check_records(tmp_path / "results", lambda *given: asked.append(given) or Loaded({}, {}), lambda _: None))
        assert asked == [(Path("toy.yaml"), ["a=1", "c=[1, 2]", "skip_bad_lines=true"])]


class TestCode:
    def test_files_that_differ_from_the_commit(self, check, made):
        found = check(made, changed=True)
        assert states(found) == ("same", "changed", "same")
        assert found.code.reason == "differs from commit cccccccc"

    def test_another_version_needs_no_git(self, check, made):
        assert check(replace(made, versions={"cear": "0.0.1"}), changed=None).code.state == "changed"

    @pytest.mark.parametrize("change", [{"commit": None}, {"dirty": True}])
    def test_a_record_of_no_commit_cannot_be_compared(self, check, made, change):
        assert check(replace(made, **change)).code.state == "unknown"

    def test_neither_can_one_of_a_commit_that_is_not_here(self, check, made):
        assert check(made, changed=None).code.state == "unknown"


STEPS = {"a1": "stage1", "e1": "evaluation on test"}


class TestSteps:
    """A record that names its steps is compared by their keys: other commits need not have changed them."""

    @pytest.fixture
    def stepwise(self, made):
        return replace(
            made, seconds=2.0, steps=[{"name": name, "key": key, "seconds": 1.0} for key, name in STEPS.items()]
        )

    def test_the_same_keys_are_the_same_code_whatever_else_was_committed(self, check, stepwise):
        found = check(stepwise, changed=True, steps=STEPS)
        assert states(found) == ("same", "same", "same")

    def test_a_step_with_another_key_is_named(self, check, stepwise):
        found = check(stepwise, steps={"a2": "stage1", "e1": "evaluation on test"})
        assert (found.code.state, found.code.reason) == ("changed", "made otherwise today: stage1")

    def test_steps_that_cannot_be_laid_out_leave_the_commit(self, check, stepwise):
        assert check(stepwise, changed=True, steps=None).code.reason == "differs from commit cccccccc"


class TestData:
    def test_another_digest(self, check, made):
        found = check(replace(made, digest="abcdefghij"))
        assert found.data.state == "changed"
        assert found.data.reason.startswith("the digest was abcdefgh, is ")

    def test_data_that_is_not_on_this_machine(self, check, made):
        found = check(replace(made, config={**THEN, "data": "far/away"}), settings={**SETTINGS, "data": "far/away"})
        assert (found.data.state, found.data.reason) == ("missing", "far/away is not on this machine")
        assert not found.changed


def test_the_table_says_what_and_why(check, made, tmp_path):
    console = Console(width=140, file=StringIO(), record=True)
    console.print(checks_table([check(made, changed=True)], tmp_path / "results"))
    row = next(line for line in console.export_text().splitlines() if "a.json" in line)
    assert [cell.strip() for cell in row.strip("│").split("│")] == [
        "a.json",
        "same",
        "changed",
        "same",
        "code: differs from commit cccccccc",
    ]


class TestSetAside:
    """Records that have changed go where their commit says what they are of; the others stay."""

    @pytest.fixture
    def checked(self, evaluation, made, tmp_path, monkeypatch):
        """A record that still holds and one that does not, under `results`."""
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(checking, "changed_since", lambda commit: commit.startswith("d"))
        (tmp_path / "toy.yaml").write_text("")
        for name, commit in (("kept", "c" * 40), ("old", "d" * 40)):
            record = Record.of(evaluation, replace(made, commit=commit), model="complex")
            write_record(Path("results", "toy", f"{name}.json"), record, evaluation)
        return self.check()

    @staticmethod
    def check():
        return list(check_records(Path("results"), lambda *_: Loaded(SETTINGS, {}), lambda _: None))

    def test_a_changed_record_is_moved_with_its_ranks_and_checked_no_more(self, checked):
        before = Path("results/toy/old.json").read_bytes()
        there = Path("results/earlier/dddddddd/toy/old.json")
        assert set_aside(checked, Path("results")) == {Path("results/toy/old.json"): there}
        assert there.read_bytes() == before
        assert there.with_suffix(".ranks.parquet").exists()
        assert [each.record.name for each in self.check()] == ["kept.json"]
        assert not any(Path("results/toy").glob("old*"))

    def test_those_set_aside_are_records_like_any_other(self, checked):
        set_aside(checked, Path("results"))
        assert [path.name for path, _ in read_records(Path("results/earlier"))] == ["old.json"]

    def test_one_that_names_no_commit_stays_and_is_told(self, checked, monkeypatch):
        monkeypatch.setattr(checking, "read_record", lambda _: {"provenance": {}})
        with pytest.raises(DataError, match=r"old\.json has changed and names no commit"):
            set_aside(checked, Path("results"))
        assert Path("results/toy/old.json").exists()

    def test_without_its_data_nobody_knows_whether_a_record_has_changed(self, checked):
        away = [replace(each, data=Verdict("missing", "toy is not on this machine")) for each in checked]
        with pytest.raises(
            DataError, match=r"old\.json cannot be judged: toy is not on this machine\. Name the folder"
        ):
            set_aside(away, Path("results"))
        assert Path("results/toy/old.json").exists()
