"""`cear ask`: the best answers to one question, by name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from cear.cli.console import console, loading

if TYPE_CHECKING:
    from cear.pipeline import Answer

EXPLAINED = 5  # answers whose reasons are told


def ask(
    run: Annotated[Path, typer.Argument(help="The folder of a finished run.")],
    entity: Annotated[str, typer.Argument(metavar="SUBJECT", help="A name or id: the subject of the facts to find.")],
    relation: Annotated[str, typer.Argument(help="A name or id of a relation.")],
    object: Annotated[
        bool, typer.Option("--object", help="The entity is the object: find subjects, ⟨?, relation, entity⟩.")
    ] = False,
    k: Annotated[int, typer.Option(min=1, help="How many answers.")] = 10,
    new: Annotated[bool, typer.Option("--new", help="Leave out what the knowledge base already says.")] = False,
    int8: Annotated[bool, typer.Option("--int8", help="Re-rank with 8-bit weights: faster, and a little off.")] = False,
    data: Annotated[str | None, typer.Option(help="Where the run's data is now, if it has moved.")] = None,
    store: Annotated[Path | None, typer.Option(help="Where the run's steps are now, if they have moved.")] = None,
    why: Annotated[bool, typer.Option("--why", help="Say why the first answers stand where they do.")] = False,
    new_entities: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Entities that the run has never seen, as JSON or YAML.")
    ] = None,
) -> None:
    """Ask ⟨SUBJECT, RELATION, ?⟩, or with --object ⟨?, RELATION, OBJECT⟩.

    Examples: `cear ask runs/demo Kenya "official language"`, `cear ask runs/demo Euro currency --object`
    """
    end = {"object": entity} if object else {"subject": entity}
    with loading():
        from cear.pipeline import open_run, read_newcomers

        finished = open_run(run, source=data, store=store, int8=int8)
        if new_entities is not None:
            finished = finished.with_entities(read_newcomers(new_entities, finished.kb))
        answers = finished.ask(relation, **end, k=k, new=new)
        ranked = [answer.id for answer in answers if answer.rank][:EXPLAINED] if why else []
        reasons = finished.why(relation, **end, answers=ranked)
    console.print(answer_table(spell(relation, **end), answers))
    for place, each in enumerate(reasons, start=1):
        console.print(Text(f"{place}. {each.sentence(finished.kb)}"))


def spell(relation: str, *, subject: str = "?", object: str = "?") -> str:
    """A question as the paper writes it.

    >>> spell("capital of", object="Denmark")
    '⟨?, capital of, Denmark⟩'
    """
    return f"⟨{subject}, {relation}, {object}⟩"


def answer_table(question: str, answers: list[Answer]) -> Table:
    """What is known, then the others in rank order, with their Stage-1 ranks where re-ranking moved any."""
    table = Table(title=Text(question), title_justify="left")  # names are not markup: "[sic]" and ":cat:" stay
    moved = any(answer.rank != answer.stage1_rank for answer in answers)
    likely = any(answer.probability is not None for answer in answers)
    said = "probability" if likely else "score"  # a score says nothing to who has a probability
    for column in ("rank", *(["stage 1"] if moved else []), "answer", said, "known"):
        table.add_column(column, justify="left" if column in ("answer", "known") else "right")
    for place, answer in enumerate(answers):
        before = [str(answer.stage1_rank or "")] if moved else []
        value = answer.probability if likely else answer.score
        score = "" if value is None else f"{value:.3f}" if likely else f"{value:.2f}"
        last_known = answer.rank == 0 and place + 1 < len(answers) and answers[place + 1].rank > 0
        known = answer.known or "new"
        table.add_row(str(answer.rank or ""), *before, Text(answer.name), score, known, end_section=last_known)
    return table
