"""One training loop for every stage: epochs, validation, the best weights, checkpoints, resumption, data parallel."""

from cear.training.checkpoints import BEST, LATEST, State, load_weights
from cear.training.loop import Part, Schedule, Task, fit, fused_on, seeded, set_rates
from cear.training.packed import PackedTask
from cear.training.workers import Workers

__all__ = [
    "BEST",
    "LATEST",
    "PackedTask",
    "Part",
    "Schedule",
    "State",
    "Task",
    "Workers",
    "fit",
    "fused_on",
    "load_weights",
    "seeded",
    "set_rates",
]
