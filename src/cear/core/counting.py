"""Counting on sorted values."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cear.core.types import Bools


def starts_run(ordered: npt.NDArray[Any]) -> Bools:
    """Where a value differs from the one before it.

    >>> starts_run(np.array([3, 3, 5]))
    array([ True, False,  True])
    """
    return np.concatenate([np.ones(min(len(ordered), 1), bool), ordered[1:] != ordered[:-1]])
