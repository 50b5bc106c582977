"""The service as an application, for any server that speaks ASGI."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from fastapi import FastAPI
from starlette.middleware.cors import CORSMiddleware

from cear import __version__
from cear.serving.desk import Desk
from cear.serving.failing import tell_failures
from cear.serving.metrics import Counted, Metrics
from cear.serving.routes import health, jobs, names, page, questions, reconcile, review
from cear.serving.security import CHANGES, Guard
from cear.serving.settings import ServiceSettings

log = logging.getLogger("cear.serving")

ABOUT = (
    "Completes a knowledge base: questions, how likely facts are and why, proposals and what people decide about them. "
    f"Requests that change something need the header `{CHANGES}: 1`."
)


@dataclass(frozen=True)
class Host:
    """Whoever runs the application."""

    ready: Callable[[], None] = lambda: None
    """Called when questions can be answered."""
    failed: Callable[[Exception], None] = lambda error: log.error("The run cannot be served.", exc_info=error)
    """Called with what kept a desk from being opened."""
    stopping: Callable[[], bool] = lambda: False
    """Whether it waits for requests to end: those without an end have to."""


def create_app(
    desk: Desk | Callable[[], Desk], settings: ServiceSettings | None = None, host: Host | None = None
) -> FastAPI:
    """The application over a desk, or over one that is opened while the application starts."""
    settings = settings or (desk.settings if isinstance(desk, Desk) else ServiceSettings())
    metrics = Metrics()

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        opening = None if isinstance(desk, Desk) else asyncio.create_task(_open(app, desk, metrics))
        yield
        if opening is not None:
            opening.cancel()
        if app.state.desk is not None:
            await app.state.desk.close()

    app = FastAPI(title="cear", description=ABOUT, version=__version__, lifespan=life, docs_url=None, redoc_url=None)
    app.state.desk, app.state.places, app.state.host = None, (), host or Host()
    tell_failures(app)
    app.include_router(health.router(metrics))
    app.include_router(page.router)
    _guard(app, settings, metrics)
    if isinstance(desk, Desk):
        _furnish(app, desk, metrics)
    return app


def _guard(app: FastAPI, settings: ServiceSettings, metrics: Metrics) -> None:
    """Put before the application what looks at every request; the last one is the first to look."""
    app.add_middleware(Guard, settings=settings)
    if settings.origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=settings.origins,
            allow_methods=("GET", "POST", "DELETE"),
            allow_headers=("Authorization", "Content-Type", CHANGES),
        )
    app.add_middleware(Counted, metrics=metrics)


async def _open(app: FastAPI, opener: Callable[[], Desk], metrics: Metrics) -> None:
    """Open the desk beside the loop, so that the process can say meanwhile that it lives."""
    try:
        _furnish(app, await asyncio.to_thread(opener), metrics)
    except Exception as error:
        app.state.host.failed(error)
    else:
        app.state.host.ready()


def _furnish(app: FastAPI, desk: Desk, metrics: Metrics) -> None:
    """Open the doors that need a desk."""
    for room in (questions, names, review, jobs, reconcile):
        app.include_router(room.router(desk))
    metrics.watch(desk)
    app.state.desk, app.openapi_schema = desk, None
    app.state.places = (str(desk.run.folder.resolve()), str(desk.run.plan.store.folder.resolve()))
