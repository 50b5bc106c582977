"""The direction of imports: what stands later in the house may use what stands earlier, through its door."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "cear"

FLOOR = ("core",)
ROOMS = (
    "data",
    "evaluation",
    "texts",
    "training",
    "retrieval",
    "candidates",
    "reranking",
    "ranking",
    "steps",
    "explaining",
    "completion",
    "reports",
)
ROOF = ("config", "pipeline", "tuning", "cluster", "serving", "study", "cli", "__main__")
HOUSE = FLOOR + ROOMS + ROOF  # each may import from those before it, and from itself

MODULES = sorted(PACKAGE.rglob("*.py"))


def place_of(file: Path) -> str:
    """The room or root module that a file belongs to."""
    return file.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported(source: str) -> Iterator[str]:
    """Every part of the package that a source names, dotted, without the leading `cear.`.

    `from cear import data` names `data`, and so does `cear.data` after `import cear`; dunder names, such as
    `cear.__version__`, belong to nobody.
    """
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                yield from (name.name.removeprefix("cear.") for name in names if name.name.startswith("cear."))
            case ast.ImportFrom(module="cear", level=0, names=names):
                yield from (name.name for name in names if not name.name.startswith("__"))
            case ast.ImportFrom(module=str(module), level=0) if module.startswith("cear."):
                yield module.removeprefix("cear.")
            case ast.ImportFrom(level=level) if level:
                yield "."
            case ast.Attribute(value=ast.Name(id="cear"), attr=attr) if not attr.startswith("__"):
                yield attr


def faults(place: str, source: str) -> list[str]:
    """What is wrong with the imports of a source in this place of the house."""
    return [fault for name in imported(source) if (fault := _fault(place, name))]


def _fault(place: str, name: str) -> str | None:
    there = name.split(".")[0]
    if name == ".":
        return "a relative import: write the whole path"
    if there not in HOUSE:
        return f"`{name}` has no place in the house: import it from the room that has it"
    if there == place:
        return None
    if HOUSE.index(there) > HOUSE.index(place):
        return f"`{place}` uses `{name}`, which stands later"
    if there in ROOMS and name != there:
        return f"`{place}` uses `{name}` past the door: import it from `cear.{there}`"
    return None


# The front door itself names what stands anywhere, and imports it late.
INSIDE = [file for file in MODULES if file != PACKAGE / "__init__.py"]


@pytest.mark.parametrize("file", INSIDE, ids=lambda file: file.relative_to(PACKAGE).as_posix())
def test_imports_point_one_way_and_go_through_doors(file: Path) -> None:
    assert faults(place_of(file), file.read_text(encoding="utf-8")) == []


def test_everything_has_a_place_in_the_house() -> None:
    assert {place_of(file) for file in MODULES} <= {*HOUSE, "__init__"}
    assert {"data", "retrieval", "evaluation", "reports", "cli"} <= {place_of(file) for file in MODULES}


@pytest.mark.parametrize(
    ("place", "source"),
    [
        ("data", "from cear.retrieval import Scorer"),
        ("data", "def late():\n    from cear.evaluation import evaluate"),
        ("evaluation", "import cear.retrieval"),
        ("retrieval", "import cear\ncear.pipeline.run"),
        ("core", "from cear.data import KnowledgeBase"),
        ("reports", "from cear import run"),
        ("evaluation", "from cear.data.knowledge_base import KnowledgeBase"),
        ("pipeline", "from cear.cli import app"),
        ("data", "from . import vocabulary"),
        ("data", "from .vocabulary import Vocabulary"),
    ],
)
def test_a_wrong_import_would_be_found(place: str, source: str) -> None:
    assert len(faults(place, source)) == 1


@pytest.mark.parametrize(
    ("place", "source"),
    [
        ("evaluation", "from cear.data import KnowledgeBase\nfrom cear.core.types import Ranks"),
        ("data", "from cear.data.vocabulary import Vocabulary"),
        ("reports", "import cear\ncear.__version__"),
        ("pipeline", "from cear import __version__, data\nfrom cear.config import RunConfig"),
        ("data", "import numpy as np\nfrom pathlib import Path"),
    ],
)
def test_a_right_import_is_let_through(place: str, source: str) -> None:
    assert faults(place, source) == []


@pytest.mark.parametrize("module", ["cear", "cear.cli", "cear.data"])
def test_who_only_asks_for_help_or_checks_data_does_not_wait_for_torch(module: str) -> None:
    code = f"import {module}, sys; print(*sorted({{'torch', 'numba'}} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.stdout.strip(), done.stderr) == ("", "")
