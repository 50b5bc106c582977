"""Entities in parts on Ray: each part is an actor, which maps its slice from the store and stays for many questions."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch

from cear.cluster.connecting import Cluster, cluster_at
from cear.core.errors import ClusterError
from cear.core.types import SIDES, Candidates, Ragged
from cear.retrieval import (
    DotProductScorer,
    EntityPart,
    ExtremeText,
    InParts,
    Pending,
    SideInParts,
    SidePart,
    closed_nodes,
    map_side,
    side_file,
    slices_of,
)

VECTORS = "entity.weight"  # what a scorer over rows calls its entity vectors
Maker = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]
"""What makes a part, with its arguments."""
RESTARTS = 10  # of an actor whose process or machine is lost; what it was asked is asked again


@contextmanager
def vectors_on(
    cluster: Cluster, scorer: DotProductScorer, path: Path, n_parts: int, *, threads: int = 1, memory_mb: int = 256
) -> Iterator[InParts]:
    """The scorer, searched by so many actors, each with a slice of the entity vectors of a file; they end with it."""
    wide = scorer.entity_vectors(np.zeros(1, np.int64)).shape[1]
    slices = slices_of(scorer.n_entities, n_parts, memory_mb=memory_mb)
    makers: list[Maker] = [(EntityPart.mapped, (path, VECTORS, each), {"memory_mb": memory_mb}) for each in slices]
    sizes = [4 * wide * (each.stop - each.start) for each in slices]
    with _actors(cluster, makers, sizes, threads) as parts:
        yield InParts(scorer, parts, memory_mb=memory_mb)


@contextmanager
def trees_on(cluster: Cluster, folder: Path, n_parts: int, *, threads: int = 1) -> Iterator[ExtremeText]:
    """The label trees of a folder, each side searched by so many actors of its own; they end with it."""
    models = {side: map_side(side_file(folder, side)) for side in SIDES}
    numbers = {side: range(len(closed_nodes(model.tree, n_parts))) for side, model in models.items()}
    jobs = [(side, number) for side in SIDES for number in numbers[side]]
    makers: list[Maker] = [(SidePart.mapped, (side_file(folder, side), number, n_parts), {}) for side, number in jobs]
    sizes = [side_file(folder, side).stat().st_size // len(numbers[side]) for side, _ in jobs]
    with _actors(cluster, makers, sizes, threads) as parts:
        of_side = {side: [part for (of, _), part in zip(jobs, parts, strict=True) if of == side] for side in SIDES}
        sides = {side: SideInParts(model, of_side[side]) for side, model in models.items()}
        yield ExtremeText(tail=sides["tail"], head=sides["head"])


class PartsOnRay:
    """Holds the entities of retrievers in actors, so many for each retriever or side of one, until it is left."""

    def __init__(self, cluster: Cluster, n_parts: int) -> None:
        self._cluster, self._n_parts = cluster, n_parts
        self._held = ExitStack()

    def vectors(self, scorer: DotProductScorer, path: Path) -> InParts:
        """The scorer, its best entities found by actors with a slice of the rows each."""
        return self._held.enter_context(vectors_on(self._cluster, scorer, path, self._n_parts))

    def trees(self, folder: Path) -> ExtremeText:
        """The label trees in a folder, searched by actors with some of the subtrees each."""
        return self._held.enter_context(trees_on(self._cluster, folder, self._n_parts))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._held.close()


def parts_at(where: str, n_parts: int) -> PartsOnRay:
    """Who holds entities in so many parts on Ray: `ray` starts it on this machine, `ray://HOST:PORT` finds one."""
    return PartsOnRay(cluster_at(where), n_parts)


class Holder:
    """What runs in an actor: one part, made where it lives."""

    def __init__(self, threads: int, make: Callable[..., Any], args: Sequence[Any], options: dict[str, Any]) -> None:
        torch.set_num_threads(threads)
        self._part = make(*args, **options)

    def best(self, *asked: Any) -> Candidates:
        """The lists of the part."""
        found: Candidates = self._part.best(*(_own(each) for each in asked))
        return found

    def process(self) -> int:
        """The number of its process."""
        return os.getpid()


class RemotePart:
    """A part in an actor."""

    def __init__(self, ray: Any, actor: Any, number: int) -> None:
        self._ray, self._actor, self._number = ray, actor, number

    def ask(self, *asked: Any) -> Pending:
        """Send a question; its list is waited for when it is wanted."""
        reference = self._actor.best.remote(*asked)
        return lambda: self._get(reference)

    def process(self) -> int:
        """The number of the actor's process, on its machine."""
        return int(self._get(self._actor.process.remote()))

    def end(self) -> None:
        """End the actor."""
        self._ray.kill(self._actor)

    def _get(self, reference: Any) -> Any:
        try:
            return self._ray.get(reference)
        except self._ray.exceptions.RayTaskError as error:
            raise error.cause if isinstance(error.cause, Exception) else error from error
        except self._ray.exceptions.RayError as error:
            raise ClusterError(
                f"Part {self._number} of the entities was lost {RESTARTS} times with its worker: {error}. "
                "See whether the machines have memory enough, and cut the entities into more parts."
            ) from error


@contextmanager
def _actors(
    cluster: Cluster, makers: Sequence[Maker], sizes: Sequence[int], threads: int
) -> Iterator[list[RemotePart]]:
    """A part for each maker, on machines that have so many bytes of memory left."""
    ray = cluster.connected()
    # They take no processor for themselves: steps that run beside them would wait for one for ever.
    options = {"num_cpus": 0, "max_restarts": RESTARTS, "max_task_retries": RESTARTS, "scheduling_strategy": "SPREAD"}
    kind = ray.remote(Holder)
    actors = [
        kind.options(**options, memory=size).remote(threads, *maker) for maker, size in zip(makers, sizes, strict=True)
    ]
    parts = [RemotePart(ray, actor, number) for number, actor in enumerate(actors)]
    try:
        yield parts
    finally:
        for part in parts:
            part.end()


def _own(value: Any) -> Any:
    """A value that came through Ray's memory, whose arrays cannot be written to, as compiled loops know it."""
    if isinstance(value, Ragged):
        return replace(value, offsets=value.offsets.copy(), values=value.values.copy())
    return value.copy() if isinstance(value, np.ndarray) else value
