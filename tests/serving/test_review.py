"""The review queue: filters, places that stay while decisions come in, progress, and whether promises were kept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

from cear.core.errors import MismatchError, UnknownName
from cear.data import KnowledgeBase
from cear.pipeline import Completion
from cear.serving.decisions import Decision, Decisions
from cear.serving.proposed import COLUMNS, keep_proposals
from cear.serving.reliability import reliability_bins, review_summary
from cear.serving.review import ReviewQueue, Wanted

# By probability: 0.9, 0.8, 0.7 (two relations in turn), 0.2.
ROADS, LIES = "road_to", "lies_in"
PROPOSED = [("t0", ROADS, "t2", 0.9), ("t1", LIES, "c0", 0.8), ("t0", ROADS, "t3", 0.7), ("t2", LIES, "c1", 0.2)]


def completion(*facts: tuple[str, str, str, float], note: str = "Check them.") -> Completion:
    rows = [
        {"subject": s, "relation": r, "object": o, "probability": p, "rank": 1, "stage1_rank": 2}
        | {"subject_name": s.upper(), "relation_name": r.replace("_", " "), "object_name": o.upper()}
        for s, r, o, p in facts
    ]
    return Completion(pl.DataFrame(rows, schema=dict(COLUMNS)), None, note)


@pytest.fixture
def run(tmp_path: Path, towns: KnowledgeBase) -> Any:
    """As much of a run as a queue needs."""
    return SimpleNamespace(folder=tmp_path, kb=towns)


@pytest.fixture
def decisions(tmp_path: Path) -> Iterator[Decisions]:
    opened = Decisions(tmp_path / "decisions.sqlite")
    yield opened
    opened.close()


@pytest.fixture
def queue(run: Any, decisions: Decisions) -> ReviewQueue:
    made = ReviewQueue(run, decisions)
    made.add(completion(*PROPOSED))
    return made


def decided(place: int, verdict: Any = "accepted") -> Decision:
    *fact, p = PROPOSED[place]
    return Decision(*fact, verdict, probability=p)


def objects(queue: ReviewQueue, **wanted: Any) -> list[str]:
    return [each.object.id for each in queue.page(Wanted(**wanted)).proposals]


class TestWhatIsShown:
    def test_the_most_probable_come_first(self, queue: ReviewQueue) -> None:
        page = queue.page(Wanted())
        assert [each.probability for each in page.proposals] == [0.9, 0.8, 0.7, 0.2]
        assert (page.total, page.after, page.note) == (4, None, "Check them.")
        first = page.proposals[0]
        assert (first.subject.name, first.relation.name, first.state, first.decision) == ("T0", "road to", "open", None)

    def test_or_relation_by_relation(self, queue: ReviewQueue) -> None:
        assert objects(queue, order="relation") == ["c0", "c1", "t2", "t3"]

    @pytest.mark.parametrize(
        ("wanted", "shown"),
        [
            ({"relation": ROADS}, ["t2", "t3"]),
            ({"relation": "road to"}, ["t2", "t3"]),
            ({"min_probability": 0.75}, ["t2", "c0"]),
            ({"entity": "t2"}, ["t2", "c1"]),
            ({"state": "accepted"}, []),
            ({"state": "all", "limit": 1, "offset": 2}, ["t3"]),
        ],
    )
    def test_filters(self, queue: ReviewQueue, wanted: dict[str, Any], shown: list[str]) -> None:
        assert objects(queue, **wanted) == shown

    def test_an_unknown_relation_is_told(self, queue: ReviewQueue) -> None:
        with pytest.raises(UnknownName, match="Did you mean 'road to'"):
            queue.page(Wanted(relation="raod to"))

    def test_an_empty_queue_says_how_to_fill_it(self, run: Any, decisions: Decisions) -> None:
        page = ReviewQueue(run, decisions).page(Wanted())
        assert (page.total, page.proposals) == (0, [])
        assert "cear complete" in page.note


class TestPaging:
    def test_what_is_decided_meanwhile_shifts_nothing(self, queue: ReviewQueue, decisions: Decisions) -> None:
        first = queue.page(Wanted(limit=2))
        for place in (0, 1):
            decisions.add(decided(place))
        assert first.after == 1
        assert objects(queue, limit=2, after=first.after) == ["t3", "c1"]

    def test_what_is_undone_is_open_in_its_old_place(self, queue: ReviewQueue, decisions: Decisions) -> None:
        kept = decisions.add(decided(0))
        assert objects(queue) == ["c0", "t3", "c1"]
        undone = decisions.add(decided(0, "undone"), seen=kept.number)
        first = queue.page(Wanted()).proposals[0]
        assert (first.object.id, first.place, first.state, first.decision) == ("t2", 0, "open", undone)


class TestWhatComesIn:
    def test_a_later_completion_is_shown_without_a_restart(self, queue: ReviewQueue, run: Any) -> None:
        assert len(objects(queue)) == 4
        keep_proposals(run, completion(("t0", ROADS, "t2", 0.5), ("t9", ROADS, "t8", 0.95)))  # as another process does
        assert objects(queue) == ["t8", "c0", "t3", "t2", "c1"]  # t2 is less probable now

    def test_reasons_stay_where_a_later_completion_gives_none(self, queue: ReviewQueue, run: Any) -> None:
        first = completion(*PROPOSED)
        queue.add(replace(first, table=first.table.with_columns(reasons=pl.lit("Because."))))
        keep_proposals(run, completion(*PROPOSED[:2], ("t9", ROADS, "t8", 0.1)))
        assert [each.reasons for each in queue.page(Wanted()).proposals] == ["Because."] * 4 + [None]

    def test_its_decisions_stay(self, queue: ReviewQueue, run: Any, decisions: Decisions) -> None:
        decisions.add(decided(0))
        keep_proposals(run, completion(("t9", ROADS, "t8", 0.95)))
        assert objects(queue, state="accepted") == ["t2"]

    def test_proposals_for_another_knowledge_base_are_refused(
        self, run: Any, towns: KnowledgeBase, decisions: Decisions
    ) -> None:
        keep_proposals(run, completion(*PROPOSED))
        other = SimpleNamespace(folder=run.folder, kb=towns.with_facts({"train": towns.facts("train")[:5]}))
        with pytest.raises(MismatchError, match="another knowledge base"):
            ReviewQueue(other, decisions)  # type: ignore[arg-type]


class TestProgress:
    def test_states_are_counted(self, queue: ReviewQueue, decisions: Decisions) -> None:
        for place, verdict in enumerate(("accepted", "rejected", "skipped")):
            decisions.add(decided(place, verdict))
        assert queue.progress() == {"open": 1, "accepted": 1, "rejected": 1, "skipped": 1}
        assert {each.id: (each.open, each.decided) for each in queue.by_relation()} == {LIES: (1, 1), ROADS: (0, 2)}

    def test_promises_are_compared_with_what_people_said(self, queue: ReviewQueue, decisions: Decisions) -> None:
        for place, verdict in enumerate(("accepted", "rejected", "skipped", "accepted")):
            decisions.add(decided(place, verdict))
        found = review_summary(queue)
        assert (found.accepted, found.rejected, found.skipped, found.open) == (2, 1, 1, 0)
        assert (found.right, found.judged, found.promised) == (2, 3, pytest.approx(0.9 + 0.8 + 0.2))
        assert [(each.start, each.said, each.came_true, each.count) for each in found.reliability] == [
            (0.2, 0.2, 1.0, 1),
            (0.8, 0.8, 0.0, 1),
            (0.9, 0.9, 1.0, 1),
        ]

    def test_an_undone_decision_promises_nothing(self, queue: ReviewQueue, decisions: Decisions) -> None:
        kept = decisions.add(decided(0))
        decisions.add(decided(0, "undone"), seen=kept.number)
        found = review_summary(queue)
        assert (found.accepted, found.open, found.judged, found.reliability) == (0, 4, 0, [])
        assert (found.low, found.high) == (0.0, 1.0)

    def test_a_bin_has_the_interval_of_its_share(self) -> None:
        (only,) = reliability_bins(np.full(10, 1.0), np.arange(10) < 8)
        assert (only.start, only.end, only.came_true) == (0.9, 1.0, 0.8)
        assert (only.low, only.high) == (pytest.approx(0.490, abs=1e-3), pytest.approx(0.943, abs=1e-3))  # Wilson
