"""Facts that people judged, true or false, as teachers: what a curator's decisions say about other facts."""

from __future__ import annotations

import numpy as np

from cear.completion.boosting import Boosted, Fitted, HiddenTruth, Reals, sigmoid
from cear.completion.counts import fact_keys
from cear.completion.proposals import Proposals, monotone
from cear.core.errors import DataError
from cear.core.types import Bools
from cear.data import KnowledgeBase

_DEALINGS = 4
_LEAST = 10  # judged facts of each kind


def learn_from_judgements(proposals: Proposals, truth: Bools, kb: KnowledgeBase, *, seed: int) -> Fitted:
    """Trees that tell true facts from false ones, all of which are seen for what they are."""
    kinds = (int(truth.sum()), int((~truth).sum()))
    if min(kinds) < _LEAST:
        raise DataError(f"{kinds[0]} true and {kinds[1]} false facts are judged; at least {_LEAST} of each are needed.")
    every = np.ones(len(truth))
    likelihood = HiddenTruth(truth.astype(np.float64), every, 0 * every, every)
    learner = Boosted(dealings=_DEALINGS, monotone=monotone(proposals.views.shape[2], proposals.counts.shape[1]))
    return learner.fit(proposals.features, likelihood, fact_keys(proposals.facts, kb), seed=seed)


def judged_probability(trees: Fitted, proposals: Proposals, kb: KnowledgeBase) -> Reals:
    """The probability that people would judge each fact true, (fact,), if asked for as many true as false ones."""
    return sigmoid(trees.raw(proposals.features, fact_keys(proposals.facts, kb)))
