"""How a service is reached, how patient it is, and what it refuses as too large."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, SecretStr, model_validator

from cear.core.settings import Settings

LOOPBACK = ("127.0.0.1", "localhost", "::1")

Count = Annotated[int, Field(ge=1)]
Seconds = Annotated[float, Field(ge=0)]


class ServiceSettings(Settings):
    """Settings of `cear serve`. The defaults serve one person at this machine."""

    host: str = "127.0.0.1"
    """The address to listen at. Anything but this machine itself needs a token."""
    port: int = Field(8000, ge=0, le=65535)
    """The port to listen at; 0 takes a free one."""
    token: SecretStr | None = None
    """What a client has to show, `Authorization: Bearer TOKEN`; None asks nobody."""
    names: tuple[str, ...] = ()
    """Further names that clients know this machine by, as `desk.example.org` behind a proxy: of the Host header."""
    origins: tuple[str, ...] = ()
    """Pages of other origins that may call the service, as `https://refine.example.org`."""
    wait: Seconds = 0.003
    """Seconds that a question waits for others to be answered with."""
    most: Count = 32
    """Questions that are answered in one pass."""
    room: Count = 256
    """Questions that may wait; who comes when it is full is told to come again."""
    patience: Annotated[float, Field(gt=0)] = 10.0
    """Seconds after which a question that still waits is given up."""
    most_bytes: Count = 2_000_000
    """Of the body of a request."""
    most_answers: Count = 100
    """The largest k of a question."""
    most_facts: Count = 500
    """Facts that are judged in one request."""
    most_rows: Count = 500
    """Rows of a list, such as proposals or names, that one request gets."""
    longest_name: Count = 500
    """Characters of a name or an id in a request."""

    @model_validator(mode="after")
    def _needs_a_token_elsewhere(self) -> Self:
        if self.token is None and self.host not in LOOPBACK:
            raise ValueError(
                f"a service at {self.host} can be reached from other machines. Give it a token, "
                "`--token` or CEAR_TOKEN, or leave it at 127.0.0.1"
            )
        if self.token is not None and len(self.token.get_secret_value()) < 16:
            raise ValueError("the token is shorter than 16 characters, which can be guessed. Take a longer one")
        return self
