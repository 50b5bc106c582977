"""The formats that we read, and how each is told apart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cear.core.errors import ConfigError, DataError
from cear.core.files import file_digest
from cear.core.keys import content_key
from cear.retrieval.imported import layout, libkge, openke, pykeen, rotate_repository, vectors
from cear.retrieval.imported.config import ImportedSettings
from cear.retrieval.imported.model import TrainedModel

_IDS = ("entities", "relations")


@dataclass(frozen=True)
class Format:
    """One way in which trained models come."""

    looks: str
    """What it looks like, for who looks for it."""
    asks: tuple[str, ...]
    """The settings that it reads beside `path`; the others are in its files."""
    recognises: Callable[[Path], bool]
    files: Callable[[ImportedSettings], list[Path]]
    """All files that are read: they decide what the model is."""
    read: Callable[[ImportedSettings], TrainedModel]


# The first that recognises a path reads it.
FORMATS: dict[str, Format] = {
    "cear": Format(
        f"a folder with {layout.ABOUT} and {layout.WEIGHTS} (our own)",
        (),
        layout.recognises,
        layout.files,
        layout.read,
    ),
    "pykeen": Format(
        f"a folder with {pykeen.MODEL} and {pykeen.TRIPLES}/ (PyKEEN's save_to_directory)",
        _IDS,
        pykeen.recognises,
        pykeen.files,
        pykeen.read,
    ),
    "rotate": Format(
        f"a folder with {rotate_repository.ENTITY}, {rotate_repository.RELATION} and {rotate_repository.CONFIG} "
        "(the RotatE repository)",
        _IDS,
        rotate_repository.recognises,
        rotate_repository.files,
        rotate_repository.read,
    ),
    "vectors": Format(
        f"a folder with entity.npy and relation.npy, or {vectors.TENSORS}, and entities.txt and relations.txt",
        (*_IDS, "scorer", "norm"),
        vectors.recognises,
        vectors.files,
        vectors.read,
    ),
    "libkge": Format(
        "a checkpoint of torch.save with `config` and `model` (LibKGE)",
        _IDS,
        libkge.recognises,
        libkge.files,
        libkge.read,
    ),
    "openke": Format(
        "a checkpoint of torch.save with ent_embeddings.weight or ent_re_embeddings.weight (OpenKE)",
        (*_IDS, "scorer", "norm", "unit_length"),
        openke.recognises,
        openke.files,
        openke.read,
    ),
}


def read_model(given: ImportedSettings) -> TrainedModel:
    """The trained model that the settings name."""
    name = _recognised(given)
    try:
        return FORMATS[name].read(given)
    except (AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
        # What a stranger wrote may lack anything; what we foresee has an error of its own.
        raise DataError(
            f"{given.path} looks like the format `{name}`, but something in it is not as we know it: {error!r}. "
            "Was it written by another version of its library?"
        ) from error


def digest_of(given: ImportedSettings) -> str:
    """A hash of the content of all files that are read."""
    return content_key([file_digest(path) for path in FORMATS[_recognised(given)].files(given)])


def _recognised(given: ImportedSettings) -> str:
    """The name of the format."""
    path = Path(given.path)
    if not path.exists():
        raise DataError(
            f"There is no trained model {path}. Give the folder or checkpoint that its library has written."
        )
    for name, each in FORMATS.items():
        if each.recognises(path):
            _refuse_unread(given, name, each)
            return name
    known = "".join(f"\n  - {each.looks}" for each in FORMATS.values())
    raise DataError(f"{path} is no trained model that we read. Looked for:{known}")


def _refuse_unread(given: ImportedSettings, name: str, found: Format) -> None:
    said = ("entities", "relations", "scorer", "norm", "unit_length")
    unread = [key for key in said if getattr(given, key) is not None and key not in found.asks]
    if unread:
        raise ConfigError(f"{given.path} is of the format `{name}`, whose files say {', '.join(unread)}: leave it out.")
