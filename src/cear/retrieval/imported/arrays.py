"""Arrays of numpy, read without running anything: a file that holds objects is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from cear.core.errors import DataError


def read_array(path: Path) -> Tensor:
    """The numbers of a .npy file."""
    try:
        array = np.load(path, allow_pickle=False)
        if not isinstance(array, np.ndarray) or array.dtype.kind != "f":
            raise ValueError("it holds no table of real numbers")
        return torch.from_numpy(array.astype(np.float32))
    except (OSError, ValueError, EOFError) as error:
        raise DataError(f"The vectors in {path} cannot be read: {error}. Write them again with `numpy.save`.") from None
