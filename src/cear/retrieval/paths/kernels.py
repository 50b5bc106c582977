"""The compiled loops of the path network: a walk around an entity, and messages along its edges, there and back."""
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cear.core.compiling import compiled
from cear.core.types import Ints

Floats32 = npt.NDArray[np.float32]


def walk(entity: int, steps: int, offsets: Ints, sources: Ints) -> tuple[Ints, Ints, Ints]:
    """The place of every entity, the reached entities by distance, and how many are within 0, 1, … steps."""
    place, nodes = np.full(len(offsets) - 1, -1, np.int64), np.empty(len(offsets) - 1, np.int64)
    ends = np.ones(steps + 1, np.int64)
    _walk(entity, offsets, sources, place, nodes, ends)
    return place, nodes[: ends[-1]].copy(), ends


@compiled(nogil=True)
def _walk(entity, offsets, sources, place, nodes, ends):  # pragma: no cover - compiled
    nodes[0], place[entity], seen, first = entity, 0, 1, 0
    for step in range(1, len(ends)):
        last = seen
        for node in nodes[first:last]:
            for source in sources[offsets[node] : offsets[node + 1]]:
                if place[source] < 0:
                    place[source], nodes[seen] = seen, source
                    seen += 1
        first, ends[step] = last, seen


@compiled(nogil=True, fastmath=True)
def pass_on(state, relations, nodes, place, offsets, sources, by, passed):  # pragma: no cover - compiled
    """Σ state[x] · relations[w] over the edges (x, w, u) from places that have a state, added to passed[u]."""
    width = state.shape[1]
    for u in range(len(passed)):
        node = nodes[u]
        for edge in range(offsets[node], offsets[node + 1]):
            x = place[sources[edge]]
            if 0 <= x < len(state):
                w = by[edge]
                for i in range(width):
                    passed[u, i] += state[x, i] * relations[w, i]


@compiled(nogil=True, fastmath=True)
def pass_back(  # pragma: no cover - compiled
    state, relations, nodes, place, offsets, sources, by, gradient, of_state, of_relations
):
    """What `pass_on` owes to states and relations: an edge that leads to x by w⁻¹ leads away from it by w."""
    width, half = state.shape[1], relations.shape[0] // 2
    for x in range(len(state)):
        node = nodes[x]
        for edge in range(offsets[node], offsets[node + 1]):
            u = place[sources[edge]]
            if 0 <= u < len(gradient):
                w = (by[edge] + half) % (2 * half)
                for i in range(width):
                    of_state[x, i] += gradient[u, i] * relations[w, i]
                    of_relations[w, i] += gradient[u, i] * state[x, i]
