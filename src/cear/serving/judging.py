"""Facts of several clients, judged in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cear.pipeline import Run

Fact = tuple[str, str, str]


@dataclass(frozen=True)
class Judging:
    """Facts ⟨subject, relation, object⟩, by names or ids, that one client wants judged."""

    facts: tuple[Fact, ...]
    why: bool = False
    """Whether to say why."""


def judge_many(run: Run, wanted: Sequence[Judging]) -> list[list[dict[str, Any]]]:
    """The rows of `Run.judge` for the facts of each, those with and those without reasons in a pass each."""
    found: list[list[dict[str, Any]]] = [[] for _ in wanted]
    for why in (False, True):
        owners = [place for place, each in enumerate(wanted) if each.why == why for _ in each.facts]
        facts = [fact for each in wanted if each.why == why for fact in each.facts]
        rows = run.judge(facts, why=why).iter_rows(named=True) if facts else ()
        for owner, row in zip(owners, rows, strict=True):
            found[owner].append(row)
    return found
