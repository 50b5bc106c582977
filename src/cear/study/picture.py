"""The attention of one example, as a picture: who looks at whom when the wide re-ranker reads a list."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cear.config import load_config
from cear.core.types import Ints
from cear.pipeline import Plan, lay_out
from cear.ranking import evaluate_ranker
from cear.reports import Heat
from cear.reranking import WideReranker
from cear.study.experiments import Experiment
from cear.study.making import Making
from cear.study.records import Records

SHOWN = 12  # candidates


@dataclass(frozen=True)
class Example(Experiment):
    """A test query of the demo that Stage 2 put right, and the attention of the last layer, the mean of its heads."""

    @property
    def name(self) -> str:
        """Its findings are in `results/study/NAME.json`."""
        return "attention/example"

    def inputs(self) -> dict[str, Any] | None:
        """The settings of the demo."""
        return {"config": load_config("demo").deciding(), "shown": SHOWN}

    def find(self, making: Making) -> dict[str, Any]:
        """The names of the query and its candidates, and who looks at whom."""
        plan = lay_out(load_config("demo"), "runs/demo", store=making.store, progress=making.progress)
        ranker = replace(plan.ranker, k=SHOWN)
        assert isinstance(ranker.reranker, WideReranker)
        place = put_right(plan)
        queries = plan.kb.queries("test")[place]
        lists = ranker.lists(queries, ranker.retrievers.score_block(queries))
        attention = ranker.reranker.attention(lists)[-1, 0].mean(axis=0)
        entities, gold = plan.kb.entities, int(plan.kb.gold("test")[place[0]])
        return {
            "data": plan.kb.name,
            "digest": plan.kb.digest,
            "query": _in_words(plan, place[0]),
            "candidates": [entities.name(int(each)) for each in lists.candidates.entities[0]],
            "gold": entities.name(gold),
            "attention": attention.tolist(),
        }


def put_right(plan: Plan) -> Ints:
    """The place of the test query whose gold Stage 2 put first from the lowest rank that the picture shows, (1,)."""
    after = evaluate_ranker(plan.ranker, "test")
    assert after.before is not None
    first, last = after.before.ranks.under(after.ties), after.ranks.under(after.ties)
    shown = np.where((last == 1) & (first <= SHOWN), first, 0.0)
    return np.array([int(shown.argmax())])


def _in_words(plan: Plan, place: int) -> str:
    """A test query as ⟨s, r, ?⟩ or ⟨?, r, o⟩, by name."""
    kb = plan.kb
    entity, relation = (int(each[place]) for each in (kb.queries("test").entity, kb.queries("test").relation))
    known, asked = kb.entities.name(entity), kb.relations.name(relation % kb.n_relations)
    return f"⟨{known}, {asked}, ?⟩" if relation < kb.n_relations else f"⟨?, {asked}, {known}⟩"


EXAMPLE = Example()


def example_heat(records: Records) -> Heat:
    """Who looks at whom, rows at columns."""
    del records  # it is of an experiment
    found = EXAMPLE.found()
    if found is None:
        return Heat("attention-example", "The attention of one example", (), (), np.zeros((0, 0)))
    marked = [f"{name} ✓" if name == found["gold"] else name for name in found["candidates"]]
    names = (found["query"], *marked)
    notes = (
        "The last layer of the wide re-ranker on the demo, the mean of its heads. Rows look at columns; ✓ is right.",
    )
    return Heat(
        "attention-example", f"Who looks at whom: {found['query']}", names, names, np.array(found["attention"]), notes
    )
