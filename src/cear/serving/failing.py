"""What went wrong, as an answer: a sentence and a status, never a trace or a path."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.routing import compile_path

from cear.core.errors import AmbiguousName, CearError, ConfigError, DataError, OutOfTime, UnknownName
from cear.core.shown import shown
from cear.serving.batching import Busy
from cear.serving.jobs import OneAtATime
from cear.serving.security import WHOLE

log = logging.getLogger("cear.serving")

STATUS: dict[type[CearError], int] = {
    UnknownName: 404,
    AmbiguousName: 400,
    ConfigError: 400,
    DataError: 400,
    OneAtATime: 409,
    OutOfTime: 503,
    Busy: 503,
    CearError: 400,
}
"""Errors that a client can act on. Others, as of a disk, are the operator's, and name files."""
PLAIN = {"Not Found": "There is nothing at this address.", "Method Not Allowed": "That is no method of this address."}
LOADING = "The run is being loaded. Come again in a moment."
LONGEST = 2_000  # characters of a sentence


def tell_failures(app: FastAPI) -> None:
    """Let the application answer errors in one form: `{"error": sentence}`."""

    @app.exception_handler(CearError)
    async def ours(request: Request, error: CearError) -> JSONResponse:
        status = STATUS.get(type(error))
        if status is None or _names_a_place(str(error), request):
            log.error("A request failed.", exc_info=error)
            return failure(500, WHOLE)
        headers = {"Retry-After": str(getattr(error, "seconds", 1))} if status == 503 else None
        return failure(status, str(error), headers)

    @app.exception_handler(HTTPException)
    async def of_http(request: Request, error: HTTPException) -> JSONResponse:
        if error.status_code == 404 and request.app.state.desk is None:  # what will be there when it is loaded
            return failure(503, LOADING, {"Retry-After": "1"})
        headers = {"Allow": _methods(request)} if error.status_code == 405 else error.headers
        return failure(error.status_code, PLAIN.get(error.detail, error.detail), headers)

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        parts = [f"{'.'.join(map(str, each['loc'][1:])) or 'the body'}: {each['msg']}" for each in error.errors()]
        return failure(422, "; ".join(parts))


def failure(status: int, sentence: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """An answer that says what went wrong."""
    return JSONResponse({"error": shown(sentence)[:LONGEST]}, status, headers)


def _methods(request: Request) -> str:
    """The methods of an address; each is a route of its own, and none knows of the others."""
    paths = request.app.openapi()["paths"].items()
    found = [method for path, known in paths if compile_path(path)[0].match(request.url.path) for method in known]
    return ", ".join(method.upper() for method in found) or "GET"


def _names_a_place(sentence: str, request: Request) -> bool:
    """Whether a sentence tells where something is on this machine."""
    return any(place in sentence for place in request.app.state.places)
