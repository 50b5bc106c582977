"""`cear compare`: two records, query by query."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cear.cli.console import console
from cear.cli.output import JSON, instead_of_tables, put_json


def compare(
    first: Annotated[Path, typer.Argument(help="A record (JSON), its file of ranks, or the folder of a run.")],
    second: Annotated[Path, typer.Argument(help="Another one, of the same queries.")],
    relations: Annotated[int, typer.Option(min=0, help="Show so many relations, those that changed most first.")] = 10,
    json: Annotated[Path | None, typer.Option(help=JSON)] = None,
) -> None:
    """Say whether the second system is better than the first, and where.

    MRR and Hits@1 with their paired difference, its 95 % interval and p-value: on all queries, and by side,
    cardinality, inverse and relation. Neither model nor data are needed, only the ranks that stand beside a record.

    Example: `cear compare results/wn18rr/complex-n3.json results/wn18rr/wide.json`
    """
    from cear.reports import compare_groups, comparison_table, open_ranks

    found = compare_groups(open_ranks(first), open_ranks(second), relations=relations)
    with instead_of_tables(json):
        console.print(comparison_table(found, str(first), str(second)))
    put_json(json, {"first": str(first), "second": str(second), **found.as_json()})
