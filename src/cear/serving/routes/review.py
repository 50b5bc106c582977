"""Reviewing: proposals, decisions about them, what to take home, an entity, and what the run is worth."""
# Without postponed annotations: FastAPI reads those of functions inside functions.

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Body, Path, Query, Response, status
from fastapi.responses import JSONResponse

from cear.core.errors import UnknownName
from cear.serving.decisions import AlreadyDecided, Decision, as_line, parse_log
from cear.serving.desk import Desk
from cear.serving.entities import Entities
from cear.serving.models import failures
from cear.serving.reliability import review_summary
from cear.serving.review import Order, Wanted, numbers_of
from cear.serving.review_models import (
    Conflict,
    Deciding,
    EntityPage,
    Imported,
    Proposals,
    ReviewSummary,
    State,
    Trust,
)
from cear.serving.routes.questions import example
from cear.serving.taking_home import ENDINGS, TYPES, Format, accepted_bytes
from cear.serving.trust import TrustOf

LINES = "application/x-ndjson"
MOST = 2**53  # numbers that JSON and SQLite both have

Number = Annotated[int, Query(ge=0, le=MOST)]


def router(desk: Desk) -> APIRouter:
    """`/proposals`, `/decisions`, `/export`, `/entities/{id}` and `/trust`."""
    routes = APIRouter(tags=["review"], responses=failures(400, 422))
    _add_proposals(routes, desk)
    _add_decisions(routes, desk)
    _add_logs(routes, desk)
    _add_views(routes, desk)
    return routes


def _add_proposals(routes: APIRouter, desk: Desk) -> None:
    limits = desk.settings

    @routes.get("/proposals", responses=failures(404))
    def proposals(
        relation: Annotated[str | None, Query(max_length=limits.longest_name)] = None,
        min_probability: Annotated[float, Query(ge=0, le=1)] = 0.0,
        order: Order = "probability",
        state: State | Literal["all"] = "open",
        after: Annotated[int, Query(ge=-1, le=MOST)] = -1,
        offset: Number = 0,
        limit: Annotated[int, Query(ge=1, le=limits.most_rows)] = 50,
    ) -> Proposals:
        """Facts that the run proposes. `after` is the place behind which a page begins: decisions do not move it."""
        return desk.queue.page(Wanted(relation, None, min_probability, order, state, after, offset, limit))


def _add_decisions(routes: APIRouter, desk: Desk) -> None:
    conflict: dict[int | str, dict[str, Any]] = {409: {"model": Conflict, "description": "Somebody was faster."}}
    s, r, o = example(desk)
    shown = {"a fact": {"value": {"subject": s, "relation": r, "object": o, "verdict": "accepted", "who": "ada"}}}

    @routes.post(
        "/decisions",
        status_code=status.HTTP_201_CREATED,
        response_model=Decision,
        responses=failures(404) | conflict,
    )
    def decide(made: Annotated[Deciding, Body(openapi_examples=shown)]) -> Decision | JSONResponse:
        """Keep a decision; it is on disk when this is answered. Sent again with the same `id`, it is kept once."""
        fact = made.subject, made.relation, made.object
        if numbers_of(desk.run.kb, fact) is None:
            raise UnknownName(f"The knowledge base lacks an id of the fact {' '.join(map(repr, fact))}.")
        promised, by = desk.queue.probability(fact), desk.run.folder.name
        decision = Decision(*fact, made.verdict, made.who, made.note, promised, by, id=made.id)
        try:
            return desk.decisions.add(decision, seen=made.seen)
        except AlreadyDecided as told:
            said = Conflict(error=str(told), decision=told.decision)
            return JSONResponse(said.model_dump(mode="json"), status.HTTP_409_CONFLICT)

    @routes.get("/decisions/summary")
    def summary() -> ReviewSummary:
        """How far the review is, and whether the probabilities kept their word so far."""
        return review_summary(desk.queue)


def _add_logs(routes: APIRouter, desk: Desk) -> None:
    @routes.get("/decisions", response_class=Response, responses={200: _file("Decisions, one a line.", LINES)})
    def log(after: Number = 0) -> Response:
        """Every decision in the order they were made, from behind this number on, as JSON lines."""
        lines = "".join(f"{as_line(each)}\n" for each in desk.decisions.log(after=after))
        return Response(lines, media_type=LINES)

    @routes.post("/decisions/import")
    def take_in(
        lines: Annotated[
            bytes, Body(min_length=1, media_type=LINES, description="Decisions as `GET /decisions` gives them.")
        ],
    ) -> Imported:
        """Add the decisions of another log, each once; the last decision about a fact counts."""
        read = parse_log(lines.split(b"\n"), "the log")
        return Imported(added=desk.decisions.merge(read), read=len(read))

    @routes.get("/export", response_class=Response, responses={200: _file("The accepted facts.", *TYPES.values())})
    def export(format: Format = "tsv") -> Response:
        """The accepted facts: a table, N-Triples, RDF 1.2 with who, when, which run and probability, or JSON lines."""
        name = f'attachment; filename="accepted{ENDINGS[format]}"'
        content = accepted_bytes(desk.run, desk.decisions, format)
        return Response(content, media_type=TYPES[format], headers={"Content-Disposition": name})


def _add_views(routes: APIRouter, desk: Desk) -> None:
    entities, worth = Entities(desk.run, desk.queue), TrustOf(desk.run)
    shown = {"an entity": {"value": example(desk)[0]}}

    @routes.get("/entities/{id:path}", responses=failures(404))
    def entity(id: Annotated[str, Path(openapi_examples=shown)]) -> EntityPage:
        """What is known of an entity, what is missing and likely, and what looks wrong."""
        return entities.page(id)

    @routes.get("/trust")
    def trust() -> Trust:
        """The figures of the run with their intervals, as far as they were measured."""
        return worth.get()


def _file(description: str, *kinds: str) -> dict[str, Any]:
    return {"description": description, "content": {kind: {"schema": {"type": "string"}} for kind in kinds}}
