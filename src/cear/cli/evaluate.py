"""`cear evaluate`: measure a finished run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cear.cli.console import PATIENCE, YES, console, loading, progress_bar
from cear.cli.output import CSV, JSON, STDOUT, instead_of_tables, put_csv, put_json
from cear.core.types import Protocol, Split, TieRule

PROTOCOL = "How ranks are counted in an open knowledge base: care ranks clusters of mentions, as CaRe does."
FIGURES = ("stage", "side", "measure", "value", "low", "high")

if TYPE_CHECKING:
    import polars as pl

    from cear.data import KnowledgeBase
    from cear.evaluation import Evaluation
    from cear.pipeline import CompletionEvaluation, Run


def evaluate(
    run: Annotated[Path, typer.Argument(help="The folder of a finished run.")],
    split: Annotated[Split, typer.Option(help="Which facts to ask for.")] = "test",
    ties: Annotated[TieRule, typer.Option(help="The rank of a gold that ties with others.")] = "expected",
    protocol: Annotated[Protocol, typer.Option(help=PROTOCOL)] = "ours",
    facts: Annotated[
        int | None, typer.Option(min=1, help="Ask only for a fixed random sample of so many facts, two queries each.")
    ] = None,
    json: Annotated[Path | None, typer.Option(help=f"{JSON} Beside a file go the ranks of all queries.")] = None,
    csv: Annotated[Path | None, typer.Option(help=f"Also write the measures {CSV}")] = None,
    per_relation: Annotated[
        Path | None, typer.Option(help=f"Also write the figures of each relation and side {CSV}")
    ] = None,
    predictions: Annotated[
        Path | None,
        typer.Option(help="Also write the ranked candidates of every query to this file: .csv, .tsv or .parquet."),
    ] = None,
    k: Annotated[int, typer.Option(min=1, help="How many candidates of each query --predictions writes.")] = 100,
    int8: Annotated[bool, typer.Option("--int8", help="Re-rank with 8-bit weights: faster, and a little off.")] = False,
    data: Annotated[str | None, typer.Option(help="Where the run's data is now, if it has moved.")] = None,
    store: Annotated[str | None, typer.Option(help="Where the run's steps are now, if they have moved.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help=YES)] = False,
) -> None:
    """Rank every query of a split, filtered, and print the measures with 95 % intervals.

    Examples: `cear evaluate runs/wn --split test --json wn.json`, `cear evaluate runs/wn --per-relation -`
    """
    with loading():
        from cear.pipeline import open_run, refuse_predictions, write_predictions
        from cear.reports import write_record

    if predictions is not None:
        refuse_predictions(predictions)
    limit = None if yes else PATIENCE
    with instead_of_tables(json, csv, per_relation):
        finished = open_run(run, source=data, store=store, int8=int8, ranking_minutes=limit)
        evaluation = finished.evaluate(split, ties=ties, protocol=protocol, facts=facts, progress=progress_bar)
        show(evaluation, finished)
        completion = show_completion(finished) if split == "test" else None
    if json is not None:
        record = finished.record(evaluation, facts=facts, completion=completion)
        put_json(json, record.as_json()) if json == STDOUT else write_record(json, record, evaluation)
    put_csv(csv, FIGURES, figures(evaluation))
    if per_relation is not None:
        relations = relation_figures(evaluation, finished.kb)
        put_csv(per_relation, relations.columns, relations.iter_rows(named=True))
    if predictions is not None:
        write_predictions(predictions, finished, evaluation.queries, k, progress=progress_bar)


def figures(evaluation: Evaluation) -> Iterator[dict[str, Any]]:
    """Each measure of each stage and side with its 95 % interval."""
    for stage, each in enumerate((evaluation.before, evaluation) if evaluation.before else (evaluation,), start=1):
        intervals = each.intervals()
        for side, values in each.summary().items():
            for measure, value in values.items():
                row = (stage, side, measure, value, *intervals[side][measure])
                yield dict(zip(FIGURES, row, strict=True))


def relation_figures(evaluation: Evaluation, kb: KnowledgeBase) -> pl.DataFrame:
    """The figures of each relation and side, by the user's ids and names."""
    from cear.evaluation import by_relation

    figures = by_relation(evaluation)
    ids = kb.relations.table["id"].gather(figures["relation"])
    return figures.with_columns(relation=ids)


def show_completion(finished: Run) -> CompletionEvaluation | None:
    """Print what became of the proposals of a calibrated run, and whether its probabilities hold."""
    from cear.reports import calibration_line, completion_table

    if not finished.calibrated:
        return None
    measured = finished.evaluate_completion()
    console.print(completion_table(measured.proposed, measured.baselines))
    console.print(calibration_line(measured.calibration), highlight=False)
    return measured


def show(evaluation: Evaluation, finished: Run) -> None:
    """Print the measures, and what re-ranking changed where there is a second stage."""
    from cear.reports import evaluation_table, reranking_table

    console.print(evaluation_table(evaluation))
    if evaluation.before is not None:
        console.print(reranking_table(evaluation.before, evaluation, k=finished.config.candidates.k))
    shortened = 0.0 if finished.config.reranker is None else finished.plan.reranker_training()["shortened"]
    if shortened:
        share = f"{shortened:.1%} of the training lists"
        console.print(f"In {share} names were cut further than configured, to fit the encoder's positions.")


def show_cost(finished: Run) -> None:
    """Print what the run cost: each step, reused or made, and their sum."""
    reports = finished.steps()
    made, seconds = sum(not each.reused for each in reports), sum(each.spent.seconds for each in reports)
    console.print(
        f"{len(reports)} steps, {made} of them made now, {len(reports) - made} reused; all together they took "
        f"{seconds:,.0f} s of wall clock, {sum(each.spent.cpu_seconds for each in reports):,.0f} s of CPU.",
        highlight=False,
    )
    if reused := [each.name for each in reports if each.reused]:
        console.print(f"reused: {'; '.join(reused)}", highlight=False, markup=False)
