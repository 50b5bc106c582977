"""`--on`: who makes the steps of a command, where this process does not."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from cear.core.errors import ConfigError

if TYPE_CHECKING:
    from cear.pipeline import Elsewhere
    from cear.retrieval import Holders

PARTS = (
    "This process makes the steps, and so many workers of --on hold a part of the entities each: for more entities "
    "than it has room for."
)
ON = "Who makes steps: this process by default; ray starts workers on this machine, ray://HOST:PORT asks a cluster."


def elsewhere(on: str | None, data_parallel: int = 1) -> Elsewhere | None:
    """Who makes steps in the place of that name; None for this process."""
    if on is None and data_parallel > 1:
        raise ConfigError(
            f"--data-parallel {data_parallel}: processes that train together are started by --on ray. Say that too, or "
            "start them yourself with torchrun."
        )
    if not on:  # an empty CEAR_ON is none
        return None
    from cear.cluster import ray_at

    return ray_at(on, data_parallel=data_parallel)


def holders(on: str | None, parts: int | None) -> AbstractContextManager[Holders | None]:
    """Who holds entities in so many parts in the place of that name; None where this process has them all."""
    if parts is None:
        return nullcontext()
    if not on:
        raise ConfigError(f"--parts {parts}: parts are held by workers of Ray. Say where: --on ray for this machine.")
    from cear.cluster import parts_at

    return parts_at(on, parts)
