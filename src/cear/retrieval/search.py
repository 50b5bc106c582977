"""Exact top-k in blocks: memory is bounded whatever the number of queries and entities."""

from __future__ import annotations

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

    `drop` leaves out what is already known, so that no slot is spent on it. Scores are computed in blocks of
    queries and entities that fit in `memory_mb`; a retriever that searches itself does it in its own way.
    """
    if isinstance(scorer, SearchesItself):
        found = scorer.top_k(queries, k, drop=drop, progress=progress)
        _refuse_not_finite(torch.from_numpy(found.scores[found.entities != NO_ENTITY]))
        return found
    in_pieces = isinstance(scorer, DotProductScorer)
    rows, columns = _block_shape(len(queries), scorer.n_entities, memory_mb, in_pieces=in_pieces)
    found_in = []
    with progress("Searching", len(queries)) as bar:
        for block in blocks(len(queries), rows):
            found_in.append(_top_k_of_block(scorer, queries[block], k, drop, columns))
            bar.advance(block.stop - block.start)
    if not found_in:
        return Candidates(np.zeros((0, k), np.int64), np.zeros((0, k), np.float32))
    scores, entities = (np.concatenate([array(part) for part in parts]) for parts in zip(*found_in, strict=True))
    return Candidates(np.where(np.isneginf(scores), NO_ENTITY, entities), scores)


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

    A product of vectors is quickest for many queries and so few entities that their scores are still at hand when
    they are looked at (`in_pieces`). Others may have to score everybody to score some.
    """
    cells = max(memory_mb * 2**20 // 4, 1)
    least = _MIN_QUERIES_OF_PRODUCTS if in_pieces else _MIN_QUERIES
    rows = max(min(n_queries, max(cells // max(n_entities, 1), least)), 1)
    if rows * n_entities <= cells:
        return rows, max(n_entities, 1)
    return rows, max(min(cells, _AT_HAND if in_pieces else cells) // rows, 1)


@torch.inference_mode()
def _top_k_of_block(
    scorer: Retriever, queries: Queries, k: int, drop: KnownAnswers | None, columns: int
) -> tuple[Tensor, Tensor]:
    """Scores and entities of the best k, (query, k) each, merged over blocks of entities."""
    known = None if drop is None else drop.of_queries(queries)
    best: tuple[Tensor, Tensor] | None = None
    for part in blocks(scorer.n_entities, columns):
        whole = part == slice(0, scorer.n_entities)
        scores = scorer.score_all(queries, None if whole else np.arange(part.start, part.stop))
        _refuse_not_finite(scores)
        if known is not None:
            scores = _without(scores, known, part.start)
        if best is None:
            best = scores.new_full((len(queries), k), -torch.inf), _ids((len(queries), k), scores)
        best = _merge(best, scores, part.start, k)
    assert best is not None  # a knowledge base has entities
    return best


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
    """The best k of what was best so far and a new block."""
    least = best[0][:, -1:]
    if scores.device.type != "cpu" or torch.isneginf(least).any():  # a GPU sorts; or somebody's list is not full yet
        values, places = scores.topk(min(k, scores.shape[1]), dim=-1)
    else:
        values, places = _above(scores, least)
    values = torch.cat([best[0], values], -1)
    entities = torch.cat([best[1], places + start], -1)
    values, order = values.topk(k, dim=-1)
    return values, entities.gather(-1, order)


def _above(scores: Tensor, least: Tensor) -> tuple[Tensor, Tensor]:
    """The scores of each row above its least and their columns, (query, as many as the row with most has).

    Most blocks have next to none once the lists are full. So groups of columns whose maximum is not above the least
    are skipped: one pass over the scores, where a top-k sorts.
    """
    padding = -scores.shape[1] % _GROUP
    groups = nn.functional.pad(scores, (0, padding), value=-torch.inf) if padding else scores
    groups = groups.view(len(scores), _GROUP, -1)  # column g * width + i is number g of group i
    row, group = (groups.amax(1) > least).nonzero(as_tuple=True)
    values = groups[row, :, group]  # (group with something, number)
    some, number = (values > least[row]).nonzero(as_tuple=True)
    return _side_by_side(row[some], values[some, number], number * groups.shape[2] + group[some], len(scores))


def _side_by_side(row: Tensor, values: Tensor, columns: Tensor, n_rows: int) -> tuple[Tensor, Tensor]:
    """The values and columns of each row from the left, minus infinity behind them; `row` is in order."""
    counts = torch.bincount(row, minlength=n_rows)
    place = torch.arange(len(row)) - (counts.cumsum(0) - counts)[row]
    shape = n_rows, int(counts.max())
    return (
        torch.full(shape, -torch.inf, dtype=values.dtype).index_put((row, place), values),
        torch.full(shape, NO_ENTITY).index_put((row, place), columns),
    )
