"""Work as steps that are kept by content: made once, reused wherever the same is asked for, with what each cost."""

from cear.steps.address import Address, Patience, Place, located
from cear.steps.agenda import Agenda, Job
from cear.steps.executor import Executor
from cear.steps.folder import holds_steps
from cear.steps.meter import Meter, Spent
from cear.steps.step import Step, StepReport
from cear.steps.store import Store

__all__ = [
    "Address",
    "Agenda",
    "Executor",
    "Job",
    "Meter",
    "Patience",
    "Place",
    "Spent",
    "Step",
    "StepReport",
    "Store",
    "holds_steps",
    "located",
]
