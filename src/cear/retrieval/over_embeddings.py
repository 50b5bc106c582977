"""Scorers over embeddings take new entities: their vectors minimise the training loss, with all else as it is.

For a score that is a dot product that is a small smooth problem, nearly a convex one, for which L-BFGS is made.
Distances of norm 1 have corners, where it stops early at a good place.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Self

import numpy as np
import torch
from torch import Tensor, nn

from cear.core.context import Context
from cear.core.devices import tensor
from cear.data import KnowledgeBase
from cear.retrieval.embeddings import GrownRows, Vectors
from cear.retrieval.newcomers_loss import NewcomersLoss, own_facts
from cear.retrieval.scorer import Scorer

_ITERATIONS = 100  # of L-BFGS; a newcomer with a few facts needs some dozens
_FLAT = 1e-6  # the steepest coordinate of a gradient that counts as none


class OverEmbeddings(Scorer):
    """A scorer whose entities have their vectors from `entity`, so that new ones can have some, too."""

    entity: Vectors

    def extended(self, kb: KnowledgeBase, first_new: int, context: Context) -> Self:
        """The same for a knowledge base with new entities, from number `first_new` on.

        What texts say of a vector is read; what is learned is solved for, where a newcomer has training facts.
        """
        with torch.inference_mode(mode=False), torch.enable_grad():
            grown = self.grown(kb, first_new, context)
            learned = [part.new for part in grown.modules() if isinstance(part, GrownRows)]
            if learned and len(own_facts(kb, first_new)):
                minimise(NewcomersLoss.of(grown, kb, first_new, context), learned)
        _settle(grown)
        return grown

    def grown(self, kb: KnowledgeBase, first_new: int, context: Context) -> Self:
        """A copy in which the vectors of new entities, and nothing else, are free to change."""
        grown = copy.deepcopy(self).requires_grad_(False).eval()
        grown.n_entities = kb.n_entities
        grown.entity = grown.entity.extended(kb, first_new, context)
        return grown


def minimise(loss: NewcomersLoss, learned: Sequence[Tensor]) -> None:
    """Move the rows of newcomers, (newcomer, width) each, to where the loss is least; those without facts stay."""
    moves = tensor(np.isin(loss.new, loss.facts[:, [0, 2]]), learned[0].device).float().unsqueeze(-1)
    solver = torch.optim.LBFGS(learned, max_iter=_ITERATIONS, tolerance_grad=_FLAT, line_search_fn="strong_wolfe")

    def closure() -> Tensor:
        value = loss()
        for rows, slope in zip(learned, torch.autograd.grad(value, learned), strict=True):
            rows.grad = slope * moves
        return value

    solver.step(closure)  # type: ignore[no-untyped-call]


def _settle(module: nn.Module) -> None:
    """Make one table of all rows, those that were learned and those before them."""
    for name, part in list(module.named_children()):
        if isinstance(part, GrownRows):
            setattr(module, name, part.settled().requires_grad_(False))
        else:
            _settle(part)
