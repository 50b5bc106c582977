"""What the documents say is so: commands parse, code runs, links lead somewhere."""

from __future__ import annotations

import ast
import re
import shlex
import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

import cear
from cear.cli import app
from cear.config import RunConfig, load_config, published

REPOSITORY = Path(__file__).parents[1]
README = (REPOSITORY / "README.md").read_text(encoding="utf-8")
PAGES = [REPOSITORY / "README.md", REPOSITORY / "CONTRIBUTING.md", REPOSITORY / "CHANGELOG.md"]
PAGES += sorted((REPOSITORY / "docs").glob("*.md"))


def commands(program: str, text: str = README) -> list[str]:
    """The command lines of a program that stand in a page's indented blocks, without their comments."""
    lines = re.findall(rf"^ {{4}}({program} .*)$", text, re.MULTILINE)
    return [re.split(r"\s{2,}#", line)[0].strip() for line in lines]


def snippets(language: str = "python", text: str = README) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def parse(arguments: list[str]) -> dict[str, Any]:
    """The values that the command line hands to a command; an error if it does not parse. Nothing is run."""
    command: Any = typer.main.get_command(app)
    while hasattr(command, "commands"):
        name, *arguments = arguments
        command = command.commands[name]
    values: dict[str, Any] = command.make_context(command.name, arguments).params
    return values


def test_the_first_screen_shows_the_two_commands() -> None:
    assert commands("make") == ["make demo", "make test"]
    assert README.index("    make test") < README.index("## Install")


def test_every_make_target_that_is_named_exists() -> None:
    targets = set(re.findall(r"^([a-z]+):", (REPOSITORY / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = {target for page in PAGES for target in re.findall(r"`make ([a-z]+)`", page.read_text(encoding="utf-8"))}
    assert {"demo", "test", "check"} <= named <= targets


def test_continuous_integration_runs_the_test_command_of_the_readme() -> None:
    script = REPOSITORY / ".ci" / "run"
    assert "make test" in script.read_text(encoding="utf-8").splitlines()
    assert script.stat().st_mode & 0o111


@pytest.mark.parametrize("command", [each for page in PAGES for each in commands("cear", page.read_text("utf-8"))])
def test_every_command_parses(command: str) -> None:
    _, *arguments = shlex.split(command)
    assert parse(arguments)


def test_the_readme_shows_every_everyday_command() -> None:
    assert {command.split()[1] for command in commands("cear")} >= {"data", "run", "evaluate", "ask"}


def test_a_command_that_does_not_parse_would_be_found() -> None:
    assert parse(["ask", "runs/x", "Munich", "capital of", "--object"])["object"] is True
    with pytest.raises(Exception, match="No such option"):
        parse(["ask", "runs/x", "Munich", "capital of", "--objekt"])
    with pytest.raises(KeyError, match="aks"):
        parse(["aks"])


def test_configurations_that_are_run_exist() -> None:
    named = [shlex.split(command)[2] for command in commands("cear") if command.startswith("cear run")]
    assert named
    assert [name for name in named if name not in published() and not (REPOSITORY / name).is_file()] == []


def test_python_takes_under_ten_lines_and_public_names() -> None:
    snippet = snippets()[0]
    assert len(snippet.splitlines()) < 10
    used = {
        node.attr
        for node in ast.walk(ast.parse(snippet))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "cear"
    }
    assert {"run"} <= used <= set(cear.__all__)


@pytest.mark.parametrize(
    "snippet",
    [pytest.param(each, id=page.name) for page in PAGES for each in snippets("python", page.read_text("utf-8"))],
)
def test_every_name_that_a_snippet_imports_is_there(snippet: str) -> None:
    for node in ast.walk(ast.parse(snippet)):
        if isinstance(node, ast.ImportFrom) and node.module is not None and node.module.startswith("cear"):
            module = import_module(node.module)
            assert [name.name for name in node.names if not hasattr(module, name.name)] == []


EXAMPLES = sorted(path.parent for path in (REPOSITORY / "examples" / "plugins").glob("*/pyproject.toml"))


@pytest.mark.parametrize("package", EXAMPLES, ids=lambda package: package.name)
def test_the_models_on_the_page_are_the_packages_that_are_tested(package: Path) -> None:
    page = (REPOSITORY / "docs" / "add-a-model.md").read_text(encoding="utf-8")
    assert (package / f"{package.name}.py").read_text(encoding="utf-8") in snippets("python", page)
    points = tomllib.loads((package / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]
    assert points in [tomllib.loads(said)["project"]["entry-points"] for said in snippets("toml", page)]


def test_the_page_has_a_model_of_each_kind() -> None:
    assert {package.name for package in EXAMPLES} == {"cear_cp", "cear_frequency", "cear_linear"}


@pytest.mark.parametrize(
    ("page", "snippet"),
    [pytest.param(page, each, id=page.name) for page in PAGES for each in snippets("yaml", page.read_text("utf-8"))],
)
def test_every_configuration_on_a_page_is_one(page: Path, snippet: str) -> None:
    del page
    values = yaml.safe_load(snippet)
    assert RunConfig.parse(values, source="the page")


def overrides() -> list[str]:
    """The settings that commands on any page put on top of a configuration."""
    lines = [line for page in PAGES for line in commands("cear run", page.read_text(encoding="utf-8"))]
    words = [word for line in lines for word in shlex.split(line)]
    return sorted({word for word in words if "=" in word and not word.startswith("-")})


@pytest.mark.parametrize("override", overrides())
def test_every_override_in_a_command_is_a_setting(override: str) -> None:
    assert load_config("own", [override])


CONFIGURATIONS = sorted((REPOSITORY / "configs").rglob("*.yaml"))


@pytest.mark.parametrize("path", CONFIGURATIONS, ids=lambda path: str(path.relative_to(REPOSITORY / "configs")))
def test_what_a_header_advises_to_add_is_a_setting(path: Path) -> None:
    header = [line for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("#")]
    advised = re.findall(r"(?<![\w/])([a-z_0-9]+(?:\.[a-z_]+)+=[\w.\-]+)", "\n".join(header))
    assert load_config(path, [each.rstrip(".") for each in advised])


@pytest.mark.parametrize(
    "page", PAGES, ids=lambda page: page.name if page.parent == REPOSITORY else f"docs/{page.name}"
)
def test_links_lead_to_files_and_headings_that_exist(page: Path) -> None:
    links = re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8"))
    broken = [link for link in links if not link.startswith("http") and not _leads_somewhere(page, link)]
    assert broken == []


def _leads_somewhere(page: Path, link: str) -> bool:
    path, _, heading = link.partition("#")
    target = page.parent / path if path else page
    return target.exists() and (not heading or heading in _anchors(target))


def _anchors(page: Path) -> set[str]:
    """The headings of a page as GitHub makes them into anchors."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_page_is_in_the_index() -> None:
    index = (REPOSITORY / "docs" / "README.md").read_text(encoding="utf-8")
    pages = {page.name for page in (REPOSITORY / "docs").glob("*.md")} - {"README.md"}
    assert {page for page in pages if f"]({page})" not in index} == set()


def test_every_dependency_has_a_reason_and_no_reason_is_without_its_dependency() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [
        *project["dependencies"],
        *(each for extra in project["optional-dependencies"].values() for each in extra),
    ]
    names = {re.split(r"[<>=\[]", requirement)[0] for requirement in wanted} - {"cear"}
    page = (REPOSITORY / "docs" / "dependencies.md").read_text(encoding="utf-8")
    rows = set(re.findall(r"^\| ([\w-]+) \|", page, re.MULTILINE)) - {"package"}
    assert rows == names
