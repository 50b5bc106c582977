"""The question of attention: re-rankers whose candidates see each other against the same whose candidates do not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from cear import data as datasets
from cear.reports import Column, Entry, Row, Table, open_ranks
from cear.study.attention import KNOWN as GROUPS
from cear.study.attention import attention_effect
from cear.study.cells import Cell
from cear.study.experiments import Experiment
from cear.study.making import SEEDS, Making
from cear.study.published import FB, WN
from cear.study.records import Records
from cear.study.tables import NAMES

INPUTS: Mapping[str, tuple[str, ...]] = {"lists": (), "raw": ("reranker.list_inputs=false",)}
"""Whether a candidate is told its probability and rank among the others, or raw scores alone."""
KNOWN: Mapping[str, tuple[str, ...]] = {
    "dropped": (),
    "kept": ("candidates.known=keep",),
    "flagged": ("candidates.known=keep", "reranker.flag_known=true"),
}
"""What becomes of the known answers of a query."""
WORDS = {"lists": "probability and rank in the list", "raw": "raw scores alone"}
READERS = ("wide", "sequence")


@dataclass(frozen=True)
class Question(Experiment):
    """Cross against independent attention, for one data set, re-ranker and kind of inputs."""

    data: str
    reader: str
    inputs_of: str
    known: str

    @property
    def name(self) -> str:
        """Its findings are in `results/study/NAME.json`."""
        return f"attention/{self.data}-{self.reader}-{self.inputs_of}-{self.known}"

    def arm(self, attention: str) -> Cell:
        """The cell of an arm."""
        shuffled = ("reranker.order=shuffled",) if self.reader == "sequence" and self.inputs_of == "raw" else ()
        changes = (*INPUTS[self.inputs_of], *shuffled, *KNOWN[self.known], f"reranker.attention={attention}")
        label = f"{self.reader}-{self.inputs_of}-{self.known}-{attention}"
        return Cell.of(self.data, f"attention/{self.reader}").changed(label, *changes, seeded="reranker.seed")

    @property
    def arms(self) -> tuple[Cell, Cell]:
        """With attention between candidates, and without."""
        return self.arm("cross"), self.arm("independent")

    def inputs(self) -> dict[str, Any] | None:
        """The evaluations of both arms with every seed that both have."""
        pairs = [[arm.with_seed(seed) for arm in self.arms] for seed in SEEDS]
        there = [pair for pair in pairs if all(cell.config.exists() and cell.found() is not None for cell in pair)]
        return {cell.name: _evaluation_of(cell) for pair in there for cell in pair} if there else None

    def find(self, making: Making) -> dict[str, Any]:
        """The effect of attention, on all queries, by known answers and by relation."""
        del making
        seeds = [seed for seed in SEEDS if all(arm.with_seed(seed).found() is not None for arm in self.arms)]
        cross, independent = ([open_ranks(arm.with_seed(seed).record) for seed in seeds] for arm in self.arms)
        kb = datasets.load(self.arms[0].settings.data)
        known = kb.known("train").of_queries(cross[0].queries).counts
        effect = attention_effect(cross, independent, known)
        return {"data": kb.name, "digest": kb.digest, "seeds": seeds, **effect.as_json()}


def _evaluation_of(cell: Cell) -> str:
    """The key of the evaluation behind a record: another one has other ranks."""
    record = cell.found()
    assert record is not None
    return str(record["provenance"]["steps"][-1]["key"])


QUESTIONS = tuple(
    Question(*each) for each in product((FB, WN), READERS, INPUTS, KNOWN) if (each[1], each[3]) != ("sequence", "kept")
)
"""All of them; whether a known answer is told to be one is asked of the sequence re-ranker with a mark alone."""


def attention_table(records: Records) -> Table:
    """The MRR of both arms, and what attention between candidates brings."""
    columns = (
        Column("with"),
        Column("without"),
        Column("difference", digits=4, best="none"),
        Column("p", digits=4, best="none"),
        Column("H@1, difference", digits=4, best="none"),
        Column("relations that differ", best="none"),
    )
    rows = [Row(_label(question), _entries(question, records), ours=False) for question in QUESTIONS]
    notes = (
        "MRR. Without: a candidate sees the query and itself alone. Seeds are those of Stage 2.",
        "Differences are paired by distinct query, the mean over seeds first; relations by Holm's correction.",
    )
    return Table("attention", "Does attention between candidates matter?", columns, tuple(rows), notes)


def known_answers_table(records: Records) -> Table:
    """What attention brings to MRR, by how many answers of a query are known."""
    del records  # its figures are of experiments
    groups = [*GROUPS]
    columns = tuple(Column(group, "known answers of the query", digits=4, best="none") for group in groups)
    rows = []
    for question in QUESTIONS:
        by_known = {each["name"]: each["mrr"] for each in (question.found() or {}).get("by_known", ())}
        rows.append(Row(_label(question), tuple(_difference(by_known.get(group)) for group in groups)))
    return Table("attention-known", "Attention by known answers: difference of MRR", columns, tuple(rows))


def _label(question: Question) -> str:
    return f"{question.reader}, {NAMES[question.data]}, {WORDS[question.inputs_of]}, known answers {question.known}"


def _entries(question: Question, records: Records) -> tuple[Entry, ...]:
    arms = [records.of(arm).measure("mrr") for arm in question.arms]
    found = question.found()
    if found is None:
        return (*arms, *[Entry()] * 4)
    mrr, hits = found["all"]["mrr"], found["all"]["hits@1"]
    told = f"{len(found['differing'])} of {len(found['by_relation'])}"
    return (*arms, _difference(mrr), Entry(mrr["p"]), _difference(hits), Entry(text=told))


def _difference(found: Mapping[str, Any] | None) -> Entry:
    return Entry() if found is None else Entry(found["difference"], found["low"], found["high"])
