"""Cross-fitting: hold facts out of Stage 1, so that their lists look like those of facts nobody has seen.

Folds are made by unordered entity pair, unless the settings say otherwise: FB15K-237 took every pair that train links
by another relation out of valid and test, so a fold of single facts would be easier than the facts to come.
"""

from __future__ import annotations

import numpy as np

from cear.candidates.config import CrossfitConfig
from cear.core.types import Bools, Ints, Split
from cear.data import KnowledgeBase, Mentions


def fold_by_pair(facts: Ints, folds: int, *, seed: int) -> Ints:
    """The fold of each fact, (fact,); all facts that link the same two entities, either way, share one."""
    ends = np.sort(facts[:, [0, 2]], axis=1)
    _, pair = np.unique(ends, axis=0, return_inverse=True)
    dealt = np.random.default_rng([seed, folds]).permutation(int(pair.max(initial=-1)) + 1) % folds
    return dealt[pair.reshape(-1)]


def folds_of(facts: Ints, crossfit: CrossfitConfig, *, seed: int) -> Ints:
    """The fold of each fact, (fact,), as the settings deal them."""
    if crossfit.by == "pair":
        return fold_by_pair(facts, crossfit.folds, seed=seed)
    return np.random.default_rng([seed, crossfit.folds]).permutation(len(facts)) % crossfit.folds


def hold_out(kb: KnowledgeBase, fold_of: Ints, fold: int) -> tuple[KnowledgeBase, KnowledgeBase]:
    """The knowledge base without a fold of its training facts, and one whose training facts are that fold.

    Neither has test facts: nothing that trains for Stage 2 needs them.
    """
    facts, stays = kb.facts("train"), fold_of != fold
    rest: dict[Split, Ints] = {"train": facts[stays], "valid": kb.facts("valid")}
    return (
        kb.with_facts(rest, _mentions_of_rest(kb.mentions, stays)),
        kb.with_facts({"train": facts[~stays]}),
    )


def _mentions_of_rest(mentions: Mentions | None, stays: Bools) -> Mentions | None:
    """What validation measures with, for the facts that stay."""
    if mentions is None:
        return None
    chosen: dict[Split, Bools | slice] = {"train": stays, "valid": slice(None)}
    ends = {split: mentions.ends[split][which] for split, which in chosen.items() if split in mentions.ends}
    return Mentions(mentions.members, ends)
