"""The reconciliation protocol 0.2 over HTTP; what it answers is made in `cear.serving.reconciling`.

JSONP, which the protocol lets a service offer to old clients, is not offered: it lets every page that somebody has
open in her browser read the knowledge base. Pages of named origins read it by CORS instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, TypeVar
from urllib.parse import parse_qs

from fastapi import APIRouter, Depends, HTTPException, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import HTMLResponse, Response
from pydantic import TypeAdapter, ValidationError

from cear.core.files import parse_json
from cear.serving.desk import Desk
from cear.serving.models import failures
from cear.serving.reconciling import previews
from cear.serving.reconciling.extending import Extender
from cear.serving.reconciling.manifest import manifest
from cear.serving.reconciling.matching import Matcher
from cear.serving.reconciling.messages import BATCH, EXTENSION, Batch
from cear.serving.reconciling.openapi import FORM, PARAMETERS, told_in_json
from cear.serving.reconciling.properties import Properties, Property, alike, types_by_use

T = TypeVar("T")

Prefix = Annotated[str, Query(max_length=500, description="What is typed of a name.")]
Cursor = Annotated[int, Query(ge=0, le=500, description="How many to leave out.")]
Limit = Annotated[int, Query(ge=1, le=500, description="How many at most.")]

PREFIX = "/reconcile"
SUGGESTED = 10  # names for each keystroke
STYLE = f"{PREFIX}/preview.css"


def _no_jsonp(callback: Annotated[str | None, Query(include_in_schema=False)] = None) -> None:
    if callback is not None:
        raise HTTPException(400, "JSONP is not offered, for any page could read what it returns. Use CORS: --origin.")


def router(desk: Desk) -> APIRouter:
    """`/reconcile` and all that its manifest names."""
    routes = APIRouter(prefix=PREFIX, tags=["reconciliation"], dependencies=[Depends(_no_jsonp)])
    properties = Properties(desk.run.kb)
    _add_service(routes, desk, properties)
    _add_suggest(routes, desk, properties)
    _add_flyouts(routes, desk, properties)
    _add_preview(routes, desk)
    return routes


def _add_service(routes: APIRouter, desk: Desk, properties: Properties) -> None:
    kb, limits = desk.run.kb, desk.settings
    matcher = Matcher(kb, desk.names, properties, limits.most_rows)
    extender = Extender(desk, properties)

    async def answer(request: Request, fields: Mapping[str, str]) -> dict[str, Any]:
        queries, extend = _field(BATCH, "queries", fields), _field(EXTENSION, "extend", fields)
        if extend is not None:
            return await extender.extended(extend)
        if queries is None:
            return manifest(kb, _base(request), token=limits.token is not None)
        if len(queries) > limits.most_rows:
            raise HTTPException(413, f"{len(queries):,} queries are too many: send {limits.most_rows:,} at once.")
        return await run_in_threadpool(_results, matcher, queries)

    @routes.get("", responses=failures(400, 413, 422, 503), openapi_extra=PARAMETERS)
    async def service(request: Request) -> dict[str, Any]:
        """The manifest; with `queries` the candidates of each, with `extend` values of properties."""
        return await answer(request, request.query_params)

    @routes.post("", responses=failures(400, 413, 422, 503), openapi_extra=FORM)
    async def posted(request: Request) -> dict[str, Any]:
        """The same for a form with the field `queries` or `extend`; it changes nothing."""
        return await answer(request, await _form(request))


def _results(matcher: Matcher, queries: Batch) -> dict[str, Any]:
    """The candidates of each query, under its key."""
    found = {key: matcher.candidates(query) for key, query in queries.items()}
    return {key: {"result": [each.model_dump(exclude_none=True) for each in found[key]]} for key in found}


def _add_suggest(routes: APIRouter, desk: Desk, properties: Properties) -> None:
    kb = desk.run.kb

    @routes.get("/suggest/entity", responses=failures(422))
    def suggest_entity(prefix: Prefix, cursor: Cursor = 0, limit: Limit = SUGGESTED) -> dict[str, Any]:
        """The entities that somebody may be typing the name of."""
        hits = desk.names.search(prefix, cursor + limit)[cursor:]
        return {"result": [_suggested(desk, hit.id, hit.name) for hit in hits]}

    @routes.get("/suggest/property", responses=failures(422))
    def suggest_property(prefix: Prefix, cursor: Cursor = 0, limit: Limit = SUGGESTED) -> dict[str, Any]:
        """The properties that somebody may be typing the name of."""
        return {"result": _shown(properties.suggested(prefix)[cursor : cursor + limit])}

    @routes.get("/suggest/type", responses=failures(422))
    def suggest_type(prefix: Prefix, cursor: Cursor = 0, limit: Limit = SUGGESTED) -> dict[str, Any]:
        """The types that somebody may be typing the name of."""
        types = types_by_use(kb)
        chosen = alike(prefix, types)[cursor : cursor + limit]
        return {"result": [{"id": types[which], "name": types[which]} for which in chosen]}

    @routes.get("/properties", responses=failures(422))
    def propose(type: str | None = None, limit: Limit = 100) -> dict[str, Any]:
        """The properties that entities of a type have, or any entity: columns to add."""
        kind = {} if type is None else {"type": type}
        return {"properties": _shown(properties.of_type(type)[:limit]), "limit": limit, **kind}


def _suggested(desk: Desk, id_: str, name: str) -> dict[str, Any]:
    kb = desk.run.kb
    entity = kb.entities.by_id[id_]
    types = [] if kb.types is None else [{"id": kind, "name": kind} for kind in kb.types.of(entity)]
    description = kb.entities.description(entity)
    about = {} if description is None else {"description": description}
    return {"id": id_, "name": name, "notable": types, **about}


def _shown(properties: Sequence[Property]) -> list[dict[str, str]]:
    return [{"id": each.id, "name": each.name} for each in properties]


def _add_flyouts(routes: APIRouter, desk: Desk, properties: Properties) -> None:
    kb = desk.run.kb

    @routes.get("/flyout/entity", responses=failures(404, 422))
    def entity_flyout(id: str) -> dict[str, str]:
        """A little HTML that tells an entity from others."""
        return {"id": id, "html": previews.entity_flyout(kb, id)}

    @routes.get("/flyout/property", responses=failures(404, 422))
    def property_flyout(id: str) -> dict[str, str]:
        """A little HTML that says what a property is."""
        return {"id": id, "html": previews.property_flyout(properties, id)}

    @routes.get("/flyout/type", responses=failures(404, 422))
    def type_flyout(id: str) -> dict[str, str]:
        """A little HTML that says what a type is."""
        return {"id": id, "html": previews.type_flyout(kb, id)}


def _add_preview(routes: APIRouter, desk: Desk) -> None:
    framed = " ".join(["'self'", *desk.settings.origins])
    policy = f"default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors {framed}"

    @routes.get("/preview", response_class=HTMLResponse, responses=told_in_json(404, 422))
    def preview(request: Request, id: str) -> HTMLResponse:
        """A page about an entity, for a frame in a client of a named origin."""
        page = previews.preview(desk.run.kb, id, f"{_base(request)}{STYLE}")
        return HTMLResponse(page, headers={"Content-Security-Policy": policy})

    @routes.get("/preview.css", response_class=Response, include_in_schema=False)
    def style() -> Response:
        """How a preview looks."""
        return Response(previews.STYLE, media_type="text/css")


def _base(request: Request) -> str:
    """The address of the service as the client knows it; its Host header was checked."""
    return str(request.base_url).rstrip("/")


async def _form(request: Request) -> dict[str, str]:
    """The fields of a form. Ours are plain, so that there is no need for a library."""
    try:
        text = (await request.body()).decode()
        fields = parse_qs(text, keep_blank_values=True, errors="strict")
    except ValueError:
        raise HTTPException(400, "The body is no form: send queries=… or extend=…, URL-encoded as UTF-8.") from None
    if "callback" in fields:
        _no_jsonp(fields["callback"][0])
    return {name: values[-1] for name, values in fields.items()}


def _field(kind: TypeAdapter[T], name: str, fields: Mapping[str, str]) -> T | None:
    """What a field says; None where there is none."""
    if name not in fields:
        return None
    try:
        return kind.validate_python(parse_json(fields[name]))
    except ValidationError as error:
        said = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors()[:5])
        raise HTTPException(422, f"`{name}` is not what the protocol says: {said}.") from None
    except ValueError as error:
        raise HTTPException(422, f"`{name}` is no JSON: {error}.") from None
