"""Desks and clients for tests of the service."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from typing import Any

import httpx
import pytest

Client = Callable[..., AbstractAsyncContextManager[httpx.AsyncClient]]


@pytest.fixture(scope="session")
def client_of() -> Client:
    """Opens a client of an application in this process, at this address, while the application lives."""

    @asynccontextmanager
    async def client(app: Any, address: str = "http://127.0.0.1:8000", **options: Any) -> AsyncIterator[Any]:
        transport = httpx.ASGITransport(app)
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=transport, base_url=address, **options) as found,
        ):
            yield found

    return client


@pytest.fixture
def desk(people_run: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The desk of a calibrated run of two stages on a knowledge base of people; its decisions are this test's own."""
    from cear.serving.desk import Desk

    monkeypatch.setenv("CEAR_CACHE", str(tmp_path / "cache"))
    return Desk.of(replace(people_run, folder=tmp_path))
