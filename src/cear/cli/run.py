"""`cear run`: train and evaluate what a configuration says."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cear.cli.console import progress_bar, resumable
from cear.cli.evaluate import show
from cear.core.types import Split


def run(
    config: Annotated[Path, typer.Argument(help="A YAML file; the published ones are in configs/.")],
    overrides: Annotated[
        list[str] | None, typer.Argument(help="Settings to change, for example stage1.rank=64 data=my/facts.tsv.")
    ] = None,
    out: Annotated[Path, typer.Option(help="The folder of the run; an interrupted run continues there.")] = Path(
        "runs/latest"
    ),
    reuse: Annotated[
        Path | None, typer.Option(help="A run with the same Stage 1, which is taken over rather than trained again.")
    ] = None,
    minutes: Annotated[
        float | None, typer.Option(min=0, help="Stop training after so many minutes, all saved, with exit code 3.")
    ] = None,
    download: Annotated[bool, typer.Option("--download", help="Fetch a known data set that is not here.")] = False,
    skip_bad_lines: Annotated[
        bool, typer.Option("--skip-bad-lines", help="Leave out lines of the data that cannot be read, and count them.")
    ] = False,
    facts: Annotated[
        int | None, typer.Option(min=1, help="Evaluate on a fixed random sample of so many facts, two queries each.")
    ] = None,
    json: Annotated[Path | None, typer.Option(help="Also write the test record (figures, provenance) here.")] = None,
) -> None:
    """Train every stage, keep the best on validation, and evaluate on test.

    The exit code is 0 when all is done, 2 when something is wrong, 3 when --minutes are over, and 130 after Ctrl-C;
    after the last two, the same command continues to the same result.

    Example: `cear run configs/wn18rr/complex-n3.yaml stage1.epochs=5 --out runs/wn`
    """
    from cear.config import load_config
    from cear.pipeline import run as run_pipeline
    from cear.reports import write_record

    changes = [*(overrides or ()), *(["skip_bad_lines=true"] if skip_bad_lines else [])]
    with resumable():
        settings = load_config(config, changes)
        finished = run_pipeline(settings, out, reuse=reuse, minutes=minutes, download=download, progress=progress_bar)
    split: Split = "test" if len(finished.kb.facts("test")) else "valid"
    evaluation = finished.evaluate(split, facts=facts, progress=progress_bar)
    show(evaluation, finished)
    write_record(json or out / f"{split}.json", finished.record(evaluation), evaluation)
