"""Several machines on this one: a Ray cluster whose nodes are processes that can be killed."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any, Self

MEMORY = 2**32  # bytes that each machine says it has
OBJECTS = 128 * 2**20  # bytes of its object store, which nothing goes through


class Machines:
    """A cluster of machines with one processor each, of which one is the head, where drivers are."""

    def __init__(self, count: int, cache: Path) -> None:
        from ray.cluster_utils import Cluster

        os.environ["CEAR_CACHE"] = str(cache)  # of what runs there: it does not come with a driver
        self._each = {"num_cpus": 1, "memory": MEMORY, "object_store_memory": OBJECTS, "include_dashboard": False}
        self._cluster: Any = Cluster(initialize_head=True, head_node_args=self._each)
        self._others = [self._added() for _ in range(count - 1)]

    @property
    def address(self) -> str:
        """Where drivers find it."""
        return str(self._cluster.address)

    def lose_one(self, rng: random.Random) -> None:
        """Kill a machine that is not the head, with all that runs there, and put another in its place."""
        lost = self._others.pop(rng.randrange(len(self._others)))
        self._cluster.remove_node(lost, allow_graceful=False)
        self._others.append(self._added())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._cluster.shutdown()

    def _added(self) -> Any:
        return self._cluster.add_node(**self._each)
