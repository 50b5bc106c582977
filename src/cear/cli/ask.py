"""`cear ask`: the best answers to one question, by name."""

from __future__ import annotations

from dataclasses import asdict, fields, replace
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from cear.cli.console import console, loading
from cear.cli.output import CSV, JSON, instead_of_tables, put_csv, put_json
from cear.core.shown import one_line

if TYPE_CHECKING:
    from cear.data import KnowledgeBase
    from cear.pipeline import Answer

EXPLAINED = 5  # answers whose reasons are told
DESCRIBED = 80  # characters of a description that a table shows
NAMESAKES = 10  # others of a name that an answer is told apart from


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
    store: Annotated[str | None, typer.Option(help="Where the run's steps are now, if they have moved.")] = None,
    why: Annotated[bool, typer.Option("--why", help="Say why the first answers stand where they do.")] = False,
    new_entities: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Entities that the run has never seen, as JSON or YAML.")
    ] = None,
    details: Annotated[
        bool, typer.Option("--details", help="Show ids and descriptions, as where entities share a name.")
    ] = False,
    json: Annotated[Path | None, typer.Option(help=JSON)] = None,
    csv: Annotated[Path | None, typer.Option(help=f"Also write the answers {CSV}")] = None,
) -> None:
    """Ask ⟨SUBJECT, RELATION, ?⟩, or with --object ⟨?, RELATION, OBJECT⟩.

    Examples: `cear ask runs/demo Kenya "official language"`, `cear ask runs/demo Euro currency --object --json -`
    """
    end = {"object": entity} if object else {"subject": entity}
    with instead_of_tables(json, csv), loading():
        from cear.pipeline import Answer, open_run, read_newcomers

        finished = open_run(run, source=data, store=store, int8=int8)
        if new_entities is not None:
            finished = finished.with_entities(read_newcomers(new_entities, finished.kb))
        answers = finished.ask(relation, **end, k=k, new=new)
        ranked = [answer.id for answer in answers if answer.rank][:EXPLAINED] if why else []
        reasons = [each.sentence(finished.kb) for each in finished.why(relation, **end, answers=ranked)]
        apart = from_namesakes(answers, finished.kb)
        described = [replace(answer, description=apart.get(answer.id, answer.description)) for answer in answers]
        console.print(answer_table(spell(relation, **end), described, details=details or bool(apart)))
        for place, reason in enumerate(reasons, start=1):
            console.print(Text(f"{place}. {reason}"))
    told = dict(zip(ranked, reasons, strict=True))
    rows = [asdict(answer) | ({"why": told.get(answer.id)} if why else {}) for answer in answers]
    put_json(json, {"question": ids_of(finished.kb, relation, **end), "answers": rows})
    put_csv(csv, [*(field.name for field in fields(Answer)), *(["why"] if why else [])], rows)


def spell(relation: str, *, subject: str = "?", object: str = "?") -> str:
    """A question as the paper writes it.

    >>> spell("capital of", object="Denmark")
    '⟨?, capital of, Denmark⟩'
    """
    return f"⟨{subject}, {relation}, {object}⟩"


def ids_of(
    kb: KnowledgeBase, relation: str, *, subject: str | None = None, object: str | None = None
) -> dict[str, str | None]:
    """A question by the user's ids; None is what is asked for."""
    ends = [None if name is None else kb.entities.id(kb.entities.find(name)) for name in (subject, object)]
    return {"subject": ends[0], "relation": kb.relations.id(kb.relations.find(relation)), "object": ends[1]}


def from_namesakes(answers: list[Answer], kb: KnowledgeBase) -> dict[str, str]:
    """What tells answers that share their name with other entities from these, by id."""
    from cear.data import told_apart

    apart = {}
    for answer in answers:
        own = kb.entities.by_id[answer.id]
        others = [each for each in kb.entities.named(answer.name) if each != own][:NAMESAKES]
        if others:
            apart[answer.id] = told_apart(kb, [own, *others])[0]
    return apart


def answer_table(question: str, answers: list[Answer], *, details: bool = False) -> Table:
    """What is known, then the others in rank order, with their Stage-1 ranks where re-ranking moved any.

    `details` are the ids, and descriptions where there are any, cut to a line or two.
    """
    table = Table(title=Text(one_line(question)), title_justify="left")  # names are no markup: "[sic]" and ":cat:" stay
    moved = any(answer.rank != answer.stage1_rank for answer in answers)
    likely = any(answer.probability is not None for answer in answers)
    said = "probability" if likely else "score"  # a score says nothing to who has a probability
    about = ["id", *(["description"] if any(answer.description for answer in answers) else [])] if details else []
    for column in ("rank", *(["stage 1"] if moved else []), "answer", *about, said, "known"):
        table.add_column(column, justify="right" if column in ("rank", "stage 1", said) else "left")
    for place, answer in enumerate(answers):
        before = [str(answer.stage1_rank or "")] if moved else []
        value = answer.probability if likely else answer.score
        score = "" if value is None else f"{value:.3f}" if likely else f"{value:.2f}"
        last_known = answer.rank == 0 and place + 1 < len(answers) and answers[place + 1].rank > 0
        told = (Text(one_line(answer.name)), *_about(answer)[: len(about)])
        known = answer.known or "new"
        table.add_row(str(answer.rank or ""), *before, *told, score, known, end_section=last_known)
    return table


def _about(answer: Answer) -> tuple[Text, Text]:
    """The id and the beginning of the description."""
    return Text(one_line(answer.id)), Text(shorten(answer.description or "", DESCRIBED, placeholder=" …"))
