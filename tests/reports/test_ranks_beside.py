"""The ranks that a record names are beside it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cear.core.errors import DataError
from cear.reports import open_ranks


@pytest.mark.parametrize("name", ["../../x.parquet", "/abs.parquet", "..", "", "a\0b", None])
def test_a_record_names_no_file_elsewhere(name: str | None, tmp_path: Path) -> None:
    record = tmp_path / "test.json"
    record.write_text(json.dumps({"data": "mine", "split": "test", "stage1": {}, "ranks": name}))
    with pytest.raises(DataError, match=r"test\.json names .*expected the name of a file beside it"):
        open_ranks(record)
