"""The layouts that we read, and how each is told apart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cear.core.errors import DataError
from cear.data.draft import Draft, ReadOptions
from cear.data.readers import care, facts_file, folder, olpbench, openke, rdf


@dataclass(frozen=True, slots=True)
class Layout:
    """One way in which knowledge bases come."""

    name: str
    looks: str
    recognises: Callable[[Path], bool]
    read: Callable[[Path, ReadOptions], Draft]
    takes_columns: bool = False
    """Whether a user may say which column holds what."""


# The first that recognises a path reads it.
LAYOUTS: tuple[Layout, ...] = (
    Layout(
        "openke",
        "a folder with entity2id.txt, relation2id.txt and train2id.txt (OpenKE)",
        openke.recognises,
        openke.read,
    ),
    Layout(
        "care",
        "a folder with ent2id.txt, rel2id.txt and train_trip.txt, and perhaps gold_npclust.txt (CaRe, ReVerb45K)",
        care.recognises,
        care.read,
    ),
    Layout(
        "olpbench",
        "a folder with train_data_thorough.txt (or basic, or simple) and perhaps validation_data_linked.txt, "
        "test_data.txt (OLPBENCH)",
        olpbench.recognises,
        olpbench.read,
    ),
    Layout(
        "folder",
        "a folder with train.txt or train.tsv, and perhaps valid, test, entity2text.txt, relation2text.txt, "
        "entity2types.txt",
        folder.recognises,
        folder.read,
        takes_columns=True,
    ),
    Layout(
        "file",
        "one .tsv, .txt, .csv or .parquet file with the columns subject, relation, object, or with others (columns)",
        facts_file.recognises,
        facts_file.read,
        takes_columns=True,
    ),
    Layout("rdf", "one .nt (N-Triples) or .ttl (Turtle) file", rdf.recognises, rdf.read),
)


def recognise(path: Path) -> Layout:
    """The layout of a path; an error that lists what we read when nothing fits."""
    for layout in LAYOUTS:
        if layout.recognises(path):
            return layout
    holds = _contents(path)
    known = "".join(f"\n  - {layout.looks}" for layout in LAYOUTS)
    raise DataError(f"{path}{holds} is not a layout that we read. We read:{known}")


def _contents(path: Path) -> str:
    if not path.is_dir():
        return ""
    names = sorted(file.name for file in path.iterdir())
    shown = ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
    return f" (a folder with {shown or 'nothing in it'})"
