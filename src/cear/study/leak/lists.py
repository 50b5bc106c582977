"""Candidate lists made with the gold in hand, on purpose.

The code base of the paper's Stage 1 writes, before it ranks, the gold's score into the slot of every known answer. Its
own filtered rank does not change. The paper's lists were dumped by sorting these scores, so the gold stands inside a
block of equal scores that holds the known answers of the query and nobody else, but for chance.
"""

from __future__ import annotations

import numpy as np

from cear.candidates import Lists, Manifest, Retrievers
from cear.core.blocks import blocks
from cear.core.progress import Progress, silent
from cear.core.types import SPLITS, Candidates, Floats, Ints, Queries, Split
from cear.evaluation import checked_scores


def leaky_scores(scores: Floats, gold: int, known: Ints) -> Floats:
    """The scores of a query, (entity,), with that of the gold in the slot of every known answer."""
    leaked = scores.copy()
    leaked[known] = scores[gold]
    return leaked


def leaky_lists(
    retrievers: Retrievers,
    queries: Queries,
    gold: Ints,
    k: int,
    *,
    split: Split,
    seed: int,
    progress: Progress = silent,
) -> Lists:
    """The best k of each query by scores that were made with its gold, (query,), in hand.

    The gold is an argument on purpose: this is the mistake that is studied. Nothing else in this package that makes
    lists to be measured has such an argument. A list belongs to a fact and a side, not to a query: facts that share a
    query have different lists. Known answers are those of all splits.
    """
    kb, k = retrievers.kb, min(k, retrievers.kb.n_entities)
    once, place = queries.distinct()
    known, order = kb.known(*SPLITS).of_queries(once), np.argsort(place, kind="stable")
    entities, scores = np.empty((len(queries), k), np.int64), np.empty((len(queries), k), np.float32)
    with progress("Making leaky lists", len(queries)) as bar:
        # The blocks of `Ranker.places`: a score is the same to the last bit in both.
        for block in blocks(len(once), retrievers.block_rows):
            here = order[slice(*np.searchsorted(place[order], [block.start, block.stop]))]
            found = checked_scores(retrievers.first, once[block])
            for row in here.tolist():
                answers = known.row(place[row])
                leaked = leaky_scores(found[place[row] - block.start], int(gold[row]), answers)
                drawn = [seed, int(queries.entity[row]), int(queries.relation[row]), int(gold[row])]
                entities[row] = _dumped(leaked, k, np.random.default_rng(drawn))
                scores[row] = leaked[entities[row]]
            bar.advance(len(here))
    manifest = Manifest(kb.name, kb.digest, split, k, "keep", f"leaky {type(retrievers.first).__name__}")
    return Lists(queries, Candidates(entities, scores), manifest)


def _dumped(scores: Floats, k: int, rng: np.random.Generator) -> Ints:
    """The k best entities; equals in a random order, as a sort that is not stable has them in none that tells."""
    limit = np.partition(scores, -k)[-k]
    best = np.flatnonzero(scores >= limit)
    order = np.lexsort((rng.random(len(best)), -scores[best]))
    return best[order[:k]]
