"""The path network: Bellman-Ford with learned messages, in the manner of NBFNet (Zhu et al. 2021, Eq. 5 and 6).

The state of an entity u after l steps says which paths of at most l relations lead from the query's entity to u. It has
no vector of an entity, only of relations: what it learns of one graph it knows of any other with the same relations.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from cear.core.devices import device_of, tensor
from cear.retrieval.paths.config import PathSettings
from cear.retrieval.paths.graph import Reach
from cear.retrieval.paths.messages import messages

TINY = 1e-6


class PathNetwork(nn.Module):
    """Scores everybody whom messages from the entity of a query reach, and, by one number, everybody else."""

    def __init__(self, n_relations: int, config: PathSettings, *, seed: int = 0) -> None:
        super().__init__()
        width = config.width
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.asked = nn.Embedding(2 * n_relations, width)
            self.layers = nn.ModuleList(
                PathLayer(n_relations, width, dependent=config.dependent) for _ in range(config.layers)
            )
            self.score = nn.Sequential(nn.Linear(2 * width, 2 * width), nn.ReLU(), nn.Linear(2 * width, 1))

    def forward(self, relation: int, reach: Reach) -> tuple[Tensor, Tensor]:
        """The score of everybody in reach, (node,), and of whoever is not, ()."""
        asked = self.asked(torch.tensor([relation], device=device_of(self)))  # (1, width)
        state = start = asked
        for step, layer in enumerate(self.layers, start=1):
            state = layer(state, start, reach, step)
        everybody = pad(state, (0, 0, 0, 1))  # the last row is of whoever is not reached: no message came
        scores = self.score(torch.cat([everybody, asked.expand_as(everybody)], dim=1))[:, 0]
        return scores[:-1], scores[-1]


class PathLayer(nn.Module):
    """One step of all messages: mean and spread of what arrives, scaled by how much does (PNA, Corso et al. 2020)."""

    def __init__(self, n_relations: int, width: int, *, dependent: bool) -> None:
        super().__init__()
        self.width = width
        self.relations: nn.Module = (
            nn.Linear(width, 2 * n_relations * width) if dependent else nn.Embedding(2 * n_relations, width)
        )
        self.combine = nn.Linear(5 * width, width)
        self.norm = nn.LayerNorm(width)

    def forward(self, state: Tensor, start: Tensor, reach: Reach, step: int) -> Tensor:
        """The states after a step, (node, width), from those before it; the start is a message that arrives again."""
        relations = self._relations(start)
        degrees = tensor(reach.degrees(step), state.device).to(state.dtype)[:, None]
        first = pad(start, (0, 0, 0, len(degrees) - 1))
        mean = (messages(state, relations, reach, step) + first) / (degrees + 1)
        square = (messages(state.square(), relations.square(), reach, step) + first.square()) / (degrees + 1)
        spread = (square - mean.square()).clamp(min=TINY).sqrt()
        many = (degrees + 1).log()
        before = pad(state, (0, 0, 0, len(degrees) - len(state)))
        arrived = torch.cat([before, mean, spread, many * mean, many * spread], dim=1)
        change: Tensor = self.norm(self.combine(arrived)).relu()
        return before + change

    def _relations(self, start: Tensor) -> Tensor:
        """What each relation does to a message, (2R, width)."""
        if isinstance(self.relations, nn.Embedding):
            return self.relations.weight
        found: Tensor = self.relations(start).view(-1, self.width)
        return found
