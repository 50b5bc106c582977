"""Which folders may be written to."""

from __future__ import annotations

import os
from pathlib import Path


def can_write(folder: Path) -> bool:
    """Whether something can be put into a folder, which is made first where it is not there."""
    there = next((each for each in (folder, *folder.absolute().parents) if os.path.lexists(each)), Path("/"))
    return there.is_dir() and os.access(there, os.W_OK | os.X_OK)
