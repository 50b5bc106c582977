"""What a worker does: it lays out the plan of a recipe, once, and makes the steps that it is sent."""

from __future__ import annotations

import json
from functools import lru_cache

from cear.pipeline import Order, Plan, Recipe, find, plan_of


def make_step(recipe: str, order: str) -> None:
    """Make a step, ordered in JSON, in the store of a recipe."""
    plan = _plan(recipe)
    plan.store.made_here(find(plan, Order.from_json(json.loads(order))))


@lru_cache(maxsize=1)
def _plan(recipe: str) -> Plan:
    """The plan of a recipe; a worker is asked for many steps of one."""
    return plan_of(Recipe.from_json(json.loads(recipe)))
