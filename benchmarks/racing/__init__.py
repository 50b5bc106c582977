"""What the race of trainings consists of: curves, how each side trains, what it may choose, trials that are kept."""

from racing.curves import Curve, Finish, Follower, Lap, equal_mrr, first_facts, per_epoch, seconds_to
from racing.ours import train_ours
from racing.trials import Choice, Kept, best_of, tuned

__all__ = [
    "Choice",
    "Curve",
    "Finish",
    "Follower",
    "Kept",
    "Lap",
    "best_of",
    "equal_mrr",
    "first_facts",
    "per_epoch",
    "seconds_to",
    "train_ours",
    "tuned",
]
