"""One training loop for every stage: epochs, validation, the best weights, early stop, checkpoints, resumption."""

from cear.core.context import NO_DEADLINE, Deadline
from cear.training.loop import BEST, LATEST, Schedule, State, Task, fit, load_weights, seeded

__all__ = [
    "BEST",
    "LATEST",
    "NO_DEADLINE",
    "Deadline",
    "Schedule",
    "State",
    "Task",
    "fit",
    "load_weights",
    "seeded",
]
