"""What an operator watches: requests, how long they take, how full passes are."""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cear.serving.desk import Desk

SECONDS = (0.005, 0.01, 0.02, 0.04, 0.06, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)


class Metrics:
    """The counters of one application, in a registry of its own."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        labels = ["method", "route", "status"]
        self._requests = Counter("cear_requests", "Requests that were answered.", labels, registry=self._registry)
        self._seconds = Histogram(
            "cear_request_seconds", "Until an answer was sent.", ["route"], buckets=SECONDS, registry=self._registry
        )
        self.in_progress = Gauge("cear_requests_in_progress", "Requests under way.", registry=self._registry)

    def watch(self, desk: Desk) -> None:
        """Tell of a desk, too."""
        self._registry.register(_OfDesk(desk))

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count an answer."""
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def text(self) -> bytes:
        """All of it in the text format of Prometheus."""
        return generate_latest(self._registry)


class _OfDesk(Collector):
    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def collect(self) -> Iterator[Metric]:
        """How many questions wait, and what the passes of the ranker were like."""
        tally = self._desk.answering.tally
        yield GaugeMetricFamily("cear_questions_waiting", "Questions in the queue.", self._desk.waiting)
        yield GaugeMetricFamily("cear_questions_answered", "Questions that were answered.", tally.questions)
        yield GaugeMetricFamily("cear_passes", "Passes of the ranker that answered them.", tally.passes)
        yield GaugeMetricFamily("cear_pass_seconds", "Seconds of all passes.", tally.seconds)


class Counted:
    """Counts every answer by the pattern of its address, which are few, and never by what a client wrote."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app, self._metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and count its answer."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = perf_counter(), 0

        async def counting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        self._metrics.in_progress.inc()
        try:
            await self._app(scope, receive, counting)
        finally:
            self._metrics.in_progress.dec()
            route = getattr(scope.get("route"), "path", "other")
            self._metrics.count(_method(scope["method"]), route, status, perf_counter() - began)


def _method(method: str) -> str:
    return method if method in ("GET", "HEAD", "POST", "DELETE", "OPTIONS") else "other"
