"""Questions: the best answers, how likely facts are, and why."""
# Without postponed annotations: FastAPI reads those of functions inside functions.

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Body, Query, Request
from pydantic import Field, StrictBool, create_model

from cear.core.errors import CearError
from cear.serving.answering import Question
from cear.serving.connection import while_there
from cear.serving.desk import Desk
from cear.serving.models import Answers, AskedFact, JudgedFacts, Named, Shape, Why, failures


def router(desk: Desk) -> APIRouter:
    """`/ask`, `/judge` and `/why`."""
    routes = APIRouter(tags=["questions"], responses=failures(400, 404, 422, 503))
    _add_ask(routes, desk)
    _add_judge(routes, desk)
    _add_why(routes, desk)
    return routes


def _add_ask(routes: APIRouter, desk: Desk) -> None:
    s, r, _ = example(desk)

    @routes.get("/ask")
    async def ask(
        request: Request,
        relation: Annotated[str, _name(desk, r)],
        subject: Annotated[str | None, _name(desk, s)] = None,
        object: Annotated[str | None, _name(desk)] = None,
        k: Annotated[int, Query(ge=1, le=desk.settings.most_answers)] = 10,
        new: bool = False,
    ) -> Answers:
        """The k best answers of ⟨subject, relation, ?⟩ or ⟨?, relation, object⟩, by names or ids.

        Before them, with rank 0, come those that the training facts already say, at most k. `new` leaves out all that
        any split knows.
        """
        question = asked(relation, subject, object, k, new=new)
        answers = await while_there(request, desk.ask(question))
        return Answers.model_validate({"question": named(desk, question), "answers": [asdict(a) for a in answers]})


def _add_judge(routes: APIRouter, desk: Desk) -> None:
    limits, names = desk.settings, Annotated[str, Field(min_length=1, max_length=desk.settings.longest_name)]
    facts = Annotated[list[tuple[names, names, names]], Field(min_length=1, max_length=limits.most_facts)]  # type: ignore[valid-type]
    wanted = create_model("Judging", __base__=Shape, facts=(facts, ...), why=(StrictBool, False))
    wanted.__doc__ = "Facts ⟨subject, relation, object⟩, by names or ids, and whether to say why."
    shown = {"a fact": {"value": {"facts": [example(desk)], "why": False}}}

    @routes.post("/judge")
    async def judge(
        request: Request,
        body: Annotated[wanted, Body(openapi_examples=shown)],
    ) -> JudgedFacts:
        """How likely facts are. An end that nobody knows is taken as a new entity of that name."""
        rows = await while_there(request, desk.judge(body.facts, why=body.why))  # type: ignore[attr-defined]
        return JudgedFacts.model_validate({"judged": [_judged(row) for row in rows]})


def _add_why(routes: APIRouter, desk: Desk) -> None:
    s, r, o = example(desk)

    @routes.get("/why")
    async def why(
        request: Request,
        relation: Annotated[str, _name(desk, r)],
        answer: Annotated[str, _name(desk, o)],
        subject: Annotated[str | None, _name(desk, s)] = None,
        object: Annotated[str | None, _name(desk)] = None,
    ) -> Why:
        """Why an answer stands where it does for a question: rules that fired, similar facts, rivals, inputs."""
        said = await while_there(request, desk.why(asked(relation, subject, object), answer))
        return Why.model_validate({"similar": said.pop("support"), **said})


def example(desk: Desk) -> tuple[str, str, str]:
    """A fact of the knowledge base, by its ids: examples in the document work."""
    kb = desk.run.kb
    s, r, o = kb.facts("valid")[0].tolist()
    return kb.entities.id(s), kb.relations.id(r), kb.entities.id(o)


def asked(relation: str, subject: str | None, object: str | None, k: int = 10, *, new: bool = False) -> Question:
    """The question of a request, which has one end."""
    if (subject is None) == (object is None):
        raise CearError("Ask for one end: give the subject to find objects, or the object to find subjects.")
    return Question(relation, subject, object, k, new)


def named(desk: Desk, question: Question) -> AskedFact:
    """A question with the ids and names that its texts mean."""
    kb = desk.run.kb
    ends = (
        None if end is None else Named.of(kb.entities, desk.find_entity(end))
        for end in (question.subject, question.object)
    )
    subject, object_ = ends
    return AskedFact(
        subject=subject, relation=Named.of(kb.relations, kb.relations.find(question.relation)), object=object_
    )


def _judged(row: dict[str, Any]) -> dict[str, Any]:
    ends = {end: {"id": row[end], "name": row[f"{end}_name"]} for end in ("subject", "relation", "object")}
    return ends | {name: row[name] for name in ("probability", "known", "note", "reasons")}


def _name(desk: Desk, value: str | None = None) -> Any:
    """A name or an id in a request."""
    shown = {} if value is None else {"openapi_examples": {"of a fact": {"value": value}}}
    return Query(min_length=1, max_length=desk.settings.longest_name, **shown)  # type: ignore[arg-type]
