"""A disk that takes nothing more: a sentence, and nothing half-written, whichever library writes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from cear.core.errors import CearError, DiskError
from cear.core.files import replacing, write_json
from cear.core.places import can_write

# A limit on the size of files is told to every library just as a full disk is, and needs no disk of its own.
LIMITED = """
import resource, sys
from pathlib import Path
import numpy as np, polars as pl, torch
from cear.core.errors import DiskError
from cear.core.files import replacing, write_json
from cear.core.tensors import write_tensors

path, how = Path(sys.argv[1]), sys.argv[2]
numbers = np.random.default_rng(0).random(100_000)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
try:
    if how == "json":
        write_json(path, numbers.tolist())
    elif how == "tensors":
        write_tensors(path, {"numbers": torch.tensor(numbers)})
    else:
        with replacing(path) as partial:
            table = pl.DataFrame({"numbers": numbers})
            table.write_parquet(partial) if how == "parquet" else table.write_csv(partial)
except DiskError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no limits on files")
@pytest.mark.parametrize("how", ["json", "tensors", "parquet", "csv"])
def test_what_does_not_fit_is_told_and_the_old_file_stays(how: str, tmp_path: Path) -> None:
    path = tmp_path / "kept"
    path.write_text("old")
    command = [sys.executable, "-c", LIMITED, str(path), how]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert f"{path} could not be written: File too large. What it held before is still there." in done.stdout
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("kept", "old")]


def test_a_folder_that_is_a_file_is_told_as_both_kinds_of_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DiskError, match="Not a directory") as told:
        write_json(tmp_path / "file" / "sub" / "a.json", {})
    assert isinstance(told.value, CearError)
    assert isinstance(told.value, OSError)


def test_an_error_about_another_file_stays_what_it_is(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), replacing(tmp_path / "copy") as partial:
        partial.write_bytes((tmp_path / "nowhere").read_bytes())
    with pytest.raises(ZeroDivisionError), replacing(tmp_path / "copy"):
        _ = 1 / 0
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_can_be_written_where_it_can_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert can_write(tmp_path)
    assert can_write(tmp_path / "a" / "b")
    assert not can_write(tmp_path / "file" / "a")
    assert not can_write(Path("/proc/self"))
