"""The command line: one file a command, put together here."""

from __future__ import annotations

import logging
import os
import sys

import typer
from rich.logging import RichHandler
from rich.markup import escape

from cear.cli import ask, audit, compare, complete, data, demo, evaluate, export, judge, reproduce, results, run
from cear.cli.console import console, errors
from cear.core.errors import CearError, OutOfTime

OUT_OF_TIME = 3  # the exit code when --minutes are over

app = typer.Typer(
    name="cear",
    help="Complete a knowledge base: train on its facts, measure honestly, ask for missing ones.\n\n"
    "Start with `cear demo`. Then: `cear run CONFIG.yaml --out RUN`, `cear evaluate RUN`, `cear ask RUN ...`.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)
app.command("demo")(demo.demo)
app.command("run")(run.run)
app.command("evaluate")(evaluate.evaluate)
app.command("ask", no_args_is_help=True)(ask.ask)
app.command("complete", no_args_is_help=True)(complete.complete)
app.command("judge", no_args_is_help=True)(judge.judge)
app.command("audit", no_args_is_help=True)(audit.audit)
app.command("compare", no_args_is_help=True)(compare.compare)
app.command("export", no_args_is_help=True)(export.export)
app.command("reproduce")(reproduce.reproduce)
app.command("results")(results.results)
app.add_typer(data.app, name="data")


def main() -> None:
    """Run a command; an error that the user can act on is one clear message and exit code 2."""
    if int(os.environ.get("RANK", "0")):  # of several processes that train together, one speaks
        console.quiet = errors.quiet = True
    logging.basicConfig(level="INFO", format="%(message)s", handlers=[RichHandler(console=errors, show_path=False)])
    try:
        app()
    except OutOfTime as stop:
        errors.print(escape(str(stop)), highlight=False, soft_wrap=True)
        sys.exit(OUT_OF_TIME)
    except (CearError, OSError) as error:  # a full disk or a folder that is a file is the user's to mend, too
        errors.print(f"[bold red]Error:[/] {escape(str(error))}", highlight=False, soft_wrap=True)
        sys.exit(2)


def program() -> None:
    """The installed command: `main`, and then out at once. Taking PyTorch apart would take half a second."""
    try:
        main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    else:
        code = 0
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)


__all__ = ["app", "console", "main", "program"]
