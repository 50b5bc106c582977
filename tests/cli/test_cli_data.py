"""`cear data check`: what a reader sees, and what a script gets."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from cear.cli import app
from cear.cli.data import findings_page
from cear.core.errors import UnknownName
from cear.data import Finding, Findings

SHARED = "Mercury [planet]\tr\tb\n"


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CEAR_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def folder(tmp_path: Path) -> Callable[..., Path]:
    """Writes the splits of a knowledge base and returns its folder."""

    def write(**splits: str) -> Path:
        for split, text in splits.items():
            (tmp_path / f"{split}.txt").write_text(text, encoding="utf-8")
        return tmp_path

    return write


def findings(*found: Finding, data: str = "toy") -> Findings:
    facts = {"train": 12345, "valid": 2, "test": 1}
    kinds = {"1-1": 1, "1-n": 0, "n-1": 3, "n-n": 0}
    return Findings(data, "0123456789abcdef", "folder", 1000, 4, facts, 2.5, kinds, found)  # type: ignore[arg-type]


def drawn(page: Findings, width: int = 100) -> list[str]:
    """The lines of the page as a terminal of this width shows them, without colours."""
    file = io.StringIO()
    Console(file=file, width=width, color_system=None).print(findings_page(page))
    return [line.rstrip() for line in file.getvalue().splitlines()]


def test_the_sizes_come_first() -> None:
    lines = drawn(findings())
    assert lines[0] == "toy (layout: folder)"
    cells = [[cell.strip() for cell in line.split("│")[1:3]] for line in lines if line.startswith("│")]
    assert cells == [
        ["entities", "1,000"],
        ["relations", "4"],
        ["1-1", "1"],
        ["1-n", "0"],
        ["n-1", "3"],
        ["n-n", "0"],
        ["facts in train", "12,345"],
        ["facts in valid", "2"],
        ["facts in test", "1"],
        ["training facts of an entity, median", "2.5"],
        ["digest", "0123456789ab"],
    ]
    assert lines[-1] == "Nothing is wrong with it."


def test_the_gravest_findings_come_first_with_their_examples() -> None:
    page = findings(
        Finding("symmetric-relations", "info", "1 relations are symmetric.", 1, ("borders",)),
        Finding("shared-facts", "error", "9 facts stand in two splits.", 9, ("⟨a, r, b⟩", "⟨b, r, c⟩")),
        Finding("empty-split", "warning", "valid has no facts.", 1),
    )
    lines = drawn(page)
    assert lines[lines.index("Errors") :] == [
        "Errors",
        "  shared-facts: 9 facts stand in two splits.",
        "    ⟨a, r, b⟩",
        "    ⟨b, r, c⟩",
        "    …",  # nine were found, two are shown
        "",
        "Warnings",
        "  empty-split: valid has no facts.",
        "",
        "Remarks",
        "  symmetric-relations: 1 relations are symmetric.",
        "    borders",
        "",
        "Found 1 error, 1 warning, 1 remark.",
    ]


@pytest.mark.parametrize("name", ["Mercury [planet]", "[red]Mars[/red]", "[/]", "[link=x", "back\\slash\\", ":moon:"])
def test_names_are_shown_as_they_are_whatever_they_look_like(name: str) -> None:
    lines = drawn(findings(Finding("unseen-entities", "warning", f"{name} is new.", 1, (name,)), data=name))
    assert lines[0] == f"{name} (layout: folder)"
    assert f"  unseen-entities: {name} is new." in lines
    assert f"    {name}" in lines


def test_the_embedded_knowledge_base_passes() -> None:
    result = CliRunner().invoke(app, ["data", "check", "demo"])
    assert result.exit_code == 0
    assert "2,616" in result.stdout
    assert "Errors" not in result.stdout


def test_warnings_do_not_fail_a_check(folder: Callable[..., Path]) -> None:
    source = folder(train="a\tr\tb\nb\tr\tc\n", valid="a\tr\tnew\n", test="a\tr\tc\n")
    result = CliRunner().invoke(app, ["data", "check", str(source)])
    assert "unseen-entities" in result.stdout
    assert result.exit_code == 0


def test_an_error_among_the_findings_is_exit_code_1_and_the_findings_are_written_all_the_same(
    folder: Callable[..., Path], tmp_path: Path
) -> None:
    source = folder(train=SHARED + "b\tr\tc\n", test=SHARED)
    result = CliRunner().invoke(app, ["data", "check", str(source), "--json", str(tmp_path / "out.json")])
    assert result.exit_code == 1
    assert "⟨Mercury [planet], r, b⟩" in result.stdout
    written = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    assert "shared-facts" in {finding["topic"] for finding in written["findings"]}


def test_skipped_lines_are_counted(folder: Callable[..., Path]) -> None:
    source = folder(train="a\tr\tb\nbroken\n")
    result = CliRunner().invoke(app, ["data", "check", str(source), "--skip-bad-lines"])
    assert "skipped-lines: 1 bad lines were skipped." in result.stdout


class TestHowAFileIsRead:
    TABLE = "Nr;Kopf;Ende;Art\n1;Paris;France;in\n2;Lyon;France;in\n"

    def _checked(self, path: Path, content: str, *options: str) -> dict[str, int]:
        path.write_text(content, encoding="utf-8")
        result = CliRunner().invoke(app, ["data", "check", str(path), *options, "--json", "-"])
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)

    @pytest.mark.parametrize(
        "columns", ["subject=Kopf,relation=Art,object=Ende", "subject = kopf, relation=4, object=3"]
    )
    def test_columns_are_chosen(self, tmp_path: Path, columns: str) -> None:
        found = self._checked(tmp_path / "kb.csv", self.TABLE, "--columns", columns)
        assert (found["entities"], found["relations"]) == (3, 1)

    @pytest.mark.parametrize("command", [["data", "check"], ["run", "own"]])
    def test_an_unknown_column_is_told(self, tmp_path: Path, command: list[str]) -> None:
        path = tmp_path / "kb.csv"
        path.write_text(self.TABLE, encoding="utf-8")
        source = f"data={path}" if command[0] == "run" else str(path)
        more = ["--out", str(tmp_path / "run")] if command[0] == "run" else []
        columns = ["--columns", "subject=Kpof,relation=Art,object=Ende"]
        with pytest.raises(UnknownName, match=r"no column 'Kpof'\. Did you mean 'Kopf'\?"):
            CliRunner().invoke(app, [*command, source, *columns, *more], catch_exceptions=False)

    def test_languages_and_predicates_of_rdf(self, tmp_path: Path) -> None:
        label = "<http://www.w3.org/2000/01/rdf-schema#label>"
        content = (
            "<http://x/a> <http://x/r> <http://x/b> .\n<http://x/a> <http://x/s> <http://x/c> .\n"
            f'<http://x/a> {label} "one"@en .\n<http://x/a> {label} "eins"@de .\n'
        )
        plain = self._checked(tmp_path / "kb.nt", content)
        german = self._checked(tmp_path / "kb.nt", content, "--languages", "de, en")
        assert german["digest"] != plain["digest"]
        less = self._checked(tmp_path / "kb.nt", content, "--leave-out", "http://x/s")
        assert (plain["relations"], less["relations"]) == (2, 1)
