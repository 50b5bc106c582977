"""The study: every table and figure, which cells each needs, and the page that shows all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from cear.config import AS_WRITTEN
from cear.core.errors import UnknownName
from cear.reports import Bars, Curve, Heat, Page, Table, write_page
from cear.study import deciding, figures, given_away, protocols, tables
from cear.study.attending import QUESTIONS, attention_table, known_answers_table
from cear.study.cells import Cell
from cear.study.costs import costs
from cear.study.experiments import Experiment
from cear.study.leaking import LEAKS, leak_table
from cear.study.picture import EXAMPLE, example_heat
from cear.study.published import FB, OLP, WN
from cear.study.records import Records
from cear.study.tables import ABLATION, ALL, BEST, CKG, CLOSED, KS, OKG, OPEN, STAGE1, System, ablation_cell, k_cell

STAND_INS = ("reverb45k", "mokb6-en")
TITLE = "CEAR, made again"


@dataclass(frozen=True)
class Part:
    """A table or figure, under its label in the paper where it is one of its own."""

    label: str
    cells: tuple[Cell, ...]
    """Whose records it shows."""
    drawings: tuple[Callable[[Records], Table | Bars | Curve | Heat], ...]
    experiments: tuple[Experiment, ...] = ()
    """What is found out about its cells when they are made."""


def _systems(systems: Sequence[System], data: Sequence[str]) -> tuple[Cell, ...]:
    return tuple(dict.fromkeys(system.cell(each) for system in systems for each in data))


def _best(data: Iterable[str]) -> tuple[Cell, ...]:
    return tuple(Cell.of(each, BEST[each]) for each in data)


def _first(data: Iterable[str]) -> tuple[Cell, ...]:
    return tuple(Cell.of(each, STAGE1[each]) for each in data)


def _histogram(label: str, *data: str) -> Part:
    return Part(label, _best(data), (partial(figures.histogram, label, data),))


PARTS = {
    part.label: part
    for part in (
        Part("ckg", _systems(CKG, CLOSED), (tables.link_prediction,)),
        Part("okg", _systems(OKG, OPEN), (tables.open_link_prediction,)),
        Part(
            "s1_entities",
            tuple(k_cell(data, k) for data in CLOSED for k in KS),
            (tables.candidates_read, figures.candidates_curve),
        ),
        Part("ablation", tuple(ablation_cell(data, arm) for data in ALL for arm in ABLATION), (tables.ablation,)),
        Part("headtail", _best(ALL), (tables.head_and_tail,)),
        Part("confusion", _best(ALL), (tables.confusion_of_first_places,)),
        Part("params", (*_first(CLOSED), *_best(CLOSED)), (partial(costs, "params", CLOSED),)),
        Part("params2", (*_first(OPEN), *_best(OPEN)), (partial(costs, "params2", OPEN),)),
        Part("validation", tuple(cell.on("valid") for cell in _best(ALL)), (tables.validation,)),
        _histogram("fb15k237", FB),
        _histogram("wn18rr", WN),
        _histogram("olpbench", OLP, *STAND_INS),
        Part(
            "attention",
            tuple(arm for question in QUESTIONS for arm in question.arms),
            (attention_table, known_answers_table, example_heat),
            (*QUESTIONS, EXAMPLE),
        ),
        Part("deciding", deciding.CELLS, (deciding.changes_table, deciding.groups_table)),
        Part("leak", (), (leak_table,), LEAKS),
        Part("given_away", given_away.CELLS, (given_away.given_away,)),
        Part("care", protocols.CELLS, (protocols.both_protocols,)),
    )
}
"""Every table and figure of the paper, by its label, and those that we add."""


def parts(labels: Sequence[str]) -> list[Part]:
    """The parts of these labels, or all of them."""
    for label in labels:
        if label not in PARTS:
            raise UnknownName(f"The study has no table {label!r}. It has: {', '.join(PARTS)}.")
    return [PARTS[label] for label in labels or PARTS]


def experiments_of(chosen: Sequence[Part], size: str) -> list[Experiment]:
    """The experiments of parts, each once; they have one size, that of the files as written."""
    found = dict.fromkeys(each for part in chosen for each in part.experiments)
    return [*found] if size == AS_WRITTEN else []


def cells_of(chosen: Sequence[Part], size: str) -> list[Cell]:
    """The cells that parts show and that have a configuration, each once, in a size."""
    every = dict.fromkeys(cell for part in chosen for cell in part.cells)
    return [cell.in_size(size) for cell in every if cell.config.exists()]


def page(chosen: Sequence[Part], size: str, folder: Path) -> Page:
    """The page of parts, drawn from the records that are there."""
    records = Records(folder, size)
    shown = [part for part in chosen if size == AS_WRITTEN or not part.experiments]
    drawn = tuple(draw(records) for part in shown for draw in part.drawings)
    about = (
        f"Size {size}. Every figure is read from a record and links to it; “paper” is what the paper prints.",
        "Intervals are of 95 %, by distinct query; ± is the standard deviation over seeds.",
    )
    return Page(TITLE, about, drawn)


def write_study(folder: Path, chosen: Sequence[Part], size: str) -> None:
    """Write the page of parts as Markdown, LaTeX and HTML, with its figures."""
    write_page(folder, page(chosen, size, folder), name="study")
