"""The leak in the study: what the paper's re-ranker, and ours, find in lists that give the gold away."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from cear.pipeline import lay_out
from cear.reports import Column, Entry, Row, Table
from cear.reranking import RerankerConfig, SequenceConfig, WideConfig
from cear.study.cells import Cell
from cear.study.experiments import Experiment
from cear.study.leak import LeakSettings, leak_experiment
from cear.study.making import Making
from cear.study.published import ABLATION, CKG, FB, WN
from cear.study.records import Records
from cear.study.tables import NAMES, STAGE1

READERS: Mapping[str, RerankerConfig] = {
    "wide": WideConfig(graph=False, epochs=3, validate_facts=500),
    "sequence": SequenceConfig(
        form_tokens=6,
        loss="softmax",
        learning_rate=1e-4,
        head_learning_rate=2e-3,
        max_tokens=1000,
        lists_per_epoch=1500,
        epochs=1,
        validate_facts=150,
    ),
}
"""Stage 2, the same on honest lists and on leaky ones."""
LISTS = {"wide": 20_000, "sequence": 6_000}
FACTS = {"wide": 2500, "sequence": 750}
K = {"wide": 40, "sequence": 20}
LEARN_FROM: Mapping[str, Literal["all", "measured"]] = {"wide": "all", "sequence": "measured"}
"""Which training queries make lists: a reader of names has to remember the facts of the queries that are measured."""
WORDS = {
    "cross": "all candidates together",
    "independent": "each candidate alone",
    "shuffled": "in a random order",
    "scores": "with Stage 1's scores",
    "equal scores": "a reader by hand that takes who has an equal",
    "remembered places": "a reader by hand that knows train and sees places",
}


@dataclass(frozen=True)
class Leak(Experiment):
    """Honest and leaky lists of one Stage 1, read by one kind of re-ranker."""

    data: str
    reader: str

    @property
    def name(self) -> str:
        """Its findings are in `results/study/NAME.json`."""
        return f"leak/{self.data}-{self.reader}"

    @property
    def settings(self) -> LeakSettings:
        """What is compared."""
        values = {"k": K[self.reader], "facts": FACTS[self.reader], "lists": LISTS[self.reader]}
        return LeakSettings(**values, learn_from=LEARN_FROM[self.reader], reranker=READERS[self.reader])

    @property
    def stage1(self) -> Cell:
        """The first stage whose lists they are."""
        return Cell.of(self.data, STAGE1[self.data])

    def inputs(self) -> dict[str, Any] | None:
        """The settings of Stage 1 and of the comparison."""
        if not self.stage1.config.exists():
            return None
        return {"stage1": self.stage1.settings.stage1.settings_key(), **self.settings.settings_key()}

    def find(self, making: Making) -> dict[str, Any]:
        """The figures of every arm."""
        cell = self.stage1
        plan = lay_out(cell.settings, cell.out, store=making.store, minutes=making.minutes, progress=making.progress)
        return leak_experiment(plan, self.settings).as_json()


LEAKS = tuple(Leak(data, reader) for data in (FB, WN) for reader in READERS)


def leak_table(records: Records) -> Table:
    """H@1 of Stage 1 and of Stage 2 on honest and on leaky lists of the same Stage 1, with the paper's figures."""
    del records  # its figures are of experiments
    columns = (
        Column("Stage 1", digits=1, percent=True, best="none"),
        Column("honest lists", digits=1, percent=True, best="none"),
        Column("leaky lists", digits=1, percent=True, best="none"),
    )
    rows = [row for leak in LEAKS for row in _rows(leak)]
    notes = (
        "H@1, both sides. A leaky list is sorted by scores in which every known answer has that of the gold.",
        "Both kinds of lists are of the Stage 1 that saw their facts, as the paper's. No run can make the leaky ones.",
        "The paper's values stand beside the leaky lists, which it had.",
    )
    return Table("leak", "What lists that give the gold away do", columns, tuple(rows), notes)


def _rows(leak: Leak) -> list[Row]:
    found, label = leak.found(), f"{NAMES[leak.data]}, {leak.reader}"
    if found is None:
        return [Row(label, (Entry(), Entry(), Entry()))]
    by_name: dict[str, dict[str, Mapping[str, Any]]] = {}
    for arm in (*found["arms"], *found["readers"]):
        by_name.setdefault(arm["name"], {})[arm["made"]] = arm
    stage1 = Entry(found["stage1"]["both"]["hits@1"], *found["stage1_intervals"]["both"]["hits@1"])
    return [
        Row(f"{label}: {WORDS[name]}", (stage1, _hits1(arms["honest"]), _hits1(arms["leaky"], _paper(leak.data, name))))
        for name, arms in by_name.items()
    ]


def _hits1(arm: Mapping[str, Any], paper: str | None = None) -> Entry:
    low, high = arm["intervals"]["both"]["hits@1"]
    return Entry(arm["summary"]["both"]["hits@1"], low, high, paper=paper)


def _paper(data: str, variant: str) -> str | None:
    """What the paper prints for the variant."""
    best = CKG["CEAR(ComplEx)" if data == FB else "CEAR(RotatE)"][data][1]
    names = {"independent": ABLATION["no-attention"][data][0], "shuffled": ABLATION["no-ranks"][data][0], "cross": best}
    return names.get(variant)
