"""A proxy before an HTTP service that loses, delays, cuts off and alters requests and answers, by given shares.

It stands between a store on S3 and moto's server, both on the loopback interface:

    with proxied(moto, Faults(error=0.1, truncated=0.1), seed=0) as proxy:
        os.environ["AWS_ENDPOINT_URL"] = proxy.address
"""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from http.client import HTTPConnection, HTTPResponse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

REFUSALS = {"error": ("InternalError", 500), "busy": ("SlowDown", 503), "unknown": ("NotImplemented", 501)}


@dataclass(frozen=True)
class Faults:
    """The share of requests that each fault befalls; a request has one at most."""

    error: float = 0.0
    """Answered with 500, and never seen by the service."""
    busy: float = 0.0
    """Answered with 503, slow down."""
    dropped: float = 0.0
    """The connection ends before the service sees the request."""
    lost: float = 0.0
    """The service does what it is asked, and the connection ends before its answer comes."""
    slow: float = 0.0
    """The answer comes after `delay` seconds."""
    truncated: float = 0.0
    """The connection ends in the middle of the content of an answer."""
    flipped: float = 0.0
    """A bit of the content of an answer is another."""
    spoiled: float = 0.0
    """A bit of what is uploaded is another: it is kept so, damaged for good."""
    delay: float = 3.0
    without_conditions: bool = False
    """Whether requests with a condition are answered with 501, as by services that do not know them."""

    def drawn(self, generator: random.Random) -> str | None:
        """The fault of a request, if it has one."""
        place = generator.random()
        for share in (each.name for each in fields(self) if each.name not in ("delay", "without_conditions")):
            place -= getattr(self, share)
            if place < 0:
                return share
        return None


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: Any) -> None:
        """Say nothing of a connection that the other side has closed."""


class Proxy:
    """What stands before a service; `faults` may be set at any time, and `counts` says what has happened."""

    def __init__(self, service: str, faults: Faults, seed: int) -> None:
        self.faults, self.counts = faults, Counter[str]()
        self.service = urlsplit(service).netloc
        self._generator, self._lock = random.Random(seed), threading.Lock()
        self.server = _Server(("127.0.0.1", 0), _handler(self))

    @property
    def address(self) -> str:
        """Where requests are to be sent."""
        return f"http://127.0.0.1:{self.server.server_port}"

    def next_fault(self, method: str) -> str | None:
        """The fault of the next request, counted; only an upload can be spoiled."""
        with self._lock:
            fault = self.faults.drawn(self._generator)
            fault = None if fault == "spoiled" and method != "PUT" else fault
            self.counts.update(["requests", *([fault] if fault else [])])
        return fault


@contextmanager
def proxied(service: str, faults: Faults | None = None, seed: int = 0) -> Iterator[Proxy]:
    """A proxy before a service, as long as the block lasts."""
    proxy = Proxy(service, faults or Faults(), seed)
    thread = threading.Thread(target=proxy.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        proxy.server.shutdown()
        proxy.server.server_close()
        thread.join()


def _handler(proxy: Proxy) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 30

        def _pass(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            fault = proxy.next_fault(self.command)
            if proxy.faults.without_conditions and {"If-Match", "If-None-Match"} & {*self.headers}:
                self._answer(*_refusal("unknown"))
            elif fault in ("error", "busy"):
                self._answer(*_refusal(fault))
            elif fault == "dropped":
                self.close_connection = True
            else:
                self._forward(_flipped(body) if fault == "spoiled" else body, fault)

        do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _pass  # noqa: N815 - the names that the base class looks for

        def _forward(self, body: bytes, fault: str | None) -> None:
            connection = HTTPConnection(proxy.service, timeout=30)
            headers = {name: value for name, value in self.headers.items() if name.lower() != "expect"}
            connection.request(self.command, self.path, body, headers)
            answer = connection.getresponse()
            content = answer.read()
            connection.close()
            if fault == "slow":
                time.sleep(proxy.faults.delay)
            if fault == "lost":
                self.close_connection = True
                return
            kept = content[: len(content) // 2] if fault == "truncated" else content
            self._answer(answer.status, _headers(answer, content), _flipped(kept) if fault == "flipped" else kept)
            self.close_connection |= fault == "truncated"

        def _answer(self, status: int, headers: list[tuple[str, str]], content: bytes) -> None:
            try:
                self.send_response_only(status)
                for name, value in headers:
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)
            except OSError:  # who asked has lost patience
                self.close_connection = True

        def log_message(self, *_: Any) -> None:
            """Say nothing: what happens is counted."""

    return Handler


def _headers(answer: HTTPResponse, content: bytes) -> list[tuple[str, str]]:
    kept = [
        (name, value) for name, value in answer.getheaders() if name.lower() not in ("connection", "transfer-encoding")
    ]
    has_length = any(name.lower() == "content-length" for name, _ in kept)
    return kept if has_length else [*kept, ("Content-Length", str(len(content)))]


def _refusal(fault: str) -> tuple[int, list[tuple[str, str]], bytes]:
    code, status = REFUSALS[fault]
    content = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>injected</Message></Error>".encode()
    return status, [("Content-Type", "application/xml"), ("Content-Length", str(len(content)))], content


def _flipped(content: bytes) -> bytes:
    """The content with one bit changed, in the middle."""
    changed = bytearray(content)
    if changed:
        changed[len(changed) // 2] ^= 4
    return bytes(changed)
