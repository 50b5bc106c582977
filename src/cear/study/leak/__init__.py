"""The artefact of the paper's FB15K-237 figures, on demand: lists made with the gold in hand, and what they do."""

from cear.study.leak.arms import Arm, LeakSettings
from cear.study.leak.experiment import leak_experiment
from cear.study.leak.findings import ArmFigures, LeakFindings
from cear.study.leak.lists import leaky_lists, leaky_scores
from cear.study.leak.steps import LeakPlan

__all__ = [
    "Arm",
    "ArmFigures",
    "LeakFindings",
    "LeakPlan",
    "LeakSettings",
    "leak_experiment",
    "leaky_lists",
    "leaky_scores",
]
