"""Files of `torch.save`, read without running anything of them.

A pickle is a program: it names functions and calls them. Here whatever it names becomes a `Recorded`, an inert stand-in
that notes its name, what it was called with and the state it was given. Tensors are rebuilt afterwards, when they are
asked for, from the plain numbers beside the pickle.
"""

from __future__ import annotations

import math
import pickle
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any, Self

import torch
from torch import Tensor

from cear.core.errors import DataError

_DTYPES = {
    "FloatStorage": torch.float32,
    "DoubleStorage": torch.float64,
    "HalfStorage": torch.float16,
    "BFloat16Storage": torch.bfloat16,
    "LongStorage": torch.int64,
    "IntStorage": torch.int32,
    "ShortStorage": torch.int16,
    "CharStorage": torch.int8,
    "ByteStorage": torch.uint8,
    "BoolStorage": torch.bool,
    "ComplexFloatStorage": torch.complex64,
}
_TENSOR, _PARAMETER = "torch._utils._rebuild_tensor_v2", "torch._utils._rebuild_parameter"
_MAGIC = 0x1950A86A20F9469CFC6C  # of files that are no archives: PyTorch before 1.6


class Recorded:
    """Something that a pickle names, never made: its name, its arguments, its state and the items put into it."""

    name = ""
    args: tuple[Any, ...]
    state: dict[str, Any]

    def __new__(cls, *args: Any, **_: Any) -> Self:
        """Note what it was called with."""
        self = super().__new__(cls)
        self.args, self.state = args, {}
        return self

    def __repr__(self) -> str:
        return self.name

    def __call__(self, *args: Any) -> Recorded:
        """What a pickle calls is recorded, not called."""
        return Recorded(*args)

    def __setstate__(self, state: Any) -> None:
        parts = state if isinstance(state, tuple) else (state,)  # a pair where a class has slots
        for part in parts:
            self.state |= part if isinstance(part, dict) else {}

    def __setitem__(self, key: Any, value: Any) -> None:
        self.state[key] = value

    def append(self, value: Any) -> None:
        """Note an item of what would be a list."""
        self.state[str(len(self.state))] = value


@dataclass(frozen=True)
class _Storage:
    """Numbers beside the pickle."""

    kind: str
    key: str


@dataclass(frozen=True, eq=False)
class TorchFile:
    """What such a file holds: plain values, stand-ins, and tensors on demand."""

    path: Path
    content: Any
    read: Callable[[str], bytes]
    """The bytes of a storage."""

    def tensor(self, value: Any) -> Tensor:
        """The tensor that a stand-in stands for."""
        if isinstance(value, Recorded) and value.name.startswith(_PARAMETER):
            value = next(iter(value.args), None)
        try:
            if not (isinstance(value, Recorded) and value.name == _TENSOR):
                raise ValueError(f"found {value!r} where weights should be")
            return self._rebuilt(*value.args[:4])
        except Exception as error:  # what a stranger wrote may be wrong in any way
            raise _unreadable(self.path, error) from None

    def _rebuilt(self, storage: _Storage, offset: int, size: tuple[int, ...], stride: tuple[int, ...]) -> Tensor:
        numbers = torch.frombuffer(bytearray(self.read(storage.key)), dtype=_DTYPES[storage.kind])
        if math.prod(size) > len(numbers):
            raise ValueError(f"a tensor of shape {size} in a storage of {len(numbers)} numbers")
        return numbers.as_strided(size, stride, offset).clone()


def is_torch_file(path: Path) -> bool:
    """Whether a file begins as `torch.save` begins one: as an archive or a pickle."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(2).startswith((b"PK", b"\x80"))


def read_torch_file(path: Path) -> TorchFile:
    """What `torch.save` wrote, with a stand-in for everything that is not plain."""
    try:
        if zipfile.is_zipfile(path):
            return _read_archive(path)
        with path.open("rb") as file:
            return _read_legacy(path, file)
    except Exception as error:  # what a stranger wrote may be wrong in any way
        raise _unreadable(path, error) from None


def inside(value: Any, *names: str) -> Any:
    """What stands under these names in nested dictionaries, objects and PyTorch modules; None where nothing does."""
    for name in names:
        fields = _fields(value)
        groups = [_fields(fields.get(group)) for group in ("_modules", "_parameters", "_buffers")]
        value = next((group[name] for group in (*groups, fields) if name in group), None)
    return value


def _fields(value: Any) -> dict[str, Any]:
    if isinstance(value, Recorded):
        return value.state
    return value if isinstance(value, dict) else {}


class _Unpickler(pickle.Unpickler):
    """Reads the structure of a pickle; nothing that it names is imported or called."""

    def __init__(self, file: IO[bytes]) -> None:
        super().__init__(file)
        self.kinds: dict[str, str] = {}  # of the storages that it has met, by key

    def find_class(self, module: str, name: str) -> Any:
        return type("Recorded", (Recorded,), {"name": f"{module}.{name}"})

    def persistent_load(self, saved: Any) -> Any:
        if saved[0] == "module":  # a class with its source, in old files
            return saved[1]
        if saved[0] != "storage" or any(view is not None for view in saved[5:]):
            raise ValueError(f"no storage of numbers: {saved[0]!r}")
        kind, key = saved[1].name.rpartition(".")[2], str(saved[2])
        self.kinds[key] = kind
        return _Storage(kind, key)


def _read_archive(path: Path) -> TorchFile:
    with zipfile.ZipFile(path) as archive:
        inner = next((name for name in archive.namelist() if name.endswith("/data.pkl")), None)
        if inner is None:
            raise ValueError("the archive holds no data.pkl")
        root = inner.removesuffix("data.pkl")
        if f"{root}byteorder" in archive.namelist() and archive.read(f"{root}byteorder") != b"little":
            raise ValueError("its numbers are big-endian")
        with archive.open(inner) as file:
            content = _Unpickler(file).load()
    return TorchFile(path, content, partial(_read_member, path, f"{root}data/"))


def _read_member(path: Path, folder: str, key: str) -> bytes:
    with zipfile.ZipFile(path) as archive:
        return archive.read(folder + key)


def _read_legacy(path: Path, file: IO[bytes]) -> TorchFile:
    """A file of PyTorch before 1.6: a few pickles, then each storage with its length in front."""
    if _Unpickler(file).load() != _MAGIC:
        raise ValueError("it is a pickle, but none of torch.save")
    _version, _machine = _Unpickler(file).load(), _Unpickler(file).load()
    reader = _Unpickler(file)
    content, keys = reader.load(), _Unpickler(file).load()
    storages = {}
    for key in keys:
        count = int.from_bytes(_read_all(file, 8), "little")
        storages[key] = _read_all(file, count * _DTYPES[reader.kinds[key]].itemsize)
    return TorchFile(path, content, storages.__getitem__)


def _read_all(file: IO[bytes], size: int) -> bytes:
    """So many bytes, and no fewer."""
    found = file.read(size)
    if len(found) != size:
        raise ValueError("it ends too early")
    return found


def _unreadable(path: Path, why: Exception) -> DataError:
    return DataError(
        f"The weights in {path} cannot be read: {str(why) or type(why).__name__}. The file is cut off or damaged, or "
        "torch.save has not written it. Copy it again, or save the model again."
    )
