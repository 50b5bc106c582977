"""The review queue: proposals by probability or by relation, each with what was decided about it so far."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, Literal, get_args

import numpy as np

from cear.completion import fact_keys
from cear.core.types import Bools, Ints
from cear.data import KnowledgeBase
from cear.pipeline import Completion, Run
from cear.serving.decisions import Decision, Decisions, Fact
from cear.serving.models import Named
from cear.serving.proposed import FILE, Sheet, keep_proposals
from cear.serving.review_models import Proposal, Proposals, RelationProgress, State

Order = Literal["probability", "relation"]
STATES: tuple[State, ...] = get_args(State)
OPEN = STATES.index("open")


@dataclass(frozen=True)
class Wanted:
    """Which proposals, in which order, and which of them."""

    relation: str | None = None
    """By id or name."""
    entity: str | None = None
    """The id of a subject or an object."""
    min_probability: float = 0.0
    order: Order = "probability"
    state: State | Literal["all"] = "open"
    after: int = -1
    """Go on behind this place: whatever was decided meanwhile, nothing is shown twice or left out."""
    offset: int = 0
    """Leave out so many first; decisions that come in between shift what is open."""
    limit: int = 50


class ReviewQueue:
    """The proposals beside a run; none until somebody completes it.

    What is completed or decided by anybody, in any process, is in the next answer.
    """

    def __init__(self, run: Run, decisions: Decisions) -> None:
        self._run, self._decisions = run, decisions
        self._turn = Lock()
        self._mark = _mark(run.folder / FILE)
        self._show(Sheet.read(run))

    def add(self, made: Completion) -> None:
        """Put what a completion proposes into the queue; it stays there when the service ends."""
        keep_proposals(self._run, made)

    def page(self, wanted: Wanted) -> Proposals:
        """The proposals that are wanted, from a place on."""
        with self._turn:
            self._look()
            rows = np.arange(len(self._sheet)) if wanted.order == "probability" else self._sheet.by_relation
            places = np.flatnonzero(self._is_wanted(wanted)[rows])
            start = int(np.searchsorted(places, wanted.after, side="right")) + wanted.offset
            chosen = places[start : start + wanted.limit]
            goes_on = start + len(chosen) < len(places) and len(chosen) > 0
            return Proposals(
                total=len(places),
                proposals=self._proposals(rows[chosen], chosen),
                after=int(chosen[-1]) if goes_on else None,
                note=self._sheet.note if len(self._sheet) else self._how_to_fill(),
            )

    def of_entity(self, id_: str, limit: int) -> list[Proposal]:
        """What is proposed of an entity and still open, the most probable first."""
        return self.page(Wanted(entity=id_, limit=limit)).proposals

    def probability(self, fact: Fact) -> float | None:
        """How likely the run says that a fact is, if it proposes it."""
        with self._turn:
            self._look()
            row = self._row(fact)
        return None if row is None else self._sheet.table["probability"][row]

    def progress(self) -> dict[State, int]:
        """How many proposals there are of each state."""
        with self._turn:
            self._look()
            return dict(zip(STATES, np.bincount(self._states, minlength=len(STATES)).tolist(), strict=True))

    def decided(self) -> list[Decision]:
        """The decision that counts for every fact that was ever decided, proposed or not; also where it was undone."""
        with self._turn:
            self._look()
            return [*self._decided.values()]

    def by_relation(self) -> list[RelationProgress]:
        """How many proposals of each relation are open and decided, those with most open ones first."""
        with self._turn:
            self._look()
            relation, kb = self._sheet.facts[:, 1], self._run.kb
            is_open = np.bincount(relation[self._states == OPEN], minlength=kb.n_relations)
            all_ = np.bincount(relation, minlength=kb.n_relations)
        order = [r for r in np.argsort(-is_open, kind="stable").tolist() if all_[r]]
        return [
            RelationProgress.of(kb.relations, r, open=int(is_open[r]), decided=int(all_[r] - is_open[r])) for r in order
        ]

    def _look(self) -> None:
        """Take in what was completed and decided since the last look."""
        mark = _mark(self._run.folder / FILE)
        if mark != self._mark:
            self._show(Sheet.read(self._run))
            self._mark = mark
        for decision in self._decisions.log(after=self._seen):
            self._take(decision)

    def _show(self, sheet: Sheet) -> None:
        self._sheet, self._seen = sheet, 0
        self._states = np.full(len(sheet), OPEN, np.int8)
        self._last: dict[int, Decision] = {}  # by row
        self._decided: dict[Fact, Decision] = {}

    def _take(self, decision: Decision) -> None:
        self._seen, self._decided[decision.fact] = decision.number, decision
        row = self._row(decision.fact)
        if row is not None:
            self._last[row] = decision
            self._states[row] = STATES.index("open" if decision.verdict == "undone" else decision.verdict)

    def _row(self, fact: Fact) -> int | None:
        """Where a fact stands in the sheet; None for one that nobody proposes, or that names something unknown."""
        numbers = numbers_of(self._run.kb, fact)
        return None if numbers is None else self._sheet.row(int(fact_keys(np.array([numbers]), self._run.kb)[0]))

    def _is_wanted(self, wanted: Wanted) -> Bools:
        """Which proposals are wanted, (proposal,)."""
        kb, facts = self._run.kb, self._sheet.facts
        which = self._sheet.probability >= wanted.min_probability
        if wanted.min_probability <= 0:
            which = np.ones(len(facts), bool)  # those without a probability, too
        if wanted.relation is not None:
            which &= facts[:, 1] == kb.relations.find(wanted.relation)
        if wanted.entity is not None:
            which &= (facts[:, [0, 2]] == kb.entities.find(wanted.entity)).any(axis=1)
        if wanted.state != "all":
            which &= self._states == STATES.index(wanted.state)
        return np.asarray(which)

    def _proposals(self, rows: Ints, places: Ints) -> list[Proposal]:
        shown = self._sheet.table[rows].iter_rows(named=True)
        return [self._proposal(*each) for each in zip(rows.tolist(), places.tolist(), shown, strict=True)]

    def _proposal(self, row: int, place: int, said: dict[str, Any]) -> Proposal:
        return Proposal(
            **{end: Named(id=said[end], name=said[f"{end}_name"]) for end in ("subject", "relation", "object")},
            **{name: said[name] for name in ("probability", "rank", "stage1_rank", "reasons")},
            place=place,
            state=STATES[self._states[row]],
            decision=self._last.get(row),
        )

    def _how_to_fill(self) -> str:
        return (
            f"Nothing is proposed yet. Complete the run: `cear complete {self._run.folder.name}`, or "
            "POST /complete, which the page does for you."
        )


def numbers_of(kb: KnowledgeBase, fact: Sequence[str]) -> tuple[int, int, int] | None:
    """The numbers of a fact by its ids, or None where the knowledge base lacks one of them."""
    s, r, o = fact
    found = kb.entities.by_id.get(s), kb.relations.by_id.get(r), kb.entities.by_id.get(o)
    return None if None in found else found  # type: ignore[return-value]


def _mark(path: Path) -> tuple[int, int, int] | None:
    """What changes whenever a file is replaced; None where there is none."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size
