"""Work as steps that are kept by content: made once, reused wherever the same is asked for, with what each cost."""

from cear.steps.meter import Meter, Spent
from cear.steps.step import Step, StepReport
from cear.steps.store import Store, holds_steps

__all__ = ["Meter", "Spent", "Step", "StepReport", "Store", "holds_steps"]
