"""What a disk says when it takes nothing more, whichever library hears it first."""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path

from cear.core.errors import CearError

_REFUSALS = {
    code: os.strerror(code)
    for code in (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EFBIG, errno.ENOTDIR)
}
_IN_RUST = re.compile(r"\(os error (\d+)\)")  # polars and safetensors have their own names for a full disk


def refused_by_disk(error: Exception, target: Path) -> str | None:
    """Why a disk refused to write a file, in its own words; None for an error of another kind, or of another file."""
    if isinstance(error, CearError):
        return None
    if isinstance(error, OSError) and error.errno is not None:
        mine = error.filename is None or target.is_relative_to(os.fsdecode(error.filename))
        return _REFUSALS.get(error.errno) if mine else None
    said = _IN_RUST.search(str(error))
    return _REFUSALS.get(int(said[1])) if said else None
