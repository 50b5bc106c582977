"""`cear serve`: a run over HTTP, with a page to ask and to review."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from cear.cli.console import console, errors, loading
from cear.core.errors import ConfigError

EXTRA = ("fastapi", "uvicorn", "prometheus_client", "tantivy")


def serve(
    run: Annotated[Path, typer.Argument(help="The folder of a finished run.")],
    port: Annotated[int, typer.Option(min=0, max=65535, help="Where to listen; 0 takes a free port.")] = 8000,
    host: Annotated[str, typer.Option(help="The address to listen at; others than this machine need a token.")] = (
        "127.0.0.1"
    ),
    token: Annotated[
        str | None,
        typer.Option(envvar="CEAR_TOKEN", help="What clients have to show. Others see options: set the variable."),
    ] = None,
    name: Annotated[
        list[str] | None, typer.Option(help="A name that clients call this machine by; may be given again.")
    ] = None,
    origin: Annotated[
        list[str] | None, typer.Option(help="An origin whose pages may call the service; may be given again.")
    ] = None,
    patience: Annotated[float, typer.Option(help="Seconds after which a question that still waits is given up.")] = 10,
    most: Annotated[int, typer.Option(min=1, help="Questions that are answered in one pass, if so many wait.")] = 32,
    room: Annotated[int, typer.Option(min=1, help="Questions that may wait; others are told to come again.")] = 256,
    data: Annotated[str | None, typer.Option(help="Where the run's data is now, if it has moved.")] = None,
    store: Annotated[str | None, typer.Option(help="Where the run's steps are now, if they have moved.")] = None,
) -> None:
    """Serve a run: a page to ask, review and take home, its interface at /openapi.json, OpenRefine at /reconcile.

    What is decided is kept in the folder of the run. End it with Ctrl-C.

    Example: `cear serve runs/mine --port 8000`
    """
    refuse_without_extra()
    given = {"host": host, "port": port, "token": token, "names": name or (), "origins": origin or ()}
    serve_folder(run, given | {"patience": patience, "most": most, "room": room}, data=data, store=store)


def serve_folder(run: Path, given: dict[str, Any], *, data: str | None = None, store: str | None = None) -> None:
    """Serve a run with these settings until it is interrupted."""
    with loading():
        from cear.serving.desk import Desk
        from cear.serving.server import serve as serve_desk
        from cear.serving.settings import ServiceSettings

    settings = ServiceSettings.parse(given, source="`cear serve`")
    errors.print(f"Loading the run in {run} …", markup=False, highlight=False)
    try:
        serve_desk(partial(Desk.open, run, settings, source=data, store=store), settings, tell)
    except KeyboardInterrupt:  # which ends it, and everybody was answered
        errors.print("\nServed.")


def tell(address: str) -> None:
    """Say where the page is."""
    console.print(f"The desk is at {address} until you press Ctrl-C.", markup=False, highlight=False)


def refuse_without_extra() -> None:
    """Say what to install, where it is not."""
    from importlib.util import find_spec

    missing = [package for package in EXTRA if find_spec(package) is None]
    if missing:
        raise ConfigError(f"Serving needs {', '.join(missing)}. Run: pip install 'cear[serve]'.")
