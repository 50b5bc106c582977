"""Who may ask for what: names of this machine, tokens, pages of other origins, sizes; and what browsers are told.

A service on this machine can be reached by every page that its user opens. Three things keep such pages out. The
Host header has to be a name of this machine: a page of evil.example, whose address was changed to 127.0.0.1 after it
was loaded, still sends its own. Changes need a header that no form can send and no script of another origin may.
Answers carry no permission for other origins to read them, unless they are named.
"""

from __future__ import annotations

import hmac
import json
import logging
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cear.serving.settings import LOOPBACK, ServiceSettings

log = logging.getLogger("cear.serving")

CHANGES = "X-Cear"
"""The header of requests that change something, with any value: a foreign page cannot send it."""

ANYBODY = ("/health", "/ready", "/")
"""What is told without a token: nothing of the run, and the page that asks for the token."""
STATIC = "/static/"
RECONCILE = "/reconcile"
"""Its POST requests are questions, and its clients send no header of ours."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
WHOLE = "Something went wrong here, and the log of the service says what. Asking again may help."


class Refused(Exception):
    """A request that gets no further."""

    def __init__(self, status: int, sentence: str, **headers: str) -> None:
        super().__init__(sentence)
        self.status, self.headers = status, headers


class Guard:
    """Looks at every request before anything else does, and at every answer before it leaves."""

    def __init__(self, app: ASGIApp, settings: ServiceSettings) -> None:
        self._app, self._settings = app, settings
        self._names = {*LOOPBACK, settings.host, *(name.lower() for name in settings.names)}
        self._token = None if settings.token is None else settings.token.get_secret_value().encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer it with a refusal."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await self._answer(scope, receive, _Answer(send))
        else:  # nothing here speaks over a web socket
            await send({"type": "websocket.close", "code": 1008})

    async def _answer(self, scope: Scope, receive: Receive, send: _Answer) -> None:
        try:
            self._look(scope)
            body = await _body(scope, receive, self._settings.most_bytes)
            await self._app(scope, body, send)
        except Refused as no:
            await send.refuse(no)
        except Exception:  # a bug: its trace is for the log
            log.exception("A request failed.")
            await send.refuse(Refused(500, WHOLE))

    def _look(self, scope: Scope) -> None:
        headers = Headers(scope=scope)
        host = _one(headers, "host")
        self._refuse_name(host)
        if scope["method"] == "OPTIONS":  # a browser asks what it may ask: it is told, and shows no token yet
            return
        self._refuse_stranger(headers, scope["path"])
        if scope["method"] not in ("GET", "HEAD"):
            self._refuse_foreign(headers, host, scope["path"])

    def _refuse_name(self, host: str) -> None:
        """Refuse who calls this machine by another name (DNS rebinding)."""
        if _name_of(host) not in self._names:
            raise Refused(403, "This machine is not served under that name. The operator can add it: `--name NAME`.")

    def _refuse_stranger(self, headers: Headers, path: str) -> None:
        """Refuse who shows no token, where one is wanted."""
        if self._token is None or path in ANYBODY or path.startswith(STATIC):
            return
        scheme, _, given = headers.get("authorization", "").partition(" ")
        right = hmac.compare_digest(given.strip().encode(), self._token)  # in the same time, however much is right
        if scheme.lower() != "bearer" or not right:
            sentence = "This service wants a token: `Authorization: Bearer TOKEN`."
            raise Refused(401, sentence, **{"WWW-Authenticate": "Bearer"})

    def _refuse_foreign(self, headers: Headers, host: str, path: str) -> None:
        """Refuse changes that a page of another origin wants (CSRF)."""
        origin = headers.get("origin")
        if origin is not None and origin not in self._settings.origins and urlsplit(origin).netloc != host:
            raise Refused(403, "Pages of that origin may not call this service. The operator can allow it: `--origin`.")
        asks = path == RECONCILE or path.startswith(f"{RECONCILE}/")
        if CHANGES.lower() not in headers and not asks:
            raise Refused(403, f"A request that changes something needs the header `{CHANGES}: 1`.")


class _Answer:
    """Sends an answer with the headers that every answer has."""

    def __init__(self, send: Send) -> None:
        self._send, self._begun = send, False

    async def __call__(self, message: Message) -> None:
        """Pass a message on; the first one gets what it lacks."""
        if message["type"] == "http.response.start":
            self._begun = True
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
        await self._send(message)

    async def refuse(self, no: Refused) -> None:
        """Answer with a refusal, unless an answer is under way."""
        if self._begun:
            return
        body = json.dumps({"error": str(no)}).encode()
        headers = {"content-type": "application/json", "content-length": str(len(body)), **no.headers}
        start = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
        await self({"type": "http.response.start", "status": no.status, "headers": start})
        await self({"type": "http.response.body", "body": body})


async def _body(scope: Scope, receive: Receive, most: int) -> Receive:
    """What gives the body of a request, read already and no larger than `most`; then whatever comes."""
    if _number(Headers(scope=scope).get("content-length", "0")) > most:
        raise _too_large(most)
    body, more = b"", True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            return receive  # the client has left
        body, more = body + message.get("body", b""), message.get("more_body", False)
        if len(body) > most:
            raise _too_large(most)
    read: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return read.pop() if read else await receive()

    return again


def _too_large(most: int) -> Refused:
    return Refused(413, f"The body is larger than {most:,} bytes. Send it in parts.", Connection="close")


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise Refused(400, "Content-Length is no number.")
    return int(text)


def _one(headers: Headers, name: str) -> str:
    """The header of this name, if there is exactly one."""
    values = headers.getlist(name)
    if len(values) != 1:
        raise Refused(400, f"A request has one {name.title()} header; this one has {len(values)}.")
    return values[0]


def _name_of(host: str) -> str:
    """The name in a Host header, without the port: `[::1]:8000` is `::1`."""
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""
