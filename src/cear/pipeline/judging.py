"""Facts by name, judged: known entities by what both stages say, unknown ones by their texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from cear.core.errors import AmbiguousName, DataError, UnknownName
from cear.core.progress import Progress
from cear.data import Judged, KnowledgeBase, find_entity
from cear.pipeline import proposing
from cear.ranking import NewEntity

if TYPE_CHECKING:
    from cear.pipeline.finished import Run


def judge_named(
    run: Run, facts: Sequence[Sequence[str]], learn_from: Judged | None, *, why: bool, progress: Progress
) -> pl.DataFrame:
    """The probability of each fact, one row each, in their order; `note` tells of entities that nobody knows."""
    _refuse_other_widths(facts)
    unknown = [*dict.fromkeys(name for s, _, o in facts for name in (s, o) if not _is_known(name, run.kb))]
    knows = run.with_entities([NewEntity(name, name) for name in unknown]) if unknown else run
    numbers = [_numbers(fact, place, knows.kb) for place, fact in enumerate(facts, start=1)]
    given = np.array(numbers, np.int64).reshape(-1, 3)
    probability: proposing.Probability = run.plan.completion.in_use.truth
    if learn_from is not None:
        seed = run.plan.context.seed
        probability = proposing.as_people_judge(run.ranker, learn_from, seed=seed, progress=progress)
    table = proposing.judge(knows.ranker, probability, given, why=why, progress=progress)
    notes = [_note(fact, set(unknown)) for fact in facts]
    return table.with_columns(pl.Series("note", notes, dtype=pl.String))


def _is_known(name: str, kb: KnowledgeBase) -> bool:
    return bool(kb.entities.called(name))


def _numbers(fact: Sequence[str], place: int, kb: KnowledgeBase) -> tuple[int, int, int]:
    subject, relation, object_ = fact
    try:
        return find_entity(kb, subject), kb.relations.find(relation), find_entity(kb, object_)
    except (AmbiguousName, UnknownName) as error:
        raise type(error)(f"Fact {place}: {error}") from None


def _note(fact: Sequence[str], unknown: set[str]) -> str | None:
    """What a row says of entities that nobody knows."""
    new = [*_new_ends(fact, unknown)]
    return f"{' and '.join(new)} unknown to the knowledge base: judged by its text alone" if new else None


def _new_ends(fact: Sequence[str], unknown: set[str]) -> Iterator[str]:
    for end, name in (("subject", fact[0]), ("object", fact[2])):
        if name in unknown:
            yield end


def _refuse_other_widths(facts: Sequence[Sequence[str]]) -> None:
    for place, fact in enumerate(facts, start=1):
        if len(fact) != 3:
            raise DataError(f"Fact {place} has {len(fact)} parts, not subject, relation, object: {list(fact)}.")
