"""The experiment, from the Stage 1 of a run to its findings."""

from __future__ import annotations

from typing import get_args

from cear.core.types import SPLITS
from cear.evaluation import find_equal_score_leak
from cear.pipeline import Plan
from cear.study.leak.arms import LeakSettings, Made
from cear.study.leak.findings import Figures, LeakFindings, checked, figures_of, known_beside_gold
from cear.study.leak.readers import READERS, unsettled
from cear.study.leak.steps import LeakPlan


def leak_experiment(plan: Plan, settings: LeakSettings) -> LeakFindings:
    """What Stage 2 finds in honest and in leaky lists of the same Stage 1, variant by variant.

    Only this function leads to leaky lists: no configuration and no option of a run does. What is in the store is
    reused; interrupted, it goes on.
    """
    leak, kb = LeakPlan(plan, settings), plan.kb
    leak.preflight()
    measured = {arm: leak.measured(arm) for arm in settings.arms}
    before = next(iter(measured.values())).before
    assert before is not None
    others, made = known_beside_gold(kb, before), get_args(Made)
    read = {(each, name): leak.read(each, name) for each in made for name in READERS}
    return LeakFindings(
        data=kb.name,
        digest=kb.digest,
        queries=len(before.queries),
        settings=settings.settings_key(),
        stage1=before.summary(),
        stage1_intervals=before.intervals(),
        arms=tuple(figures_of(arm.made, arm.variant, found, others) for arm, found in measured.items()),
        readers=tuple(figures_of(*arm, found, others) for arm, found in read.items()),
        unsettled={each: unsettled(leak.load_lists(each), kb) for each in made},
        check={each: _check(leak, each) for each in made},
    )


def _check(leak: LeakPlan, made: Made) -> Figures:
    """What our own check says of the lists that are measured."""
    asked, lists = leak.asked("test"), leak.load_places(made, "test").lists
    assert lists is not None
    known = leak.plan.kb.known(*SPLITS).of_queries(asked.queries)
    return checked(find_equal_score_leak(lists.candidates, asked.gold, known))
