"""The benchmark of kills during decisions would see a decision that is lost, changed or doubled."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from cear.serving import Decision

ONE, OTHER = (Decision("s", "r", each, "accepted", id=each, at="now", number=i) for i, each in enumerate("ab", start=1))


@pytest.mark.parametrize(
    ("log", "lost"),
    [
        ([ONE, OTHER], []),
        ([OTHER, ONE, replace(ONE, id="not acknowledged", number=3)], []),
        ([OTHER], ["a"]),
        ([ONE, replace(OTHER, verdict="rejected")], ["b"]),
        ([ONE, OTHER, replace(OTHER, number=3)], ["b"]),
    ],
)
def test_what_was_acknowledged_has_to_be_there_once_and_as_it_was(
    script: Any, log: list[Decision], lost: list[str]
) -> None:
    trial = script("kill_during_decisions").Trial([], {each.id: each for each in (ONE, OTHER)})
    assert trial.lost(log) == lost


def test_no_two_trials_decide_about_the_same_fact(script: Any) -> None:
    bodies = script("kill_during_decisions").bodies
    names = [f"e{i}" for i in range(2616)], [f"r{i}" for i in range(20)]
    facts = [(b["subject"], b["relation"], b["object"]) for trial in range(20) for b in bodies(names, trial)]
    assert len({*facts}) == len(facts) == 4000
