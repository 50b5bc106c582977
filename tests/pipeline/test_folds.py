"""What retrievers learn from: a fold that was forgotten is dealt again, and all splits together have a fact once."""

from __future__ import annotations

import numpy as np

from cear.candidates import CrossfitConfig
from cear.data import KnowledgeBase
from cear.pipeline.parts import Everything, Fold


def test_a_forgotten_fold_is_dealt_again_to_the_same_facts(towns: KnowledgeBase) -> None:
    fold = Fold(towns, CrossfitConfig(folds=3, by="fact"), 1, seed=0)
    seen, held_out = fold.seen, fold.held_out
    fold.forget()
    assert fold.seen is not seen
    assert np.array_equal(fold.seen.facts("train"), seen.facts("train"))
    assert np.array_equal(fold.held_out, held_out)


def test_one_that_was_never_dealt_has_nothing_to_forget(towns: KnowledgeBase) -> None:
    fold = Fold(towns, CrossfitConfig(folds=3), 0, seed=0)
    fold.forget()
    assert len(fold.held_out)


def test_the_facts_of_all_splits_are_there_once_in_the_order_of_their_numbers(towns: KnowledgeBase) -> None:
    train, test = towns.facts("train"), towns.facts("test")
    again = towns.with_facts({"train": train, "valid": train[:2], "test": test})
    expected = np.unique(np.concatenate([train, test]), axis=0)
    assert np.array_equal(Everything(again).seen.facts("train"), expected)
