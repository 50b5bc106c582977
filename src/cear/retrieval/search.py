"""Exact top-k in blocks: memory is bounded whatever the number of queries and entities.

Of entities that score the same the one with the lower number is better, so that there is one right list. Numbers of
a matrix product may depend on its shape, so the blocks of products do not depend on who multiplies: a part of the
entities (`cear.retrieval.parts`) is multiplied in the blocks of the whole.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn

from cear.core.blocks import BUDGET, blocks, rows_within
from cear.core.devices import array, tensor
from cear.core.errors import ScoreError
from cear.core.progress import Progress, silent
from cear.core.types import NO_ENTITY, Candidates, Floats, Ints, Queries, Ragged
from cear.data import KnownAnswers
from cear.retrieval.retriever import Retriever, SearchesItself
from cear.retrieval.scorer import DotProductScorer

_MIN_QUERIES = 64  # in a block: fewer waste the processor
_MIN_QUERIES_OF_PRODUCTS = 1024  # which share the work of bringing a block's entity vectors
_AT_HAND = 2**22  # scores that a processor's cache may hold
_GROUP = 16  # columns whose greatest score is looked at first


def top_k(
    scorer: Retriever,
    queries: Queries,
    k: int,
    *,
    drop: KnownAnswers | None = None,
    memory_mb: int = 256,
    progress: Progress = silent,
) -> Candidates:
    """The k best entities of each query exactly as scored; the gold is not even an argument.

    `drop` leaves out what is already known, so that no slot is spent on it. Of equal scores the lower number is
    first. Scores are computed in blocks of queries and entities that fit in `memory_mb`; a retriever that searches
    itself does it in its own way.
    """
    if isinstance(scorer, SearchesItself):
        found = scorer.top_k(queries, k, drop=drop, progress=progress)
        _refuse_not_finite(torch.from_numpy(found.scores[found.entities != NO_ENTITY]))
        return found
    in_pieces = isinstance(scorer, DotProductScorer)
    rows, columns = _block_shape(len(queries), scorer.n_entities, memory_mb, in_pieces=in_pieces)
    lists = [no_lists(k)]
    with progress("Searching", len(queries)) as bar:
        for block in blocks(len(queries), rows):
            lists.append(_top_k_of_block(scorer, queries[block], k, drop, columns))
            bar.advance(block.stop - block.start)
    return Candidates.concat(lists)


def no_lists(k: int) -> Candidates:
    """The lists of no query."""
    return Candidates(np.zeros((0, k), np.int64), np.zeros((0, k), np.float32))


@torch.inference_mode()
def best_of(scores: Tensor, k: int, known: Ragged | None = None) -> Candidates:
    """The k best of scores of all entities, (query, entity); what is `known` of each query is left out."""
    if known is not None:
        scores = _without(scores, known, 0)
    values, entities = (array(part) for part in scores.topk(min(k, scores.shape[1]), dim=-1))
    padded = [(0, 0), (0, k - values.shape[1])]
    values = np.pad(values, padded, constant_values=-np.inf)
    return Candidates(np.where(np.isneginf(values), NO_ENTITY, np.pad(entities, padded)), values)


@torch.inference_mode()
def candidate_scores(retriever: Retriever, queries: Queries, entities: Ints) -> Floats:
    """The scores of the entities in each query's row, (query, candidate), in bounded memory; -inf where padded."""
    safe = np.maximum(entities, 0)
    rows = rows_within(4 * retriever.n_entities, budget=BUDGET // 4)  # some have to score everybody to score some
    parts = [array(retriever.score_candidates(queries[b], safe[b])) for b in blocks(len(queries), rows)]
    scores = np.concatenate([np.zeros((0, entities.shape[1]), np.float32), *parts])
    _refuse_not_finite(torch.from_numpy(scores[entities != NO_ENTITY]))
    return np.where(entities == NO_ENTITY, -np.inf, scores)


def _block_shape(n_queries: int, n_entities: int, memory_mb: int, *, in_pieces: bool) -> tuple[int, int]:
    """How many queries and how many entities make a block of float32 scores of this size, or of less.

    Others than products of vectors may have to score everybody to score some.
    """
    if in_pieces:
        return product_shape(n_queries, n_entities, memory_mb)
    cells = max(memory_mb * 2**20 // 4, 1)
    rows = max(min(n_queries, max(cells // max(n_entities, 1), _MIN_QUERIES)), 1)
    return rows, max(n_entities if rows * n_entities <= cells else cells // rows, 1)


def product_shape(n_queries: int, n_entities: int, memory_mb: int = 256) -> tuple[int, int]:
    """How many queries and entities are multiplied at a time.

    A product of vectors is quickest for many queries and so few entities that their scores are still at hand when
    they are looked at. Which entities are multiplied together does not depend on the number of queries.
    """
    cells = max(memory_mb * 2**20 // 4, 1)
    if _MIN_QUERIES_OF_PRODUCTS * n_entities <= cells:
        return max(min(n_queries, cells // max(n_entities, 1)), 1), max(n_entities, 1)
    columns = max(min(cells, _AT_HAND) // _MIN_QUERIES_OF_PRODUCTS, 1)
    return max(min(n_queries, _MIN_QUERIES_OF_PRODUCTS), 1), min(columns, n_entities)


def _top_k_of_block(scorer: Retriever, queries: Queries, k: int, drop: KnownAnswers | None, columns: int) -> Candidates:
    """The best k of each query of a block."""
    whole = slice(0, scorer.n_entities)

    def score(part: slice) -> Tensor:
        return scorer.score_all(queries, None if part == whole else np.arange(part.start, part.stop))

    return best_in_blocks(score, whole, columns, k, None if drop is None else drop.of_queries(queries))


@torch.inference_mode()
def best_in_blocks(
    score: Callable[[slice], Tensor], among: slice, columns: int, k: int, known: Ragged | None
) -> Candidates:
    """The best k of a range of entities, merged over blocks of so many.

    `score` gives the scores of a block, (query, entity); what is `known` of each query is left out.
    """
    best: tuple[Tensor, Tensor] | None = None
    for block in blocks(among.stop - among.start, columns):
        start = among.start + block.start
        scores = score(slice(start, among.start + block.stop))
        _refuse_not_finite(scores)
        if known is not None:
            scores = _without(scores, known, start)
        if best is None:
            best = scores.new_full((len(scores), k), -torch.inf), _ids((len(scores), k), scores)
        best = _merge(best, scores, start, k)
    assert best is not None  # a knowledge base has entities
    values, entities = (array(part) for part in best)
    return Candidates(np.where(np.isneginf(values), NO_ENTITY, entities), values)


def _ids(shape: tuple[int, int], like: Tensor) -> Tensor:
    """Places without an entity, beside these scores."""
    return torch.full(shape, NO_ENTITY, device=like.device)


def _refuse_not_finite(scores: Tensor) -> None:
    """Raise `ScoreError` when a score is not finite: NaN and infinity survive a sum, in one pass."""
    if not bool(scores.sum().isfinite()):
        raise ScoreError("The scorer gave a score that is not finite; it cannot be ranked. Was its training stable?")


def _without(scores: Tensor, known: Ragged, start: int) -> Tensor:
    """The scores, minus infinity for what is known; a copy, for the matrix may be the scorer's own."""
    inside = (known.values >= start) & (known.values < start + scores.shape[1])
    cells = tensor(known.rows[inside], scores.device), tensor(known.values[inside] - start, scores.device)
    return scores.index_put(cells, scores.new_tensor(-torch.inf))


def _merge(best: tuple[Tensor, Tensor], scores: Tensor, start: int, k: int) -> tuple[Tensor, Tensor]:
    """The best k of what was best so far and a new block, whose entities have higher numbers."""
    least = best[0][:, -1:]
    if scores.device.type != "cpu" or torch.isneginf(least).any():  # a GPU sorts; or somebody's list is not full yet
        values, places = _first_k(scores, k)
    else:
        values, places = _above(scores, least)
    values = torch.cat([best[0], values], -1)
    entities = torch.cat([best[1], places + start], -1)
    values, order = values.sort(dim=-1, descending=True, stable=True)  # equal ones stay in the order of their numbers
    return values[:, :k], entities.gather(-1, order[:, :k])


def _first_k(scores: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The k best scores of each row and their columns, ascending: of equal scores the first columns."""
    values, places = scores.topk(min(k, scores.shape[1]), dim=-1)
    least = values[:, -1:]
    taken, there = (_count(each == least) for each in (values, scores))
    for row in ((there > taken) & ~torch.isneginf(least[:, 0])).nonzero()[:, 0].tolist():
        last = int(taken[row])  # so many of those that tie for the last places are taken: the first ones
        places[row, -last:] = (scores[row] == least[row]).nonzero()[:last, 0]
    places = places.sort(dim=-1).values
    return scores.gather(-1, places), places


def _count(marks: Tensor) -> Tensor:
    """How many marks a row has, (row,); as bytes, which PyTorch adds several times faster than truth values."""
    return marks.view(torch.uint8).sum(-1, dtype=torch.int64)


def _above(scores: Tensor, least: Tensor) -> tuple[Tensor, Tensor]:
    """The scores of each row above its least and their columns, ascending, (query, most that a row has).

    Most blocks have next to none once the lists are full. So groups of columns whose maximum is not above the least
    are skipped: one pass over the scores, where a top-k sorts.
    """
    padding = -scores.shape[1] % _GROUP
    groups = nn.functional.pad(scores, (0, padding), value=-torch.inf) if padding else scores
    groups = groups.view(len(scores), _GROUP, -1)  # column g * width + i is number g of group i
    row, group = (groups.amax(1) > least).nonzero(as_tuple=True)
    values = groups[row, :, group]  # (group with something, number)
    some, number = (values > least[row]).nonzero(as_tuple=True)
    columns = number * groups.shape[2] + group[some]
    order = (row[some] * groups.numel() + columns).argsort()
    return _side_by_side(row[some][order], values[some, number][order], columns[order], len(scores))


def _side_by_side(row: Tensor, values: Tensor, columns: Tensor, n_rows: int) -> tuple[Tensor, Tensor]:
    """The values and columns of each row from the left, minus infinity behind them; `row` is in order."""
    counts = torch.bincount(row, minlength=n_rows)
    place = torch.arange(len(row)) - (counts.cumsum(0) - counts)[row]
    shape = n_rows, int(counts.max())
    return (
        torch.full(shape, -torch.inf, dtype=values.dtype).index_put((row, place), values),
        torch.full(shape, NO_ENTITY).index_put((row, place), columns),
    )
