"""The steps of a run with a label tree, a second stage and a completion, as tasks with what they would take."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log2

from simulating.costs import MILLION, Costs
from simulating.schedule import Task

LISTS_OF_A_PIECE = 65_536
QUESTIONS_OF_A_PIECE = 4_096  # as `cear.completion` cuts them
PIECE = ", piece "
FOLD = 0.9  # of the facts: one of ten is held out


@dataclass(frozen=True)
class Workload:
    """How much there is to do."""

    name: str
    entities: int
    facts: int
    lists: int
    """That Stage 2 may learn from."""
    learned: int
    """Lists that it learns from; a list costs three times what its re-ranking costs."""
    questions: int
    """That a completion asks, its best 50 re-ranked."""


OLPBENCH = Workload("OLPBENCH", 2_470_000, 30_600_000, 1_000_000, 10_000, 100_000)
WIKIDATA = Workload("Wikidata", 100_000_000, 1_500_000_000, 1_000_000, 10_000, 10_000_000)


def tasks_of(work: Workload, costs: Costs) -> list[Task]:
    """The graph of steps. A label's path is as long as the logarithm of their number: so are learning and search."""
    deeper = log2(work.entities) / log2(costs.entities)
    facts, rerank = work.facts / MILLION, costs.rerank_thousand_lists / 1000
    train, search = deeper * costs.train_million_facts * facts, deeper * costs.search_million_queries / MILLION
    lists = _pieces("lists", work.lists, LISTS_OF_A_PIECE, search, ("fold, stage1",))
    ready = tuple(each.name for each in lists)
    asked = _pieces("questions", work.questions, QUESTIONS_OF_A_PIECE, search + rerank, ("stage1", "re-ranker"))
    return [
        Task("read", costs.read_million_facts * facts),
        Task("stage1", train, ("read",)),
        Task("fold, stage1", FOLD * train, ("read",)),
        *lists,
        Task("re-ranker", 3 * rerank * work.learned, (*ready, "stage1")),
        *asked,
    ]


def _pieces(name: str, total: int, size: int, each: float, after: tuple[str, ...]) -> list[Task]:
    """Work that falls into pieces of so many, which anybody may do."""
    n = ceil(total / size)
    return [Task(f"{name}{PIECE}{number}", each * min(size, total - number * size), after) for number in range(n)]
