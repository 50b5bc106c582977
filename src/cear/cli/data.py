"""`cear data`: look at a knowledge base before trusting it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from cear.cli.console import console
from cear.cli.output import CSV, JSON, instead_of_tables, put_csv, put_json
from cear.cli.run import COLUMNS
from cear.core.shown import one_line

if TYPE_CHECKING:
    from cear.data import Finding, Findings, Severity

# The gravest first, as a reader wants them: word for one, word for several, style.
SEVERITIES: dict[Severity, tuple[str, str, str]] = {
    "error": ("error", "errors", "bold red"),
    "warning": ("warning", "warnings", "bold yellow"),
    "info": ("remark", "remarks", "bold cyan"),
}

app = typer.Typer(help="Read, check and describe data.", no_args_is_help=True)


@app.callback()
def group() -> None:
    """Look at a knowledge base before trusting it."""


@app.command()
def check(
    source: Annotated[str, typer.Argument(help="A known data set (demo, fb15k-237, olpbench, …) or a path.")],
    skip_bad_lines: Annotated[bool, typer.Option(help="Leave out lines that cannot be read, and count them.")] = False,
    download: Annotated[bool, typer.Option(help="Fetch a known data set that is not on this machine.")] = False,
    variant: Annotated[str, typer.Option(help="Training file of OLPBENCH: thorough, basic or simple.")] = "thorough",
    columns: Annotated[str | None, typer.Option(help=COLUMNS)] = None,
    languages: Annotated[str, typer.Option(help="Of names in RDF, the preferred one first: de,en.")] = "en",
    leave_out: Annotated[
        list[str] | None, typer.Option(help="A predicate of RDF to leave out; may be repeated.")
    ] = None,
    json: Annotated[Path | None, typer.Option(help=JSON)] = None,
    csv: Annotated[Path | None, typer.Option(help=f"Also write the findings {CSV}")] = None,
) -> None:
    """Say what is in a knowledge base and what is wrong with it.

    The exit code is 0 when nothing worse than a warning was found, 1 when there is an error among the
    findings, and 2 when the data could not be read at all.

    Examples: `cear data check my/facts.tsv --skip-bad-lines`, `cear data check my/facts.tsv --json -`,
    `cear data check my/table.csv --columns subject=Kopf,relation=3,object=Ende`
    """
    from cear.data import Finding, check_source, parse_columns

    rules = {"languages": languages.split(","), "leave_out": leave_out or []}
    mapped = None if columns is None else parse_columns(columns)
    options = {"skip_bad_lines": skip_bad_lines, "download": download, "variant": variant}
    with instead_of_tables(json, csv):
        findings = check_source(source, **options, columns=mapped, rdf=rules)
        console.print(findings_page(findings))
    put_json(json, findings.to_json())
    put_csv(csv, [field.name for field in fields(Finding)], map(_row, findings.findings))
    if findings.worst == "error":
        raise typer.Exit(1)


def _row(finding: Finding) -> dict[str, Any]:
    """A finding as a row of CSV, its examples in one cell."""
    return asdict(finding) | {"examples": "; ".join(finding.examples)}


def findings_page(findings: Findings) -> Group:
    """The sizes of a knowledge base, then its findings with the gravest first, then how many there are of each."""
    # Names and paths are the user's and may hold [brackets]: everything of theirs is a Text, never markup.
    return Group(_sizes(findings), *_by_severity(findings), Text(_verdict(findings), style="bold"))


def _sizes(findings: Findings) -> Table:
    title = Text(one_line(findings.data), style="bold")
    if findings.layout is not None:
        title.append(f" (layout: {findings.layout})", style="dim")
    table = Table(title=title, title_justify="left", show_header=False)
    table.add_column("what")
    table.add_column("how many", justify="right")
    for what, number in _rows(findings):
        table.add_row(what, number)
    return table


def _rows(findings: Findings) -> Iterator[tuple[str, str]]:
    yield "entities", f"{findings.entities:,}"
    yield "relations", f"{findings.relations:,}"
    for kind, count in findings.cardinalities.items():
        yield f"  {kind}", f"{count:,}"
    for split, count in findings.facts.items():
        yield f"facts in {split}", f"{count:,}"
    yield "training facts of an entity, median", f"{findings.median_degree:g}"
    yield "digest", findings.digest[:12]


def _by_severity(findings: Findings) -> Iterator[RenderableType]:
    for severity, (_, plural, style) in SEVERITIES.items():
        found = [finding for finding in findings.findings if finding.severity == severity]
        if found:
            yield Text(f"\n{plural.capitalize()}", style=style)
            yield from (part for finding in found for part in _lines(finding))


def _lines(finding: Finding) -> Iterator[RenderableType]:
    """What was found after its topic, and under it the examples."""
    yield _indented(Text.assemble((f"{finding.topic}: ", "bold"), finding.message), 2)
    more = finding.examples and finding.count > len(finding.examples)
    for example in (*finding.examples, *(["…"] if more else [])):
        yield _indented(Text(one_line(example), style="dim"), 4)


def _indented(text: Text, spaces: int) -> Padding:
    return Padding(text, (0, 0, 0, spaces), expand=False)


def _verdict(findings: Findings) -> str:
    """How many findings of each severity there are."""
    counts = dict.fromkeys(SEVERITIES, 0)
    for finding in findings.findings:
        counts[finding.severity] += 1
    told = [_counted(count, *SEVERITIES[severity][:2]) for severity, count in counts.items() if count]
    return f"\nFound {', '.join(told)}." if told else "\nNothing is wrong with it."


def _counted(count: int, one: str, several: str) -> str:
    return f"{count} {one if count == 1 else several}"
