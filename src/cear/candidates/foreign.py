"""Lists to learn from that somebody else has made, in any format that Stage 1 reads."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from cear.candidates.files import read_lists
from cear.candidates.lists import Lists, Manifest
from cear.core.progress import Progress, silent
from cear.core.types import NO_ENTITY, Candidates
from cear.data import KnowledgeBase
from cear.retrieval import Rankings, is_parquet, read_rankings


def bring_lists(path: Path, kb: KnowledgeBase, k: int, *, progress: Progress = silent) -> Lists:
    """The lists in a file: our own as they are, of any other format the best k of each query."""
    if is_parquet(path):
        return read_lists(path, kb)
    return lists_of(read_rankings([path], kb, progress=progress), kb, k)


def lists_of(rankings: Rankings, kb: KnowledgeBase, k: int) -> Lists:
    """The best k of each ranking, or as many as the longest has, as lists of training queries."""
    listed = rankings.entities
    k = min(k, int(listed.counts.max(initial=1)))
    place = np.arange(len(listed.values)) - np.repeat(listed.offsets[:-1], listed.counts)
    row, place, kept = listed.rows[place < k], place[place < k], place < k
    entities, scores = np.full((len(rankings), k), NO_ENTITY), np.full((len(rankings), k), -np.inf)
    entities[row, place], scores[row, place] = listed.values[kept], rankings.scores[kept]
    manifest = Manifest(kb.name, kb.digest, "train", k, "keep", "lists")
    return Lists(rankings.queries, Candidates(entities, scores.astype(np.float32)), manifest)
