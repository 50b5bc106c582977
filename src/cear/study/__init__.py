"""The paper's study: its tables and figures from records, and experiments that no run reaches."""

from cear.study.cells import Cell, command_of, load_settings
from cear.study.checking import steps_of
from cear.study.estimating import Estimate, estimates, plan_table
from cear.study.leak import (
    Arm,
    ArmFigures,
    LeakFindings,
    LeakPlan,
    LeakSettings,
    leak_experiment,
    leaky_lists,
    leaky_scores,
)
from cear.study.making import Making, missing, seeds_of
from cear.study.records import Records
from cear.study.study import PARTS, Part, cells_of, experiments_of, page, parts, write_study

__all__ = [
    "PARTS",
    "Arm",
    "ArmFigures",
    "Cell",
    "Estimate",
    "LeakFindings",
    "LeakPlan",
    "LeakSettings",
    "Making",
    "Part",
    "Records",
    "cells_of",
    "command_of",
    "estimates",
    "experiments_of",
    "leak_experiment",
    "leaky_lists",
    "leaky_scores",
    "load_settings",
    "missing",
    "page",
    "parts",
    "plan_table",
    "seeds_of",
    "steps_of",
    "write_study",
]
