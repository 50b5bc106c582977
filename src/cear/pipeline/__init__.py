"""A run from configuration to answers: train, evaluate, ask. The command line and Python users start here."""

from cear.pipeline.asking import Answer
from cear.pipeline.finished import Run
from cear.pipeline.opening import open_run, run
from cear.pipeline.plan import Plan

__all__ = ["Answer", "Plan", "Run", "open_run", "run"]
