"""A run from configuration to answers: train, evaluate, ask. The command line and Python users start here."""

from cear.pipeline.asking import Answer
from cear.pipeline.auditing import Audit, AuditPlan
from cear.pipeline.finished import Run
from cear.pipeline.measuring import BASELINES, CompletionEvaluation
from cear.pipeline.newcomers import read_newcomers
from cear.pipeline.opening import open_run, run
from cear.pipeline.plan import Plan
from cear.pipeline.proposing import Completion

__all__ = [
    "BASELINES",
    "Answer",
    "Audit",
    "AuditPlan",
    "Completion",
    "CompletionEvaluation",
    "Plan",
    "Run",
    "open_run",
    "read_newcomers",
    "run",
]
