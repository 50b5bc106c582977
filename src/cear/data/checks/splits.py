"""Splits that are empty, repeat themselves, overlap, or speak of strangers."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
import polars as pl

from cear.core.types import SPLITS, Bools, Ints, Split
from cear.data.checks.words import EXAMPLES, in_words
from cear.data.draft import FACT
from cear.data.findings import Finding, Severity
from cear.data.knowledge_base import KnowledgeBase
from cear.data.vocabulary import Vocabulary

HELD_OUT: tuple[Split, ...] = ("valid", "test")


def empty_splits(kb: KnowledgeBase) -> Iterator[Finding]:
    """Splits without facts: without train nothing can be learned, without the others nothing measured."""
    for split in SPLITS:
        if not len(kb.facts(split)):
            yield Finding("empty-split", "error" if split == "train" else "warning", f"{split} has no facts.", 1)


def repeated_facts(kb: KnowledgeBase) -> Iterator[Finding]:
    """Facts that stand more than once in a split. Readers keep one; a knowledge base made by hand may not."""
    for split in SPLITS:
        facts = _frame(kb, split)
        repeated = facts.height - facts.n_unique()
        if repeated:
            twice = facts.filter(facts.is_duplicated()).unique(maintain_order=True).to_numpy()
            message = f"{split} repeats {repeated:,} facts."
            yield Finding("duplicate-facts", "warning", message, repeated, in_words(kb, twice))


def shared_facts(kb: KnowledgeBase) -> Iterator[Finding]:
    """Facts that stand in two splits: their answers are known before they are asked for."""
    for first, second in combinations(SPLITS, 2):
        shared = _frame(kb, second).join(_frame(kb, first), on=FACT, how="semi").unique(maintain_order=True)
        if shared.height:
            message = f"{shared.height:,} facts of {second} stand in {first} as well; remove them from one."
            yield Finding("shared-facts", "error", message, shared.height, in_words(kb, shared.to_numpy()))


def unseen(kb: KnowledgeBase) -> Iterator[Finding]:
    """Entities and relations of valid and test that no training fact names: nothing is learned about them.

    In an open knowledge base, where a new surface form may be another mention of something known, that is usual.
    """
    train = kb.facts("train")
    severity: Severity = "warning" if kb.mentions is None else "info"
    for split in HELD_OUT:
        facts = kb.facts(split)
        strange = ~np.isin(facts[:, [0, 2]], train[:, [0, 2]])  # (fact, 2)
        yield from _strangers(kb.entities, "entities", split, facts[:, [0, 2]], strange, severity)
        strange = ~np.isin(facts[:, [1]], train[:, [1]])  # (fact, 1)
        yield from _strangers(kb.relations, "relations", split, facts[:, [1]], strange, severity)


def _strangers(
    vocabulary: Vocabulary, plural: str, split: Split, values: Ints, strange: Bools, severity: Severity
) -> Iterator[Finding]:
    which, n_facts = np.unique(values[strange]), int(strange.any(axis=1).sum())
    if n_facts:
        message = f"{len(which):,} {plural} in {n_facts:,} {split} facts occur in no training fact."
        names = tuple(vocabulary.name(index) for index in which[:EXAMPLES].tolist())
        yield Finding(f"unseen-{plural}", severity, message, len(which), names)


def _frame(kb: KnowledgeBase, split: Split) -> pl.DataFrame:
    return pl.DataFrame(kb.facts(split), schema=dict.fromkeys(FACT, pl.Int64))
