"""`cear run`: train and evaluate what a configuration says."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from cear.cli.console import PATIENCE, YES, console, progress_bar, resumable
from cear.cli.elsewhere import ON, elsewhere
from cear.cli.evaluate import PROTOCOL, show, show_completion, show_cost
from cear.cli.output import INSTEAD, STDOUT, instead_of_tables, put_json
from cear.core.types import Protocol, Split

if TYPE_CHECKING:
    from cear.config import RunConfig
    from cear.pipeline import Elsewhere, Run
    from cear.reports import Record

P = TypeVar("P", Path, Path | None)
RECORD = f"Also write the test record (figures, provenance) here; {INSTEAD}"
TOGETHER = "So many processes train each re-ranker together; needs --on."
STORE = (
    "Where steps are kept, to be reused by any run: a folder, or an address that machines share, such as "
    "s3://bucket/steps; default: your cache for a known data set."
)
COLUMNS = "Columns of a file of facts, by name or number: subject=Head,relation=3,object=Tail."


def run(
    config: Annotated[str, typer.Argument(help="A YAML file, or the name of one that comes with cear: own, demo.")],
    overrides: Annotated[
        list[str] | None, typer.Argument(help="Settings to change, for example stage1.rank=64 data=my/facts.tsv.")
    ] = None,
    out: Annotated[Path, typer.Option(help="The folder of the run; an interrupted run continues there.")] = Path(
        "runs/latest"
    ),
    store: Annotated[
        str | None,
        typer.Option(help=STORE),
    ] = None,
    minutes: Annotated[
        float | None, typer.Option(min=0, help="Stop training after so many minutes, all saved, with exit code 3.")
    ] = None,
    download: Annotated[bool, typer.Option("--download", help="Fetch a known data set that is not here.")] = False,
    skip_bad_lines: Annotated[
        bool, typer.Option("--skip-bad-lines", help="Leave out lines of the data that cannot be read, and count them.")
    ] = False,
    columns: Annotated[str | None, typer.Option(help=COLUMNS)] = None,
    facts: Annotated[
        int | None, typer.Option(min=1, help="Evaluate on a fixed random sample of so many facts, two queries each.")
    ] = None,
    protocol: Annotated[Protocol, typer.Option(help=PROTOCOL)] = "ours",
    json: Annotated[Path | None, typer.Option(help=RECORD)] = None,
    on: Annotated[str | None, typer.Option(envvar="CEAR_ON", help=ON)] = None,
    data_parallel: Annotated[int, typer.Option(min=1, help=TOGETHER)] = 1,
    yes: Annotated[bool, typer.Option("--yes", help=YES)] = False,
) -> None:
    """Train every stage, keep the best on validation, and evaluate on test.

    The exit code is 0 when all is done, 2 when something is wrong, 3 when --minutes are over, and 130 after Ctrl-C;
    after the last two, the same command continues to the same result.

    Examples: `cear run own data=my/facts.tsv --out runs/mine`, `cear run mine.yaml stage1.epochs=5 --out runs/short`
    """
    from cear.config import load_config
    from cear.data import columns_override

    changes = [*(overrides or ()), *(["skip_bad_lines=true"] if skip_bad_lines else [])]
    if columns is not None:
        changes.append(columns_override(columns))
    settings, made_on = load_config(config, changes), elsewhere(on, data_parallel)
    records, file = [], None if json == STDOUT else json
    with instead_of_tables(json):
        for seed in settings.seeds:
            one, place = settings.model_copy(update={"seed": seed}), _place(out, seed, settings.seeds)
            with resumable():
                finished = train(one, place, store=store, minutes=minutes, download=download, on=made_on, yes=yes)
                records.append(measure(finished, facts, _place(file, seed, settings.seeds), protocol))
        show_spread(records)
    if json == STDOUT:
        values = [record.as_json() for record in records]
        put_json(json, values if len(values) > 1 else values[0])


def show_spread(records: list[Record]) -> None:
    """Print mean and spread where there are several seeds."""
    from cear.reports import seeds_table

    if len(records) > 1:
        console.print(seeds_table(records))


def train(
    config: RunConfig,
    out: Path,
    *,
    store: str | None,
    minutes: float | None,
    download: bool,
    on: Elsewhere | None = None,
    yes: bool = False,
) -> Run:
    """The finished run of a configuration with one seed."""
    from cear.pipeline import run as run_pipeline

    limits = {"minutes": minutes, "ranking_minutes": None if yes else PATIENCE}
    return run_pipeline(config, out, store=store, download=download, on=on, progress=progress_bar, **limits)


def measure(finished: Run, facts: int | None, json: Path | None, protocol: Protocol = "ours") -> Record:
    """Evaluate a run on test, or on valid where there is no test; show it, and write its record."""
    from cear.reports import write_record

    split: Split = "test" if len(finished.kb.facts("test")) else "valid"
    evaluation = finished.evaluate(split, protocol=protocol, facts=facts, progress=progress_bar)
    show(evaluation, finished)
    completion = show_completion(finished) if split == "test" else None
    show_cost(finished)
    record = finished.record(evaluation, facts=facts, completion=completion)
    name = split if protocol == "ours" else f"{split}-{protocol}"  # beside the record that a run is compared by
    write_record(json or finished.folder / f"{name}.json", record, evaluation)
    return record


def _place(path: P, seed: int, seeds: list[int]) -> P:
    """Where the run or the record of a seed is kept: in the place itself, or of several seeds beside it."""
    if path is None or len(seeds) == 1:
        return path
    stem, suffix = (path.stem, ".json") if path.suffix == ".json" else (path.name, "")
    return path.with_name(f"{stem}-seed{seed}{suffix}")
