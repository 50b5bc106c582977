"""Completing: a job in the background, watched as server-sent events."""
# Without postponed annotations: FastAPI reads those of functions inside functions.

import asyncio
from collections.abc import AsyncIterator
from dataclasses import asdict
from time import monotonic

from fastapi import APIRouter, HTTPException, Request, Response
from fastapi.responses import StreamingResponse

from cear.serving.desk import Desk
from cear.serving.jobs import Job, Wanted
from cear.serving.models import Completing, JobShape, Responses, failures

EVERY = 0.25  # seconds between two looks at a job
BEAT = 15.0  # seconds after which a watcher hears something in any case: proxies end what is silent
WATCHERS = 32  # of jobs at the same time
EVENTS: Responses = {200: {"description": "What changes, until it ends.", "content": {"text/event-stream": {}}}}


def router(desk: Desk) -> APIRouter:
    """`/complete`."""
    routes = APIRouter(tags=["completing"], responses=failures(400, 422))
    watchers = asyncio.Semaphore(WATCHERS)

    @routes.post("/complete", status_code=202, responses=failures(404, 409))
    async def complete(wanted: Completing, response: Response) -> JobShape:
        """Look for facts that are missing, in the background; what is found is put into the review queue."""
        relations = None if wanted.relations is None else tuple(wanted.relations)
        job = desk.jobs.start(Wanted(relations, wanted.budget, wanted.min_probability))
        response.headers["Location"] = f"/complete/{job.id}"
        return shape(job)

    @routes.get("/complete/{job}", responses=failures(404))
    async def state(job: str) -> JobShape:
        """How far a job is."""
        return shape(desk.jobs.get(job))

    @routes.delete("/complete/{job}", responses=failures(404))
    async def cancel(job: str) -> JobShape:
        """End a job; what it has kept is not asked again by the next one."""
        return shape(desk.jobs.cancel(job))

    @routes.get("/complete/{job}/events", response_class=Response, responses=failures(404, 503) | EVENTS)
    async def events(job: str, request: Request) -> StreamingResponse:
        """The same as server-sent events, whenever it changes, until the job ends."""
        desk.jobs.get(job)
        if watchers.locked():
            raise HTTPException(503, f"{WATCHERS} clients watch already.", {"Retry-After": "5"})
        return StreamingResponse(_watched(desk, job, request, watchers), media_type="text/event-stream")

    return routes


async def _watched(desk: Desk, job: str, request: Request, watchers: asyncio.Semaphore) -> AsyncIterator[str]:
    seen, said = None, monotonic()
    async with watchers:
        while (now := desk.jobs.get(job)) and not request.app.state.host.stopping():
            if now != seen:
                yield event(now)
                seen, said = now, monotonic()
            if now.state != "running":
                return
            if monotonic() - said > BEAT:
                yield ": still here\n\n"
                said = monotonic()
            await asyncio.sleep(EVERY)


def event(job: Job) -> str:
    """The state of a job as a server-sent event."""
    name = "progress" if job.state == "running" else job.state
    return f"event: {name}\ndata: {shape(job).model_dump_json()}\n\n"


def shape(job: Job) -> JobShape:
    """A job as it is told."""
    values = asdict(job)
    return JobShape(job=values.pop("id"), **values)
