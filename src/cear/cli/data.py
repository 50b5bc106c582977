"""`cear data`: look at a knowledge base before trusting it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(help="Read, check and describe data.", no_args_is_help=True)


@app.callback()
def group() -> None:
    """Look at a knowledge base before trusting it."""


@app.command()
def check(
    source: Annotated[str, typer.Argument(help="A known data set (demo, fb15k-237, wn18rr) or a path.")],
    skip_bad_lines: Annotated[bool, typer.Option(help="Leave out lines that cannot be read, and count them.")] = False,
    download: Annotated[bool, typer.Option(help="Fetch a known data set that is not on this machine.")] = False,
    json: Annotated[Path | None, typer.Option(help="Also write the findings to this file.")] = None,
) -> None:
    """Say what is in a knowledge base and what is wrong with it.

    Example: `cear data check my/facts.tsv --skip-bad-lines`
    """
    from cear.cli.console import console
    from cear.data import check_source
    from cear.files import write_json

    findings = check_source(source, skip_bad_lines=skip_bad_lines, download=download)
    console.print(findings)
    if json is not None:
        write_json(json, findings.to_json())
