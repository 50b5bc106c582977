"""A run from configuration to answers: train, evaluate, ask. The command line and Python users start here."""

from cear.pipeline.asking import Answer
from cear.pipeline.auditing import Audit, AuditPlan
from cear.pipeline.finished import Run
from cear.pipeline.measuring import BASELINES, CompletionEvaluation
from cear.pipeline.newcomers import read_newcomers
from cear.pipeline.opening import lay_out, open_run, run
from cear.pipeline.packing import pack, unpack_run
from cear.pipeline.patience import in_words
from cear.pipeline.plan import Plan
from cear.pipeline.predicting import refuse_predictions, write_predictions
from cear.pipeline.proposing import Completion
from cear.pipeline.recipe import Elsewhere, Recipe
from cear.pipeline.relaying import Order, find, plan_of

__all__ = [
    "BASELINES",
    "Answer",
    "Audit",
    "AuditPlan",
    "Completion",
    "CompletionEvaluation",
    "Elsewhere",
    "Order",
    "Plan",
    "Recipe",
    "Run",
    "find",
    "in_words",
    "lay_out",
    "open_run",
    "pack",
    "plan_of",
    "read_newcomers",
    "refuse_predictions",
    "run",
    "unpack_run",
    "write_predictions",
]
