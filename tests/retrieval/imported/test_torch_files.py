"""Files of `torch.save` are read and never run."""

from __future__ import annotations

import os
import pickle
from collections import OrderedDict
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import nn

from cear.core.errors import DataError
from cear.retrieval.imported.torch_files import Recorded, inside, is_torch_file, read_torch_file

LEGACY = pytest.mark.parametrize("archive", [True, False], ids=["archive", "before 1.6"])


def save(value: Any, path: Path, *, archive: bool = True) -> Path:
    torch.save(value, path, _use_new_zipfile_serialization=archive)
    return path


class Marks:
    """Whoever unpickles it writes a file."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> Any:
        return os.system, (f"touch {self.mark}",)


class TestNothingIsRun:
    @LEGACY
    def test_what_would_leave_a_mark_is_read_without_it(self, tmp_path: Path, archive: bool) -> None:
        mark = tmp_path / "mark"
        path = save({"weight": torch.ones(2), "bad": Marks(mark)}, tmp_path / "model.pt", archive=archive)
        file = read_torch_file(path)
        assert not mark.exists()
        assert torch.equal(file.tensor(file.content["weight"]), torch.ones(2))
        assert isinstance(file.content["bad"], Recorded)
        assert file.content["bad"].name == f"{os.system.__module__}.system"
        torch.load(path, weights_only=False)
        assert mark.exists(), "the file would have left it"

    def test_nor_does_a_plain_pickle(self, tmp_path: Path) -> None:
        path = tmp_path / "trained_model.pkl"
        path.write_bytes(pickle.dumps(Marks(tmp_path / "mark"), protocol=2))
        with pytest.raises(DataError, match=r"it is a pickle, but none of torch.save"):
            read_torch_file(path)
        assert not (tmp_path / "mark").exists()


class TestWhatIsRead:
    @LEGACY
    def test_every_tensor_has_its_numbers(self, tmp_path: Path, archive: bool) -> None:
        rows = torch.arange(12.0).view(3, 4)
        there = {"rows": rows, "turned": rows.T, "part": rows[1:, 2:], "long": torch.tensor([7]), "half": rows.half()}
        file = read_torch_file(save(OrderedDict(there), tmp_path / "state.pt", archive=archive))
        for name, expected in there.items():
            found = file.tensor(inside(file.content, name))
            assert found.dtype == expected.dtype
            assert torch.equal(found, expected)

    @LEGACY
    @pytest.mark.filterwarnings("ignore:Couldn't retrieve source code")  # what PyTorch says of classes without a file
    def test_a_whole_module_by_the_names_of_its_parts(self, tmp_path: Path, archive: bool) -> None:
        module = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
        file = read_torch_file(save(module, tmp_path / "module.pt", archive=archive))
        assert torch.equal(file.tensor(inside(file.content, "0", "weight")), module[0].weight)
        assert torch.equal(file.tensor(inside(file.content, "1", "running_var")), torch.ones(3))
        assert inside(file.content, "1", "eps") == 1e-5
        assert inside(file.content, "1", "nothing") is None


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), archive=st.booleans())
def test_damaged_anywhere_it_is_read_or_refused(tmp_path: Path, data: st.DataObject, archive: bool) -> None:
    path = save({"weight": torch.arange(6.0)}, tmp_path / "model.pt", archive=archive)
    content = bytearray(path.read_bytes())
    for _ in range(3):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content)
    with suppress(DataError):  # any other error fails the test
        file = read_torch_file(path)
        file.tensor(inside(file.content, "weight"))


class TestRefused:
    @LEGACY
    @pytest.mark.parametrize("share", [0.02, 0.3, 0.6, 0.99])
    def test_a_file_that_is_cut_off(self, tmp_path: Path, archive: bool, share: float) -> None:
        path = save({"weight": torch.randn(200)}, tmp_path / "model.pt", archive=archive)
        whole = path.read_bytes()
        path.write_bytes(whole[: int(len(whole) * share)])
        with pytest.raises(DataError, match="cut off or damaged"):
            read_torch_file(path)

    def test_a_tensor_that_is_larger_than_its_numbers(self, tmp_path: Path) -> None:
        file = read_torch_file(save({"weight": torch.zeros(1).expand(10**9)}, tmp_path / "model.pt"))
        with pytest.raises(DataError, match="in a storage of 1 numbers"):
            file.tensor(file.content["weight"])

    def test_what_is_no_weight(self, tmp_path: Path) -> None:
        file = read_torch_file(save({"weight": 3}, tmp_path / "model.pt"))
        with pytest.raises(DataError, match="found 3 where weights should be"):
            file.tensor(file.content["weight"])

    def test_a_text_is_no_such_file(self, tmp_path: Path) -> None:
        (tmp_path / "a.txt").write_text("facts")
        assert not is_torch_file(tmp_path / "a.txt")
        assert not is_torch_file(tmp_path)
