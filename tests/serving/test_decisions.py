"""Decisions: appended, never changed, never doubled, on disk when they are acknowledged."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from cear.core.errors import DataError
from cear.serving import AlreadyDecided, Decision, Decisions, as_line, read_log, write_log
from cear.serving.decisions import parse_log

FACT = ("kenya", "language", "swahili")


def accepted(*, who: str = "ada", id: str = "", fact: tuple[str, str, str] = FACT) -> Decision:
    return Decision(*fact, "accepted", who=who, id=id, probability=0.9, run="demo")


@pytest.fixture
def decisions(tmp_path: Path) -> Iterator[Decisions]:
    opened = Decisions(tmp_path / "decisions.sqlite")
    yield opened
    opened.close()


class TestAdding:
    def test_it_gets_a_number_a_time_and_an_id(self, decisions: Decisions) -> None:
        kept = decisions.add(accepted())

        assert kept.number == 1
        assert kept.at.endswith("+00:00")
        assert kept.id
        assert decisions.about(FACT) == kept

    def test_sent_twice_it_is_kept_once(self, decisions: Decisions) -> None:
        first, again = decisions.add(accepted(id="x")), decisions.add(accepted(id="x"))

        assert again == first
        assert len(decisions.log()) == 1

    def test_a_second_person_is_told_and_nothing_is_kept(self, decisions: Decisions) -> None:
        decisions.add(accepted(who="ada"))

        with pytest.raises(AlreadyDecided, match="ada has accepted this fact already") as told:
            decisions.add(accepted(who="bob"))

        assert told.value.decision.who == "ada"
        assert [each.who for each in decisions.log()] == ["ada"]

    def test_who_has_seen_the_last_decision_may_change_it(self, decisions: Decisions) -> None:
        kept = decisions.add(accepted())
        decisions.add(Decision(*FACT, "undone", who="ada"), seen=kept.number)

        assert [each.verdict for each in decisions.log()] == ["accepted", "undone"]
        assert decisions.last()[FACT].verdict == "undone"

    def test_many_at_once_lose_and_double_nothing(self, decisions: Decisions) -> None:
        def decide(person: int) -> int:
            done = 0
            for each in range(20):
                try:
                    decisions.add(accepted(who=str(person), fact=("s", "r", str(each))))
                    done += 1
                except AlreadyDecided:
                    pass
            return done

        with ThreadPoolExecutor(4) as people:
            assert sum(people.map(decide, range(4))) == 20
        assert len(decisions.log()) == len(decisions.last()) == 20

    def test_an_unknown_verdict_is_refused(self, decisions: Decisions) -> None:
        with pytest.raises(DataError, match=r"'perhaps' is no verdict\. Take accepted"):
            decisions.add(Decision(*FACT, "perhaps"))  # type: ignore[arg-type]

    def test_nothing_that_is_kept_can_be_changed_or_removed(self, decisions: Decisions) -> None:
        decisions.add(accepted())
        stranger = sqlite3.connect(decisions.path)

        with pytest.raises(sqlite3.IntegrityError, match="never changed"):
            stranger.execute("UPDATE decisions SET verdict = 'rejected'")
        with pytest.raises(sqlite3.IntegrityError, match="never removed"):
            stranger.execute("DELETE FROM decisions")
        stranger.close()


class TestKilled:
    def test_what_was_acknowledged_is_there(self, tmp_path: Path) -> None:
        script = (
            "import sys\nfrom pathlib import Path\nfrom cear.serving import Decision, Decisions\n"
            "log = Decisions(Path(sys.argv[1]))\n"
            "for each in range(10**6):\n"
            "    kept = log.add(Decision('s', 'r', str(each), 'accepted'))\n"
            "    print(kept.number, flush=True)\n"
        )
        path = tmp_path / "decisions.sqlite"
        with subprocess.Popen([sys.executable, "-c", script, str(path)], stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            acknowledged = [int(process.stdout.readline()) for _ in range(25)]
            process.send_signal(signal.SIGKILL)
            acknowledged += [int(line) for line in process.stdout if line.endswith("\n")]
        opened = Decisions(path)

        assert {each.number for each in opened.log()} >= set(acknowledged)
        opened.close()


class TestTakingHome:
    def test_empty_lines_say_nothing(self) -> None:
        assert parse_log([b"\n", b"", as_line(replace(accepted(id="x"), at="now")).encode()], "here") == [
            replace(accepted(id="x"), at="now")
        ]

    def test_a_log_is_read_as_it_was_written(self, decisions: Decisions, tmp_path: Path) -> None:
        decisions.add(Decision("ä\n<b>", "r", "o", "rejected", note='said "no"'))
        write_log(tmp_path / "log.jsonl", decisions.log())

        assert read_log(tmp_path / "log.jsonl") == decisions.log()

    def test_merging_adds_each_once(self, decisions: Decisions, tmp_path: Path) -> None:
        other = Decisions(tmp_path / "other.sqlite")
        other.add(accepted(who="bob", id="b"))
        decisions.add(accepted(who="ada", id="a", fact=("x", "r", "y")))

        assert decisions.merge([*other.log(), *other.log()]) == 1
        assert decisions.merge(other.log()) == 0
        assert [each.id for each in decisions.log()] == ["a", "b"]
        other.close()

    @pytest.mark.parametrize(
        ("line", "told"),
        [
            ("{", "line 1 is no decision"),
            ("[1]", "line 1 is no decision"),
            ('{"subject": "s"}', "missing 3 required"),
            ('{"subject":"s","relation":"r","object":"o","verdict":"accepted"}', "its id and time"),
            ('{"subject":1,"relation":"r","object":"o","verdict":"accepted","id":"a","at":"b"}', "look at subject"),
            ('{"subject":"s","relation":"r","object":"o","verdict":"no","id":"a","at":"b"}', "'no' is no verdict"),
            (
                '{"subject":"s","relation":"r","object":"o","verdict":"accepted","id":"a","at":"b","probability":2e99}',
                "probability, which is none",
            ),
        ],
    )
    def test_a_bad_line_is_told(self, tmp_path: Path, line: str, told: str) -> None:
        (tmp_path / "log.jsonl").write_text(line + "\n")

        with pytest.raises(DataError, match=told):
            read_log(tmp_path / "log.jsonl")

    def test_a_file_that_is_no_log_is_told(self, tmp_path: Path) -> None:
        (tmp_path / "x.sqlite").write_bytes(b"this is no database, and long enough to be taken for one" * 20)

        with pytest.raises(DataError, match=r"x\.sqlite cannot be opened as a log of decisions"):
            Decisions(tmp_path / "x.sqlite")
