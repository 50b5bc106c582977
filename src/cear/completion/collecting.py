"""Asking many questions and keeping what comes back: in parts that anybody may ask, joined in the end."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from cear.completion.counts import Counts
from cear.completion.proposals import Proposals
from cear.completion.views import Views, best_views, given_views, n_view_features
from cear.core.blocks import blocks
from cear.core.context import Context
from cear.core.errors import OutOfTime
from cear.core.progress import Progress, silent
from cear.core.reading import reading
from cear.core.tensors import read_tensors, write_tensors
from cear.core.types import Ints, Queries
from cear.ranking import Ranker

PROPOSALS, VIEWS = "proposals.safetensors", "views.safetensors"
_PART = 4096  # questions that are asked before their answers are kept


def parts_of(queries: Queries) -> list[slice]:
    """The parts that questions are asked in, one after the other or by several at once."""
    return [*blocks(len(queries), _PART)]


def ask_part(ranker: Ranker, queries: Queries, n: int, folder: Path, context: Context) -> None:
    """Write the n best answers of a part of the questions."""
    if context.deadline.passed():
        raise OutOfTime("The time is over while questions were asked. The same command goes on from here.")
    _write_views(folder / VIEWS, asked(ranker, queries, n))


def join_parts(queries: Queries, answered: Sequence[Path], extra: int, counts: Counts, folder: Path) -> None:
    """Write what all questions propose, from the folders of their parts; `extra` retrievers stand beside Stage 1."""
    starts = [part.start for part in parts_of(queries)]
    views = [_read_views(each / VIEWS).from_query(start) for start, each in zip(starts, answered, strict=True)]
    write_proposals(folder / PROPOSALS, Proposals.of(queries, Views.concat([_no_views(extra), *views]), counts))


def asked(ranker: Ranker, queries: Queries, n: int, *, progress: Progress = silent) -> Views:
    """The n best answers of every query."""
    parts = [_no_views(len(ranker.retrievers.extra))]
    with progress("Asking", len(queries)) as bar:
        for block in blocks(len(queries), ranker.retrievers.block_rows):
            parts.append(best_views(ranker, queries[block], n).from_query(block.start))
            bar.advance(block.stop - block.start)
    return Views.concat(parts)


def judged(ranker: Ranker, facts: Ints, counts: Counts, *, progress: Progress = silent) -> Proposals:
    """The given facts as proposals, each once, as answers of both their questions, wherever they stand there."""
    kb = ranker.kb
    facts = np.unique(facts, axis=0)
    s, r, o = facts.T
    queries = Queries(np.concatenate([s, o]), np.concatenate([r, r + kb.n_relations]))
    order = np.argsort(queries.distinct()[1], kind="stable")  # those of one query together: it is read once
    queries, given, parts = queries[order], np.concatenate([o, s])[order], [_no_views(len(ranker.retrievers.extra))]
    with progress("Judging", len(queries)) as bar:
        for block in blocks(len(queries), ranker.retrievers.block_rows):
            parts.append(given_views(ranker, queries[block], given[block]).from_query(block.start))
            bar.advance(block.stop - block.start)
    return Proposals.of(queries, Views.concat(parts), counts)


def write_proposals(path: Path, proposals: Proposals) -> None:
    """Write proposals as one file, atomically."""
    arrays = {name: getattr(proposals, name) for name in ("facts", "views", "counts", "ranks")}
    write_tensors(path, {name: torch.from_numpy(array) for name, array in arrays.items()})


def read_proposals(path: Path) -> Proposals:
    """The proposals in a file."""
    tensors, _ = read_tensors(path)
    with reading(path):
        return Proposals(*(tensors[name].numpy() for name in ("facts", "views", "counts", "ranks")))


def _no_views(extra: int) -> Views:
    nothing = np.zeros(0, np.int64)
    return Views(nothing, nothing, np.zeros((0, n_view_features(extra)), np.float32), nothing)


def _write_views(path: Path, views: Views) -> None:
    arrays = {name: getattr(views, name) for name in ("query", "answer", "features", "rank")}
    write_tensors(path, {name: torch.from_numpy(np.ascontiguousarray(array)) for name, array in arrays.items()})


def _read_views(path: Path) -> Views:
    tensors, _ = read_tensors(path)
    with reading(path):
        return Views(*(tensors[name].numpy() for name in ("query", "answer", "features", "rank")))
