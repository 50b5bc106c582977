"""Work for a client that may leave before it is done."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from fastapi import HTTPException, Request

A = TypeVar("A")

GONE = 499  # as nginx has it: nobody is there to read it


async def while_there(request: Request, work: Coroutine[Any, Any, A]) -> A:
    """What the work gives; it is given up when the client leaves, and is then not computed if it still waits."""
    working, leaving = asyncio.ensure_future(work), asyncio.ensure_future(_gone(request))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise HTTPException(GONE, "The client has left.")
        return working.result()
    finally:
        working.cancel()
        leaving.cancel()


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
