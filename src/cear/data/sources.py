"""Where a knowledge base is: a name or a path made into a path that exists."""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import platformdirs
from rapidfuzz import process

from cear.core.errors import DataError, UnknownName
from cear.data.download import download as download_files
from cear.data.draft import TextRule
from cear.data.named import NAMED

DATA_VARIABLE = "CEAR_DATA"
CACHE_VARIABLE = "CEAR_CACHE"


@dataclass(frozen=True, slots=True)
class Source:
    """A path to read, what to call it, and what its texts hold."""

    path: Path
    name: str
    text: TextRule = "name"


def cache_root() -> Path:
    """The folder for all that can be made again: `CEAR_CACHE`, or the user's cache."""
    if chosen := os.environ.get(CACHE_VARIABLE):
        return Path(chosen)
    cache = platformdirs.user_cache_path("cear")
    return cache if cache.is_absolute() else Path(os.devnull) / "cear"  # nobody's home: nothing can be kept there


def is_named(source: str) -> bool:
    """Whether a text is the name of a data set that we know."""
    return source.lower() in NAMED


def is_here(source: str) -> bool:
    """Whether there is something to read behind a name or a path, without a download."""
    try:
        find_source(source)
    except (DataError, UnknownName):
        return False
    return True


def find_source(source: str | Path, *, like: str | None = None, download: bool = False) -> Source:
    """The path behind a name or a path. A text that is a name wins over a file so called: write ./demo.

    A path is read as the named data set that it is `like`, and called so.
    """
    if isinstance(source, str) and source.lower() in NAMED:
        name = source.lower()
        return Source(_named_folder(name, download=download), name, NAMED[name].text)
    path = Path(source).expanduser()
    if not path.exists():
        raise _missing(source, path)
    if like is not None and like.lower() in NAMED:
        return Source(path, like.lower(), NAMED[like.lower()].text)
    return Source(path, path.resolve().stem if path.is_file() else path.resolve().name)


def _named_folder(name: str, *, download: bool) -> Path:
    if NAMED[name].embedded:
        return Path(str(resources.files("cear.data") / name))
    places = _places(name)
    for place in places:
        if place.is_dir():
            return place
    if download and NAMED[name].files:
        download_files(NAMED[name].files, places[-1])
        return places[-1]
    raise DataError(
        f"The data set {name!r} is not on this machine: there is no {' and no '.join(map(str, places))}. "
        f"Set {DATA_VARIABLE} to a folder that holds {name}/, or {_or_else(name)}."
    )


def _or_else(name: str) -> str:
    """What else helps when a data set is not on this machine."""
    archive, home = NAMED[name].archive, NAMED[name].home
    if home:
        return f"make that folder by hand of what {home} publishes: we know no address to download its files from"
    return f"unpack {archive} there" if archive else "allow its download (download=True, --download)"


def _places(name: str) -> list[Path]:
    chosen = os.environ.get(DATA_VARIABLE)
    own = [Path(chosen).expanduser() / name] if chosen else []
    return [*own, cache_root() / "data" / name]


def _missing(source: str | Path, path: Path) -> DataError | UnknownName:
    known = ", ".join(NAMED)
    if isinstance(source, Path) or len(path.parts) > 1 or path.suffix:
        return DataError(f"There is no file or folder {path}. Give a path that exists or a name: {known}.")
    closest = process.extractOne(source.lower(), list(NAMED), score_cutoff=50)
    guess = f" Did you mean {closest[0]!r}?" if closest else ""
    return UnknownName(f"No data set is called {source!r}, and no such path exists.{guess} Known: {known}.")
