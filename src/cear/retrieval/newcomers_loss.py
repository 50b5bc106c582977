"""The part of a scorer's training loss in which new entities stand, while everybody else stays as they are.

A newcomer stands in the queries about it, in those that it answers, and, as one that competes, in all others. Scores of
old entities for queries about old entities do not change and are computed once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from torch import Tensor

from cear.core.blocks import rows_within
from cear.core.context import Context
from cear.core.devices import tensor
from cear.core.types import Bools, Ints
from cear.data import KnowledgeBase
from cear.retrieval.batches import Batch
from cear.retrieval.objective import relation_loss
from cear.retrieval.scorer import Scorer

_OTHERS = 1000  # queries that stand for all in which a newcomer competes and does not answer


@dataclass(frozen=True, eq=False)
class Share:
    """Queries, and how many facts their loss, which is a mean over facts, stands for."""

    batch: Batch
    facts: int
    fixed: Tensor | None = None
    """The scores of the old entities, (query, entity), where the query is about one of them."""


@dataclass(frozen=True, eq=False)
class NewcomersLoss:
    """Loss, regulariser and relation prediction of the facts of new entities, as the scorer was trained."""

    scorer: Scorer
    new: Ints  # (newcomer,)
    facts: Ints  # (fact, 3), those that newcomers stand in, reciprocal ones too
    shares: tuple[Share, ...]

    @classmethod
    def of(cls, scorer: Scorer, kb: KnowledgeBase, first_new: int, context: Context) -> Self:
        """The loss of a scorer that has vectors for the new entities, from number `first_new` on."""
        known = kb.known("train")
        about = known.queries.entity >= first_new
        answers = np.bincount(known.answers.rows[known.answers.values >= first_new], minlength=len(about)) > 0
        others = np.flatnonzero(~about & ~answers)
        few = min(_OTHERS, rows_within(8 * kb.n_entities))
        drawn = np.sort(np.random.default_rng([context.seed, first_new]).permutation(others)[:few])
        which = (np.flatnonzero(about), np.flatnonzero(~about & answers), drawn)
        asked, answered, sample = (_batch(kb, rows) for rows in which)
        shares = [
            Share(asked, len(asked.facts)),
            Share(answered, len(answered.facts), _fixed(scorer, answered, first_new)),
            Share(sample, int(known.answers.counts[others].sum()), _fixed(scorer, sample, first_new)),
        ]
        new = np.arange(first_new, kb.n_entities)
        return cls(scorer, new, own_facts(kb, first_new), tuple(share for share in shares if len(share.batch.queries)))

    def __call__(self) -> Tensor:
        """The sum over facts, divided by the number of those of newcomers."""
        objective = self.scorer.objective
        total = torch.stack([share.facts * objective.loss(self._scores(share), share.batch) for share in self.shares])
        loss = total.sum() + objective.weight * self._norm(objective.p)
        if objective.relations_weight:
            loss = loss + objective.relations_weight * len(self.facts) * relation_loss(self.scorer, self.facts)
        return loss / len(self.facts)

    def _scores(self, share: Share) -> Tensor:
        """The scores of all entities, (query, entity)."""
        if share.fixed is None:
            return self.scorer.score_all(share.batch.queries).float()
        return torch.cat([share.fixed, self.scorer.score_all(share.batch.queries, self.new).float()], dim=1)

    def _norm(self, p: float) -> Tensor:
        """Σ |v|ᵖ over the newcomers' ends of all facts."""
        uses = np.bincount(self.facts[:, [0, 2]].reshape(-1), minlength=self.new[-1] + 1)[self.new]
        norms = self.scorer.entity_moduli(self.new).pow(p).sum(-1)
        return norms @ tensor(uses.astype(np.float32), norms.device)


def own_facts(kb: KnowledgeBase, first_new: int) -> Ints:
    """The training facts that new entities stand in, (fact, 3), and the reciprocal of each."""
    s, r, o = kb.facts("train").T
    own: Bools = (s >= first_new) | (o >= first_new)
    there, back = np.stack([s, r, o], axis=1), np.stack([o, r + kb.n_relations, s], axis=1)
    return np.unique(np.concatenate([there[own], back[own]]), axis=0)


def _batch(kb: KnowledgeBase, rows: Ints) -> Batch:
    """These of the distinct training queries, with their answers."""
    known = kb.known("train")
    return Batch(known.queries[rows], known.answers.take(rows), among=None)


@torch.no_grad()
def _fixed(scorer: Scorer, batch: Batch, first_new: int) -> Tensor:
    return scorer.score_all(batch.queries, np.arange(first_new)).float()
