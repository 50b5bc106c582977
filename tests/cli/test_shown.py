"""What a terminal is shown of names that strangers wrote: every character to be seen, none of them obeyed."""

from __future__ import annotations

import logging
import os
import re
import subprocess
import sys
import unicodedata
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest
import rich.text
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from typer.testing import CliRunner

from cear.cli import app
from cear.cli.console import show_safely
from cear.core.shown import LINE, NAME, one_line, shown

MODULE = import_module("cear.cli.console")  # the door has a console of the same name
COLOUR = re.compile(r"\x1b\[[\d;]*m")
HOSTILE = {  # a name, and how it is shown
    "\x1b[31;5mblinks": r"\x1b[31;5mblinks",
    "\x1b]0;title\x07": r"\x1b]0;title\x07",
    "\x9b2Jclears": r"\x9b2Jclears",
    "over\rwritten\x08\x0b\x0c": r"over\rwritten\x08\x0b\x0c",
    "nul\x00del\x7fnel\x85": r"nul\x00del\x7fnel\x85",
    "\u202egnp.exe\u2066\u2069\u200f": r"\u202egnp.exe\u2066\u2069\u200f",
    "zero\u200bwidth\ufeff\u2060": r"zero\u200bwidth\ufeff\u2060",
    "two\u2028lines\u2029": r"two\u2028lines\u2029",
    "tag\U000e0041": r"tag\U000e0041",
    "filler\u3164": r"filler\u3164",
}
TAME = ("[red]Mars[/]", ":cat:", "back\\slash", "São Tomé", "दिल्ली", "上海", "a\u00a0b")

Cear = Callable[..., "subprocess.CompletedProcess[bytes]"]


def is_hidden(character: str) -> bool:
    return character != "\n" and unicodedata.category(character) in {"Cc", "Cf", "Cs", "Zl", "Zp"}


def said(done: subprocess.CompletedProcess[bytes], encoding: str = "utf-8") -> str:
    """Both streams as text, after a look that no byte of them is a command to the terminal."""
    text = COLOUR.sub("", (done.stdout + done.stderr).decode(encoding))
    assert not [character for character in text if is_hidden(character)]
    assert "Traceback" not in text
    return text


@pytest.fixture(scope="module")
def cear_(tmp_path_factory: pytest.TempPathFactory) -> Cear:
    """Runs the installed command in a process of its own, on a terminal wide enough for every line."""
    folder = tmp_path_factory.mktemp("elsewhere")
    usual = {"COLUMNS": "300", "PYTHONIOENCODING": "utf-8", "OMP_NUM_THREADS": "1", "CEAR_CACHE": str(folder)}

    def call(*arguments: object, stdout: int = subprocess.PIPE, **variables: str) -> subprocess.CompletedProcess[bytes]:
        command, env = [sys.executable, "-m", "cear", *map(str, arguments)], {**os.environ, **usual, **variables}
        return subprocess.run(command, cwd=folder, env=env, stdout=stdout, stderr=subprocess.PIPE)

    return call


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory, write_towns: Callable[..., Path]) -> Path:
    """The towns, with names that no town has; the tame ones are those of the countries."""
    folder = write_towns(tmp_path_factory.mktemp("hostile") / "towns")
    towns = [*HOSTILE, *(f"Town {place}" for place in range(len(HOSTILE), 25))]
    names = {f"t{place}": name for place, name in enumerate(towns)} | {f"c{i}": TAME[i] for i in range(5)}
    lines = "".join(f"{id_}\t{name}\n" for id_, name in names.items())
    (folder / "entity2text.txt").write_bytes(lines.encode())
    return folder


