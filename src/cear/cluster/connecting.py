"""A Ray cluster: one on this machine for as long as this process lives, or one that somebody has started."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partial
from typing import Any

from cear.core.errors import ClusterError, ConfigError
from cear.core.machine import available_bytes
from cear.pipeline import Elsewhere

LOCAL, OPENMP = "ray", "OMP_NUM_THREADS"
OBJECTS = 128 * 2**20  # bytes of Ray's object store: what steps make goes through ours


@dataclass(frozen=True)
class Cluster:
    """Where Ray is; it is connected to when the first step is to be made."""

    address: str | None = None
    """None starts one on this machine, which ends with this process."""
    cpus: int | None = None
    """How many processors the one on this machine takes; None for all."""

    def connected(self) -> Any:
        """Ray; a connection that stood before is used as it is."""
        ray = _import_ray()
        if not ray.is_initialized():
            self._connect(ray)
        return ray

    def _connect(self, ray: Any) -> None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing reaches the network unasked
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # steps without a GPU see what this one sees
        here = {
            "address": "local",
            "num_cpus": self.cpus,
            "object_store_memory": OBJECTS,
            "_memory": available_bytes(),  # Ray would keep three tenths of it for nobody
            "include_dashboard": False,
            "_node_ip_address": "127.0.0.1",  # nobody else reaches it
        }
        there = here if self.address is None else {"address": self.address}
        try:
            ray.init(configure_logging=False, runtime_env={"env_vars": {OPENMP: openmp_threads()}}, **there)
        except (ConnectionError, RuntimeError, ValueError, TimeoutError) as error:
            raise ClusterError(
                f"There is no Ray cluster at {self.address or 'this machine'}, or it does not let us in: {error}. "
                "Start one with `ray start --head`, and name it: --on ray://HOST:10001, or --on HOST:6379 on one of "
                "its machines. Where it asks for a token, set RAY_AUTH_MODE=token, and RAY_AUTH_TOKEN to the token."
            ) from error


def openmp_threads() -> str:
    """What OpenMP takes in this process, for its workers: Ray would set it to 1, and numpy's sums depend on it."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return os.environ.get(OPENMP) or str(cores)


def ray_at(where: str, *, cpus: int | None = None, data_parallel: int = 1) -> Elsewhere:
    """Who makes steps on Ray: `ray` starts it on this machine, `ray://HOST:PORT` or `HOST:PORT` finds one there.

    `cpus` is how many processors Ray takes on this machine. So many processes as `data_parallel` says train each
    re-ranker together.
    """
    from cear.cluster.executor import RayExecutor

    return partial(RayExecutor, cluster_at(where, cpus), data_parallel)


def cluster_at(where: str, cpus: int | None = None) -> Cluster:
    """The cluster of that name; it is not connected to yet."""
    if where != LOCAL and ":" not in where:
        raise ConfigError(f"--on {where}: no such place. Say ray for this machine, or ray://HOST:PORT for a cluster.")
    _import_ray()
    return Cluster(None if where == LOCAL else where, cpus)


def _import_ray() -> Any:
    try:
        import ray
    except ImportError:
        raise ClusterError(
            "Ray is not installed, which steps on a cluster need: pip install 'cear[cluster]'."
        ) from None
    return ray
