"""The order of work: inputs first, pieces before what they are pieces of, nothing twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from cear.steps import Agenda, Step


def nothing(folder: Path) -> None:
    del folder


def step(name: str, *inputs: Step, pieces: Sequence[Step] = ()) -> Step:
    made = Step(name, "kind", {"name": name}, nothing, inputs)
    return replace(made, pieces=lambda: pieces) if pieces else made


def ready(agenda: Agenda) -> list[str]:
    return [job.step.name for job in agenda.ready()]


def finish(agenda: Agenda, name: str) -> None:
    agenda.finish(next(job for job in agenda.ready() if job.step.name == name))


def test_what_waits_for_nothing_can_be_made_at_the_same_time() -> None:
    left, right = step("left"), step("right")
    agenda = Agenda([step("top", left, right)], lambda _: False)
    assert (len(agenda), ready(agenda)) == (3, ["left", "right"])
    finish(agenda, "left")
    assert ready(agenda) == ["right"]
    finish(agenda, "right")
    assert ready(agenda) == ["top"]
    finish(agenda, "top")
    assert (len(agenda), ready(agenda)) == (0, [])


def test_what_is_there_is_not_made_and_neither_is_what_it_was_made_from() -> None:
    root = step("root")
    middle = step("middle", root)
    agenda = Agenda([step("top", middle)], lambda each: each.name == "middle")
    assert (len(agenda), ready(agenda)) == (1, ["top"])


def test_a_step_that_two_need_is_made_once() -> None:
    root = step("root")
    agenda = Agenda([step("a", root), step("b", root)], lambda _: False)
    assert ready(agenda) == ["root"]
    finish(agenda, "root")
    assert ready(agenda) == ["a", "b"]


def test_a_step_is_cut_once_its_inputs_are_there_and_waits_for_its_pieces() -> None:
    root = step("root")
    pieces = [step("first", root), step("second", root)]
    agenda = Agenda([step("whole", root, pieces=pieces)], lambda each: each.name == "second")
    assert ready(agenda) == ["root"]
    finish(agenda, "root")
    assert ready(agenda) == ["first"], "the second is there already"
    finish(agenda, "first")
    assert ready(agenda) == ["whole"]


def test_a_job_says_what_it_is_made_for() -> None:
    root = step("root")
    whole = step("whole", root, pieces=[step("piece", root)])
    top = step("top", whole)
    agenda = Agenda([top], lambda _: False)
    (first,) = agenda.ready()
    assert (first.step, first.target, first.whole) == (root, top, None)
    agenda.finish(first)
    (piece,) = agenda.ready()
    assert (piece.step.name, piece.target, piece.whole) == ("piece", top, whole)
