"""`cear demo`: the whole way on the embedded knowledge base."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cear.cli.ask import answer_table, spell
from cear.cli.complete import proposals_table
from cear.cli.console import console, progress_bar, resumable
from cear.cli.evaluate import show, show_completion, show_cost
from cear.cli.output import STDOUT, instead_of_tables, put_json
from cear.cli.run import RECORD
from cear.cli.serve import refuse_without_extra, serve_folder

# ⟨subject, relation, ?⟩ and ⟨?, relation, object⟩, each with an answer that is a held-out test fact.
QUESTIONS: tuple[dict[str, str], ...] = (
    {"subject": "Munich", "relation": "located in country"},
    {"relation": "capital of", "object": "Denmark"},
    {"relation": "currency", "object": "Swiss Franc"},
    {"subject": "Cardiff", "relation": "located in state or province"},
)

SUREST, LIKELY, PROPOSALS = 8, 0.3, 8  # what is shown of the completion


def demo(
    out: Annotated[Path, typer.Option(help="The folder of the run; it continues there.")] = Path("runs/demo"),
    json: Annotated[Path | None, typer.Option(help=RECORD)] = None,
    serve: Annotated[
        bool, typer.Option("--serve", help="Then serve it: a page to ask, and to review what it proposes.")
    ] = False,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Where --serve listens; 0 takes a free port.")] = 8000,
) -> None:
    """Train on the embedded knowledge base of geography, measure, and answer a few questions. Offline, in minutes."""
    if serve:
        refuse_without_extra()  # now, not after the training
    with instead_of_tables(json):
        _demo(out, json)
    if serve:
        serve_folder(out, {"port": port})


def _demo(out: Path, json: Path | None) -> None:
    from cear.config import load_config
    from cear.pipeline import run
    from cear.reports import write_record
    from cear.serving.proposed import keep_proposals

    with resumable():
        finished = run(load_config("demo"), out, progress=progress_bar)
    kb = finished.kb
    console.print(f"The embedded knowledge base: {kb.n_entities:,} places, languages, currencies; for example")
    for s, r, o in kb.facts("train")[:: len(kb.facts("train")) // 3][:3].tolist():
        console.print(f"  ⟨{kb.entities.name(s)}, {kb.relations.name(r)}, {kb.entities.name(o)}⟩", highlight=False)
    console.print("Both stages are trained. Facts that they have never seen:\n")
    evaluation = finished.evaluate("test", progress=progress_bar)
    show(evaluation, finished)
    completion = show_completion(finished)
    show_cost(finished)
    if json is not None:
        record = finished.record(evaluation, completion=completion)
        put_json(json, record.as_json()) if json == STDOUT else write_record(json, record, evaluation)
    for question in QUESTIONS:
        console.print(answer_table(spell(**question), finished.ask(**question, k=5, new=False)))
    console.print(
        "`train` is a fact that was learned from, `test` one that was held out: nothing has read it. "
        "What stands above a `test` fact is a mistake, or a fact that this knowledge base lacks.",
        markup=False,
    )
    if completion is not None:
        title = "The surest of all proposals. `test` marks a hidden fact, which makes it right:"
        console.print(proposals_table(completion.surest(SUREST, kb), title, most=SUREST))
    keep_proposals(finished, finished.complete(progress=progress_bar))
    made = finished.complete(min_probability=LIKELY, why=True, progress=progress_bar)
    keep_proposals(finished, made)
    title = "New facts, which no split has, by retrievers that have now learned from all splits. Check them:"
    console.print(proposals_table(made.table, title, most=PROPOSALS))
    console.print(made.note, highlight=False)
    console.print(f"Ask your own: [bold]cear ask {out} Hanoi 'capital of' --why[/]", highlight=False)
    console.print(f"All new facts: [bold]cear complete {out} --out new.tsv[/]", highlight=False)
    console.print(f"Review them on a page: [bold]cear serve {out}[/]", highlight=False)