@pytest.fixture(scope="module")
def run(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    config = f"data: {data}\nstage1: {{rank: 8, batch: 20, epochs: 2, validate_every: 1}}\n"
    (folder / "config.yaml").write_text(config)
    made = CliRunner().invoke(app, ["run", str(folder / "config.yaml"), "--out", str(folder / "run")])
    assert made.exit_code == 0, made.output
    return folder / "run"


@pytest.mark.parametrize("name", HOSTILE)
def test_hidden_characters_are_spelled_out(name: str) -> None:
    assert shown(name) == one_line(name) == HOSTILE[name]


@pytest.mark.parametrize("name", TAME)
def test_all_that_can_be_seen_is_shown_as_it_is(name: str) -> None:
    assert shown(name) == one_line(name) == name


@given(st.text(st.characters(), max_size=50))
def test_no_text_has_anything_hidden_left_and_what_is_shown_stays(text: str) -> None:
    assert not [each for each in shown(text) if is_hidden(each) and each != "\t"]
    assert not [each for each in one_line(text) if is_hidden(each) or each == "\n"]
    assert shown(shown(text)) == shown(text)


def test_a_name_writes_no_line_of_its_own_but_a_message_does() -> None:
    assert one_line("a\n\tb") == r"a\n\tb"
    assert shown("a\n\tb") == "a\n\tb"


def test_of_ten_million_characters_the_beginning_and_the_end_are_shown_and_how_many_are_not() -> None:
    name = "<" + "x" * 10_000_000 + ">"
    assert len(one_line(name)) <= NAME
    assert len(shown(name)) <= LINE
    assert re.fullmatch(r"<x+… 9,999,562 characters left out …x+>", one_line(name))  # of 10,000,002 are 440 left
    assert shown(f"short\n{name}\nshort").splitlines()[::2] == ["short", "short"]
    assert shown(shown(name)) == shown(name)


def test_a_check_of_data_shows_every_name_escaped(cear_: Cear, tmp_path: Path) -> None:
    facts = "".join(f"{name}\tr\t{other}\n" for name in HOSTILE for other in ("a", "b"))
    for split in ("train", "test"):  # the same facts in both: an error that quotes them
        (tmp_path / f"{split}.txt").write_bytes(facts.encode())
    text = said(cear_("data", "check", tmp_path))
    assert r"⟨\x1b[31;5mblinks, r, a⟩" in text
    forced = cear_("data", "check", tmp_path, FORCE_COLOR="1", TERM="xterm-256color")
    assert b"\x1b[1;31m" in forced.stdout  # our own red
    assert b"\x1b[31;5m" not in forced.stdout
    assert r"⟨\x1b[31;5mblinks, r, a⟩" in said(forced)


def test_a_name_of_several_lines_is_one_line_and_one_of_ten_megabytes_is_cut(cear_: Cear, tmp_path: Path) -> None:
    long = "x" * 10_000_000
    (tmp_path / "facts.csv").write_text(f'"a\nNothing is wrong with it.",r,b\n{long},r,b\n')
    text = said(cear_("data", "check", tmp_path / "facts.csv"))
    assert r"a\nNothing is wrong with it." in text
    assert "9,999,560 characters left out" in text
    assert len(text) < 20_000


@pytest.mark.skipif(os.name != "posix", reason="needs a pseudo-terminal")
def test_a_terminal_gets_csv_escaped_and_a_program_gets_it_as_it_is(cear_: Cear, tmp_path: Path) -> None:
    (tmp_path / "facts.tsv").write_bytes(b"\x1b[31;5mblinks\tr\tb\n")
    ours, theirs = os.openpty()
    cear_("data", "check", tmp_path / "facts.tsv", "--csv", "-", stdout=theirs)
    os.close(theirs)
    terminal = os.read(ours, 10_000)
    assert rb"\x1b[31;5mblinks" in terminal
    assert b"\x1b[31;5mblinks" not in terminal
    assert b"\x1b[31;5mblinks" in cear_("data", "check", tmp_path / "facts.tsv", "--csv", "-").stdout


def test_answers_are_escaped_and_still_form_a_table(cear_: Cear, run: Path) -> None:
    text = said(cear_("ask", run, "t24", "road_to", "--k", 30))
    rows = [next((line for line in text.splitlines() if f"│ {name} " in line), "") for name in HOSTILE.values()]
    assert {len(row) for row in rows} == {len(next(line for line in text.splitlines() if line.startswith("┏")))}


def test_an_unknown_name_and_its_suggestions_are_escaped(cear_: Cear, run: Path) -> None:
    done = cear_("ask", run, "blink\u202es", "road_to")
    assert done.returncode == 2
    assert r"No entity is called 'blink\u202es'. Did you mean '\x1b[31;5mblinks'" in said(done)


def test_a_path_and_an_option_are_escaped(cear_: Cear, tmp_path: Path) -> None:
    evil = tmp_path / "\x1b]0;x\x07[bold]:cat:\udcff"
    assert r"\x1b]0;x\x07[bold]:cat:\udcff" in said(cear_("data", "check", evil))
    assert r"--\x1b]0;x\x07" in said(cear_("data", "check", "--\x1b]0;x\x07"))  # Typer's own message


LOCALE_C = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": ""}


@pytest.mark.parametrize(
    ("encoding", "variables", "spelled"),
    [
        ("ascii", {"PYTHONIOENCODING": "ascii"}, r"\u27e8S\xe3o Tom\xe9, r, a\u27e9"),
        ("latin-1", {"PYTHONIOENCODING": "latin-1"}, r"\u27e8São Tomé, r, a\u27e9"),
        ("cp1252", {"PYTHONIOENCODING": "cp1252"}, r"\u27e8São Tomé, r, a\u27e9"),
        ("ascii", LOCALE_C, r"\u27e8S\xe3o Tom\xe9, r, a\u27e9"),
    ],
)
def test_an_output_that_is_not_utf_8_gets_what_it_can_spell(
    cear_: Cear, tmp_path: Path, encoding: str, variables: dict[str, str], spelled: str
) -> None:
    for split in ("train", "test"):
        (tmp_path / f"{split}.txt").write_bytes("São Tomé\tr\ta\n\x1b[31;5mblinks\tr\t上海\n".encode())
    text = said(cear_("data", "check", tmp_path, **variables), encoding)
    assert spelled in text
    assert r"\x1b[31;5mblinks, r, \u4e0a\u6d77" in text


@pytest.fixture
def _safely(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the command does when it starts, and undone when the test ends."""
    monkeypatch.setattr(rich.text, "strip_control_codes", shown)
    show_safely()


@pytest.mark.usefixtures("_safely")
def test_a_bar_is_escaped_and_its_label_no_markup(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(MODULE, "errors", Console(stderr=True, force_terminal=True, width=200))
    with MODULE.progress_bar("[bold]\x1b]0;x\x07", 2) as bar:
        bar.describe("[red]\u202e\x1b[31;5m")
    drawn = capsys.readouterr().err
    assert r"[red]\u202e\x1b[31;5m" in drawn
    assert not [evil for evil in ("\x1b]0;", "\u202e", "\x1b[31;5m") if evil in drawn]


@pytest.mark.usefixtures("_safely")
def test_progress_in_a_file_is_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    with MODULE.progress_lines("\x1b]0;x\x07", 1, first=0) as bar:
        bar.advance()
    assert capsys.readouterr().err.startswith(r"\x1b]0;x\x07: 1/1")


def test_log_lines_warnings_and_the_traces_of_bugs_are_escaped(tmp_path: Path) -> None:
    program = """
import logging, sys, warnings
import cear.cli
def bug():
    logging.getLogger("cear.data").warning("read %s", "\\x1b]0;log\\x07")
    warnings.warn("\\x1b]0;warning\\x07")
    raise ValueError("\\x1b]0;bug\\x07")
cear.cli.app = bug
cear.cli.program()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, cwd=tmp_path)
    text = done.stderr.decode()
    assert done.returncode == 1
    assert not [character for character in text if is_hidden(character)]
    assert [rf"\x1b]0;{kind}\x07" in text for kind in ("log", "warning", "bug")] == [True] * 3


def test_it_is_told_when_rich_no_longer_asks_us(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    class Unescaped(rich.text.Text):
        plain = "\x1b"  # type: ignore[assignment]

    monkeypatch.setattr(rich.text, "strip_control_codes", shown)
    monkeypatch.setattr(rich.text, "Text", Unescaped)
    with caplog.at_level(logging.WARNING):
        show_safely()
    assert "unescaped" in caplog.text
