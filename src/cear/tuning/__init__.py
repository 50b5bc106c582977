"""A run that chooses its own settings: what fits the time, and what validation says is better."""

from cear.tuning.changes import CHANGES, Change, changes_for
from cear.tuning.fitting import Fitted, fit
from cear.tuning.profile import Profile
from cear.tuning.search import Trial

__all__ = ["CHANGES", "Change", "Fitted", "Profile", "Trial", "changes_for", "fit"]
