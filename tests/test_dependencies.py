"""What the package imports is what it asks for: nothing works only because something else brought it along."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from itertools import chain
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
NOT_FOR_USERS = ("dev", "demo-build")


def normal(distribution: str) -> str:
    """The name of a distribution as package indexes compare it."""
    return re.sub(r"[-_.]+", "-", distribution).lower()


def asked_for() -> set[str]:
    """Every distribution that the package or an extra of it asks for; those of developers are not among them."""
    extras = [names for extra, names in PROJECT["optional-dependencies"].items() if extra not in NOT_FOR_USERS]
    return {normal(re.split(r"[^\w.-]", line)[0]) for line in [*PROJECT["dependencies"], *chain(*extras)]}


def imported(node: ast.AST) -> Iterator[str]:
    """The top-level modules that a source imports anywhere, except for types alone."""
    match node:
        case ast.If(test=ast.Name(id="TYPE_CHECKING"), orelse=others):
            children: list[ast.AST] = [*others]
        case ast.Import(names=names):
            yield from (name.name.split(".")[0] for name in names)
            return
        case ast.ImportFrom(module=str(module), level=0):
            yield module.split(".")[0]
            return
        case _:
            children = [*ast.iter_child_nodes(node)]
    for child in children:
        yield from imported(child)


def used() -> dict[str, set[str]]:
    """The distributions that may bring each module that the package imports."""
    files = (ROOT / "src" / "cear").rglob("*.py")
    modules = {module for file in files for module in imported(ast.parse(file.read_text(encoding="utf-8")))}
    brings = packages_distributions()
    others = modules - set(sys.stdlib_module_names) - {"cear"}
    return {module: {normal(name) for name in brings.get(module, [module])} for module in others}


def undeclared(declared: set[str]) -> list[str]:
    """The modules that are imported and that nothing declared brings."""
    return sorted(module for module, brought_by in used().items() if not brought_by & declared)


def test_every_package_that_is_imported_is_asked_for() -> None:
    assert undeclared(asked_for()) == []


@pytest.mark.parametrize("distribution", ["scipy", "pyyaml", "pyoxigraph"])
def test_one_that_is_not_asked_for_would_be_found(distribution: str) -> None:
    assert len(undeclared(asked_for() - {distribution})) == 1


def test_imports_inside_functions_count_and_those_for_types_do_not() -> None:
    lines = ["import a.b", "def f():", " from c import d", "if TYPE_CHECKING:", " import e", "else:", " import g"]
    source = "\n".join([*lines, "from . import h"])
    assert [*imported(ast.parse(source))] == ["a", "c", "g"]


def test_every_dependency_has_its_reason_and_licence() -> None:
    rows = re.findall(r"^\| ([\w-]+) \|", (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert asked_for() <= {normal(row) for row in rows}
