"""A training that several processes share, by Ray Train: they are started, and work as under any other launcher."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from typing import Any

from cear.cluster.needs import Needs
from cear.cluster.working import make_step
from cear.core.errors import CearError, ClusterError


class WorkerLost(ClusterError):
    """One of the processes that train together is gone."""


def make_together(recipe: str, order: str, needs: Needs) -> None:
    """Make a step, ordered in JSON, in so many processes as its needs say; a task of Ray that waits for them."""
    from ray.train import RunConfig, ScalingConfig, WorkerGroupError
    from ray.train.torch import TorchConfig, TorchTrainer

    with tempfile.TemporaryDirectory(prefix="cear-train-") as place:  # what Ray Train keeps; ours is in the store
        trainer = TorchTrainer(
            _make_share,
            train_loop_config={"recipe": recipe, "order": order},
            scaling_config=ScalingConfig(
                num_workers=needs.processes,
                use_gpu=bool(needs.gpus),
                resources_per_worker={name: value for name, value in needs.resources.items() if value},
            ),
            torch_config=TorchConfig(backend="nccl" if needs.gpus else "gloo"),
            run_config=RunConfig(storage_path=place),
        )
        try:
            trainer.fit()
        except WorkerGroupError as error:
            if (cause := raised(error.worker_failures)) is None:
                raise
            raise cause from error


def raised(failures: Mapping[int, Exception]) -> CearError | None:
    """What processes that train together raised that a user can act on, or that one of them is gone; None for a bug.

    Ray Train wraps what its workers raise; whatever it does not wrap is the loss of one. The others then raise, too,
    that nobody answers.
    """
    causes = {rank: getattr(each, "_base_exc", None) for rank, each in failures.items()}
    told = next((cause for cause in causes.values() if isinstance(cause, CearError)), None)
    lost = next((rank for rank, cause in causes.items() if cause is None), None)
    if told is None and lost is not None:
        return WorkerLost(f"process {lost} of {len(failures)} or more is gone: {failures[lost]}")
    return told


def _make_share(told: dict[str, Any]) -> None:
    """What each process does: `Workers` finds the others by the environment that Ray Train has set."""
    make_step(told["recipe"], told["order"])
