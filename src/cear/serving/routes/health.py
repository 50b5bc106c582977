"""Whether the service lives, whether it can answer, and what an operator counts."""
# Without postponed annotations: FastAPI reads those of functions inside functions.

from fastapi import APIRouter, HTTPException, Request, Response

from cear.serving.failing import LOADING
from cear.serving.metrics import Metrics
from cear.serving.models import Status, failures

TEXT = "text/plain; version=0.0.4"


def router(metrics: Metrics) -> APIRouter:
    """`/health`, `/ready` and `/metrics`, which are there before a run is loaded."""
    routes = APIRouter(tags=["operating"])

    @routes.get("/health")
    async def health() -> Status:
        """That the process lives."""
        return Status(status="alive")

    @routes.get("/ready", responses=failures(503))
    async def ready(request: Request) -> Status:
        """Whether questions can be answered."""
        if request.app.state.desk is None:
            raise HTTPException(503, LOADING, {"Retry-After": "1"})
        return Status(status="ready")

    @routes.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}})
    async def counted() -> Response:
        """Counters in the text format of Prometheus."""
        return Response(metrics.text(), media_type=TEXT)

    return routes
