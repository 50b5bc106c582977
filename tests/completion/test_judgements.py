"""What people judged teaches what they would judge of other facts."""

from __future__ import annotations

import numpy as np
import pytest

from cear.completion import Counts, Fitted, Proposals, judged_probability, learn_from_judgements
from cear.completion.views import n_view_features
from cear.core.errors import DataError
from cear.core.types import Bools
from cear.data import KnowledgeBase


def drawn(kb: KnowledgeBase, seed: int) -> tuple[Proposals, Bools]:
    """All facts that could be, with views of noise; one feature tells how likely people judge them true."""
    rng = np.random.default_rng(seed)
    n, r = kb.n_entities, kb.n_relations
    facts = np.stack(np.meshgrid(np.arange(n), np.arange(r), np.arange(n), indexing="ij"), axis=-1).reshape(-1, 3)
    views = rng.normal(size=(len(facts), 2, n_view_features(0))).astype(np.float32)
    truth = rng.random(len(facts)) < 1 / (1 + np.exp(-3 * views[:, 0, 0]))
    proposals = Proposals(facts, views, Counts(kb).of_facts(facts), np.ones((len(facts), 2), np.int64))
    return proposals, np.asarray(truth)


def test_judgements_teach_what_people_judge_by(towns: KnowledgeBase) -> None:
    known, truth = drawn(towns, 0)
    trees = learn_from_judgements(known, truth, towns, seed=0)
    others, answers = drawn(towns, 1)
    told = judged_probability(Fitted.from_json(trees.as_json()), others, towns)
    assert ((told > 0.5) == answers).mean() > 0.8
    for low, high in ((0.0, 0.2), (0.4, 0.6), (0.8, 1.0)):
        which = (told >= low) & (told <= high)
        assert told[which].mean() == pytest.approx(answers[which].mean(), abs=0.08)


def test_a_few_judgements_are_refused(towns: KnowledgeBase) -> None:
    known, truth = drawn(towns, 0)
    few = np.concatenate([np.flatnonzero(truth)[:60], np.flatnonzero(~truth)[:9]])
    with pytest.raises(DataError, match=r"60 true and 9 false facts .* at least 10"):
        learn_from_judgements(known[few], truth[few], towns, seed=0)
