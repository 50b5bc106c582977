"""The server: one process, which listens at once, loads a run, and ends without losing a request."""

from __future__ import annotations

import math
import socket
from collections.abc import Callable
from os import strerror

import uvicorn
from fastapi import FastAPI

from cear.core.errors import ConfigError
from cear.serving.app import Host, create_app
from cear.serving.desk import Desk
from cear.serving.settings import ServiceSettings

CONNECTIONS = 4  # for each question that may wait
KEPT_OPEN = 75  # seconds that a connection may be silent: longer than clients are, who would ask as it closes
GRACE = 15  # seconds beyond its patience that a request has when the service ends


def serve(opener: Callable[[], Desk], settings: ServiceSettings, tell: Callable[[str], None]) -> None:
    """Serve until a signal ends it; everybody who was let in is answered.

    `tell` is called with the address when questions can be answered. An error that keeps the run from being opened is
    raised.
    """
    listening = _listen(settings.host, settings.port)
    errors: list[Exception] = []

    def fail(error: Exception) -> None:
        errors.append(error)
        server.should_exit = True

    host = Host(lambda: tell(_address(listening)), fail, lambda: server.should_exit)
    server = uvicorn.Server(_config(create_app(opener, settings, host), settings))
    server.run(sockets=[listening])
    if errors:
        raise errors[0]


def _config(app: FastAPI, settings: ServiceSettings) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        lifespan="on",
        ws="none",
        log_config=None,
        log_level="warning",
        access_log=False,  # which would write down what people look for
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=KEPT_OPEN,
        limit_concurrency=CONNECTIONS * settings.room,
        timeout_graceful_shutdown=math.ceil(settings.patience) + GRACE,
    )


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family, backlog=1024)
    except OSError as error:
        raise ConfigError(
            f"Nothing can listen at {host}, port {port}: {strerror(error.errno or 0)}. Take another, as `--port 8001`."
        ) from None
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # else the end of an answer waits 40 ms
    return listening


def _address(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
