"""`--on`: who makes the steps of a command, where this process does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cear.core.errors import ConfigError

if TYPE_CHECKING:
    from cear.pipeline import Elsewhere

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
