"""`cear demo`: the whole way on the embedded knowledge base."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cear.cli.ask import answer_table
from cear.cli.console import console, progress_bar

# ⟨subject, relation, ?⟩ and ⟨?, relation, object⟩; most of their answers are held-out test facts.
QUESTIONS: tuple[dict[str, str], ...] = (
    {"subject": "Munich", "relation": "located in country"},
    {"relation": "capital of", "object": "Denmark"},
    {"relation": "currency", "object": "Swiss Franc"},
    {"subject": "Cardiff", "relation": "located in state or province"},
)


def demo(
    out: Annotated[Path, typer.Option(help="The folder of the run; it continues there.")] = Path("runs/demo"),
) -> None:
    """Train on the embedded knowledge base of geography, measure, and answer a few questions. Offline, in minutes."""
    from cear.config import RunConfig
    from cear.demo import DEMO_CONFIG
    from cear.pipeline import run
    from cear.reports import evaluation_table

    finished = run(DEMO_CONFIG, out, progress=progress_bar)
    console.print(f"[bold]{finished.kb}[/]")
    console.print(evaluation_table(finished.evaluate("test", progress=progress_bar)))
    for question in QUESTIONS:
        console.print(answer_table(finished.ask(**question, k=5)))
    console.print(f"Ask your own: [bold]cear ask {out} Kenya currency[/]")
