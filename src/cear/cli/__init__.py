"""The command line: one file a command, put together here."""

from __future__ import annotations

import logging
import os
import sys
import traceback
from typing import Annotated

import typer
from rich.logging import RichHandler
from rich.text import Text

from cear import __version__
from cear.cli import (
    ask,
    audit,
    compare,
    complete,
    data,
    decisions,
    demo,
    evaluate,
    export,
    fit,
    judge,
    pack,
    reproduce,
    results,
    run,
    serve,
)
from cear.cli.console import console, errors, show_safely
from cear.core.ending import clear_away
from cear.core.errors import CearError, OutOfTime
from cear.core.shown import shown

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


def say_version(wanted: bool) -> None:
    """Print the version and end, if that is wanted."""
    if wanted:
        console.print(f"cear {__version__}", highlight=False)
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=say_version, is_eager=True, help="Say which version this is.")
    ] = False,
) -> None:
    """What can be said without a command."""


app.command("demo")(demo.demo)
app.command("run")(run.run)
app.command("fit", no_args_is_help=True)(fit.fit)
app.command("evaluate")(evaluate.evaluate)
app.command("ask", no_args_is_help=True)(ask.ask)
app.command("complete", no_args_is_help=True)(complete.complete)
app.command("judge", no_args_is_help=True)(judge.judge)
app.command("audit", no_args_is_help=True)(audit.audit)
app.command("compare", no_args_is_help=True)(compare.compare)
app.command("export", no_args_is_help=True)(export.export)
app.command("pack", no_args_is_help=True)(pack.pack)
app.command("unpack", no_args_is_help=True)(pack.unpack)
app.command("serve", no_args_is_help=True)(serve.serve)
app.command("reproduce")(reproduce.reproduce)
app.command("results")(results.results)
app.add_typer(data.app, name="data")
app.add_typer(decisions.app, name="decisions")


def main() -> None:
    """Run a command; an error that the user can act on is one clear message and exit code 2."""
    if int(os.environ.get("RANK", "0")):  # of several processes that train together, one speaks
        console.quiet = errors.quiet = True
    logging.basicConfig(level="INFO", format="%(message)s", handlers=[RichHandler(console=errors, show_path=False)])
    logging.captureWarnings(True)
    show_safely()
    try:
        app()
    except OutOfTime as stop:
        errors.print(Text(str(stop)), soft_wrap=True)
        sys.exit(OUT_OF_TIME)
    except (CearError, OSError) as error:  # a full disk or a folder that is a file is the user's to mend, too
        errors.print(Text.assemble(("Error:", "bold red"), f" {error}"), soft_wrap=True)
        sys.exit(2)
    except Exception:  # a bug: its trace, which quotes values that strangers may have written
        sys.stderr.write(shown(traceback.format_exc()))
        sys.exit(1)


def program() -> None:
    """The installed command: `main`, and then out at once. Taking PyTorch apart would take half a second."""
    try:
        main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    else:
        code = 0
    clear_away()
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)


__all__ = ["app", "console", "main", "program"]
