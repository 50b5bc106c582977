"""The probability that a proposed fact is true, learned from facts that the retrievers have not seen.

Proposals are all that the questions of a completion give and the retrievers' facts do not. Those that validation holds
are true. Of the others some are true as well, test facts among them, and nobody who learns may know which. So what is
learned is P(seen) = share · P(true), where share is that of the facts that may be seen among all that were held out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from cear.completion.boosting import Boosted, Fitted, HiddenTruth, Reals, sample_groups, sigmoid
from cear.completion.counts import among, fact_keys
from cear.completion.proposals import Proposals, monotone
from cear.core.types import Bools, Floats, Ints
from cear.data import KnowledgeBase

_DEALINGS = 2
_MOST_ROWS = 60_000  # proposals that trees learn from
_KNOTS = (-2.0, 1.0)  # log-odds at which the scale may bend
_SUREST = 0.25  # of what is found of the held-out facts: the proposals above are the surest
_PRIOR = 20.0  # facts' worth of belief that a relation is like all others


@dataclass(frozen=True, eq=False)
class Sample:
    """What a system proposes that learned from a part of the training facts, and which of it is seen to be true."""

    proposals: Proposals
    seen: Bools  # (proposal,)
    held_out: int
    """Facts that may be seen and that the system has not learned from: those of valid, and those of a fold."""

    @classmethod
    def of(cls, proposals: Proposals, kb: KnowledgeBase, *fold: Ints, learned: Ints | None = None) -> Self:
        """The sample of a system that has not learned from valid, and not from the facts of a fold if there is one.

        `learned` are the places of the validation facts that Stage 2 has learned from, if there are any: no proposal
        of theirs says anything.
        """
        valid = kb.facts("valid")
        if learned is not None:
            proposals = proposals[~among(fact_keys(proposals.facts, kb), valid[learned], kb)]
            valid = np.delete(valid, learned, axis=0)
        facts = np.concatenate([valid, *fold])
        return cls(proposals, among(fact_keys(proposals.facts, kb), facts, kb), len(facts))


@dataclass(frozen=True, eq=False)
class Calibrator:
    """What makes probabilities of what both stages and the training facts say of proposals."""

    trees: Fitted
    scale: Floats  # (4,): an offset of the log-odds, and how steep they are where they are low, middling and high
    doubt: Floats  # (4, 4): the covariance of these
    relations: Floats  # (relation,): what is added to the log-odds of each, near 0 where it has few facts
    share: float
    """Of the facts that are known to be true among all that train lacks: proposals are what is left of these."""
    linked: bool = True
    """Whether it may know that a training fact joins both ends."""

    @classmethod
    def learn(cls, samples: Sequence[Sample], kb: KnowledgeBase, *, linked: bool = True, seed: int) -> Self:
        """Learned from what is seen in samples, the whole system's first; of test facts only their number is used."""
        samples = [replace(each, proposals=_said_of(each.proposals, linked=linked)) for each in samples]
        features, groups, truth = _rows(samples, hidden_facts(kb))
        first = samples[0].proposals
        few, weight = sample_groups(groups, _MOST_ROWS, truth.seen > 0, seed=seed)
        learner = Boosted(leaves=7, dealings=_DEALINGS, monotone=monotone(first.views.shape[2], first.counts.shape[1]))
        trees = learner.fit(features[few], replace(truth, weight=weight)[few], groups[few], seed=seed)
        scaled = cls._scaled(trees, trees.raw(features, groups), samples, hidden_facts(kb), kb)
        return replace(scaled, linked=linked)

    @classmethod
    def _scaled(cls, trees: Fitted, raw: Reals, samples: Sequence[Sample], hidden: float, kb: KnowledgeBase) -> Self:
        """What the trees say as probabilities, if so many true facts are hidden from who learns."""
        _, _, truth = _rows(samples, hidden)
        scale = _best_scale(truth, raw)
        relation = np.concatenate([each.proposals.facts[:, 1] for each in samples])
        relations = _by_relation(relation, truth, _bends(raw) @ scale, kb)
        share = samples[0].held_out / (samples[0].held_out + hidden)
        return cls(trees, scale, _covariance(truth, raw, scale), relations, share)

    def in_use(self, samples: Sequence[Sample], kb: KnowledgeBase) -> Self:
        """For use, when nothing is hidden any more but what the knowledge base lacks, as many facts as `missing` says.

        Its `probability` is that of a fact that no split has; `truth` that of one that train lacks.
        """
        samples = [replace(each, proposals=_said_of(each.proposals, linked=self.linked)) for each in samples]
        features, groups, _ = _rows(samples, hidden_facts(kb))
        raw, lacks = self.trees.raw(features, groups), missing(self, samples, kb)
        held_out = len(kb.facts("valid")) + len(kb.facts("test"))
        scaled = self._scaled(self.trees, raw, samples, len(kb.facts("test")) + lacks, kb)
        return replace(scaled, share=held_out / (held_out + lacks), linked=self.linked)

    def truth(self, proposals: Proposals) -> Reals:
        """The probability that a fact which train lacks is true, (fact,), whether another split has it or not."""
        return replace(self, share=0.0).probability(proposals)

    def probability(self, proposals: Proposals) -> Reals:
        """The probability that a fact which neither train nor valid knows is true, (fact,)."""
        return np.asarray(self._probabilities(proposals, self.scale[None])[0])

    def draws(self, proposals: Proposals, n: int, *, seed: int) -> Reals:
        """What it might as well be, by how sure the facts are of the scale, (draw, fact)."""
        return self._probabilities(
            proposals, np.random.default_rng(seed).multivariate_normal(self.scale, self.doubt, n)
        )

    def _probabilities(self, proposals: Proposals, scales: Floats) -> Reals:
        """The probabilities by each of several scales: of being true, where it is not seen to be."""
        raw = self.trees.raw(_said_of(proposals, linked=self.linked).features, proposals.groups)
        true = sigmoid(scales @ _bends(raw).T + self.relations[proposals.facts[:, 1]])
        return np.asarray(true * (1 - self.share) / (1 - true * self.share))

    def as_json(self) -> dict[str, Any]:
        """The calibrator as a value of JSON."""
        return {
            "trees": self.trees.as_json(),
            "scale": self.scale.tolist(),
            "doubt": self.doubt.tolist(),
            "relations": self.relations.tolist(),
            "share": self.share,
            "linked": self.linked,
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """The calibrator that `as_json` gave."""
        scale, doubt, relations = (np.array(values[name], np.float64) for name in ("scale", "doubt", "relations"))
        trees, linked = Fitted.from_json(values["trees"]), bool(values.get("linked", True))
        return cls(trees, scale, doubt, relations, float(values["share"]), linked)


def _said_of(proposals: Proposals, *, linked: bool) -> Proposals:
    """The proposals, with what training facts join both ends or without."""
    return proposals if linked else proposals.without_links()


def missing(calibrator: Calibrator, samples: Sequence[Sample], kb: KnowledgeBase) -> float:
    """How many facts the knowledge base lacks beside those of its splits, if its surest proposals are true.

    Some of the surest are seen to be true. If the others are true as well, then facts that nobody may see are to
    held-out facts as these others are to those. Test facts are among them, and the rest is missing. It is taken to be
    no more than what the splits hold out, and no less than a twentieth, which is what the estimate may be off by.
    """
    held_out = len(kb.facts("valid")) + len(kb.facts("test"))
    unseen = []
    for sample in samples:
        order = np.argsort(-calibrator.truth(sample.proposals), kind="stable")
        found = np.cumsum(sample.seen[order])
        n = int(np.searchsorted(found, _SUREST * found[-1])) + 1 if len(found) and found[-1] else 0
        if n:
            unseen.append((n - found[n - 1]) / found[n - 1] * sample.held_out)
    lacks = float(np.mean(unseen)) - len(kb.facts("test")) if unseen else 0.0
    return float(np.clip(lacks, 0.05 * held_out, held_out))


def hidden_facts(kb: KnowledgeBase) -> int:
    """How many facts nobody may see: as many as test holds, or, where it holds none, as many as valid."""
    return len(kb.facts("test")) or len(kb.facts("valid"))


def _rows(samples: Sequence[Sample], hidden: float) -> tuple[Floats, Ints, HiddenTruth]:
    """The rows of all samples: features, groups, and what is seen.

    A system that lacks more facts finds more true ones behind the same signs: their odds are as many times higher.
    """
    sizes = [len(each.proposals) for each in samples]
    missing = np.array([each.held_out + hidden for each in samples], np.float64)
    share = np.array([each.held_out for each in samples]) / missing
    truth = HiddenTruth(
        np.concatenate([each.seen for each in samples]).astype(np.float64),
        np.repeat(share, sizes),
        np.repeat(np.log(missing / missing[0]), sizes),
        np.ones(sum(sizes)),
    )
    features = np.concatenate([each.proposals.features for each in samples])
    return features, np.concatenate([each.proposals.groups for each in samples]), truth


def _bends(raw: Reals) -> Floats:
    """What is added up to a scale: 1, and a straight line in three pieces that are smoothly joined, (row, 4)."""
    low, high = (np.logaddexp(0.0, raw - knot) for knot in _KNOTS)
    return np.stack([np.ones(len(raw)), raw - low, low - high, high], axis=1)


def _best_scale(truth: HiddenTruth, raw: Reals) -> Floats:
    """The most likely scale of what the trees say, never falling: trees that stop early are too careful."""
    from scipy.optimize import minimize  # a third of a second, which only who learns need wait for

    rows = _bends(raw)

    def loss(scale: Floats) -> tuple[float, Floats]:
        log_odds = rows @ scale
        return float(truth.loss(log_odds).sum()), truth.slope(log_odds)[0] @ rows

    start = np.array([0.0, 1.0, 1.0, 1.0])
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=[(None, None), *[(0.2, 5.0)] * 3])
    return np.asarray(found.x)


def _covariance(truth: HiddenTruth, raw: Reals, scale: Floats) -> Floats:
    """How sure the facts are of a scale: the inverse of their information, and of a little that is believed before."""
    rows = _bends(raw)
    information = truth.slope(rows @ scale)[1]
    return np.linalg.inv((rows.T * information) @ rows + np.eye(4))


def _by_relation(relation: Ints, truth: HiddenTruth, log_odds: Reals, kb: KnowledgeBase) -> Floats:
    """How the log-odds of each relation's proposals are off, shrunk towards nothing where it has few facts."""
    expected = truth.share * sigmoid(log_odds + truth.offset)
    counted, believed = (
        np.bincount(relation, weights=each, minlength=kb.n_relations) for each in (truth.seen, expected)
    )
    return np.log((counted + _PRIOR) / (believed + _PRIOR))
