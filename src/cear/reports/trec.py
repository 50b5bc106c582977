"""A system in the files of TREC: a run and its qrels that any tool of information retrieval can judge, and its lists.

The protocol is filtered: the other known answers of a query are not in the ranking of a gold. TREC has no such filter,
so each query and gold is a topic of its own, `tail:SUBJECT:RELATION:GOLD`, whose ranking has no other known answers.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO

import numpy as np
import polars as pl

from cear.core.blocks import BUDGET, blocks, blocks_of, rows_within
from cear.core.files import replacing
from cear.core.progress import Progress, silent
from cear.core.types import NO_ENTITY, Bools, Floats, Ints, Queries, Ragged, RankedLists, Split
from cear.data import KnowledgeBase
from cear.evaluation import Asked
from cear.ranking import Ranker
from cear.retrieval import encoded_id

_CELL_BYTES = 256  # of a place in a ranking: its columns, its line, and what is computed on the way


def write_trec_run(folder: Path, ranker: Ranker, split: Split, k: int, *, progress: Progress = silent) -> list[Path]:
    """Write `SPLIT.run`, the first k of each topic's ranking, and `SPLIT.qrels`, its gold with all mentions.

    The score of a place is counted from the end of the ranking: tools sort by scores, some in single precision, and
    would put in another order what we tell apart.
    """
    asked, ids, k = Asked.of(ranker.kb, split), _Ids(ranker.kb), min(k, ranker.kb.n_entities)
    once, query = asked.queries.distinct()
    known = asked.known.of_queries(once).counts[query]
    depth = np.minimum(k + known, ranker.kb.n_entities)  # so that k are left when all that is known is taken out
    order = np.lexsort((query, depth))  # blocks of like depth; topics of a query together, for they share its ranking
    paths = [folder / f"{split}.run", folder / f"{split}.qrels"]
    with _writing(*paths) as (run, qrels), progress("Writing the run", len(order)) as bar:
        for block in blocks_of(depth[order], BUDGET // _CELL_BYTES):
            here = order[block]
            queries, golds = asked.queries[here], asked.golds.take(here)
            ranked = ranker.rank_known_too(queries, int(depth[here].max())).entities
            kept = _first(_competes(ranked, golds, asked.known.of_queries(queries)), k)
            topics = ids.topics(queries, asked.gold[here])
            place = _places(kept)
            _write(run, ids.lines(topics, kept, ranked[kept], place, k + 1 - place))
            _write(qrels, _qrels(topics, golds, ids))
            bar.advance(len(here))
    return paths


def write_trec_lists(folder: Path, ranker: Ranker, split: Split, k: int, *, progress: Progress = silent) -> list[Path]:
    """Write `SPLIT.lists`, which `model: lists` reads: the k best of each query of a split, known answers too."""
    ids, k = _Ids(ranker.kb), min(k, ranker.kb.n_entities)
    once, _ = ranker.kb.queries(split).distinct()
    paths = [folder / f"{split}.lists"]
    with _writing(*paths) as (file,), progress("Writing the lists", len(once)) as bar:
        for block in blocks(len(once), rows_within(_CELL_BYTES * k)):
            ranked = ranker.rank_known_too(once[block], k)
            kept = ranked.entities != NO_ENTITY
            qids, scores = ids.queries(once[block]), one_scale(ranked)[kept]
            _write(file, ids.lines(qids, kept, ranked.entities[kept], _places(kept), scores))
            bar.advance(block.stop - block.start)
    return paths


def one_scale(ranked: RankedLists) -> Floats:
    """Scores that never rise along a ranking, (query, place): behind a re-ranked list those of Stage 1, moved below it.

    Who ties goes on to tie, and nobody else does.
    """
    behind, real = np.isnan(ranked.scores), ranked.entities != NO_ENTITY
    if not behind.any():
        return ranked.scores
    least = np.min(ranked.scores, axis=1, where=real & ~behind, initial=0.0, keepdims=True)  # or 0
    best = np.max(ranked.stage1_scores, axis=1, where=behind, initial=-np.inf, keepdims=True)
    return np.where(behind, least - 1 - (best - ranked.stage1_scores.astype(np.float64)), ranked.scores)


class _Ids:
    """Queries and entities of a knowledge base as they stand in files of TREC."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self._entities, self._relations = (
            pl.Series([encoded_id(id_) for id_ in each.table["id"]], dtype=pl.String)
            for each in (kb.entities, kb.relations)
        )

    def entities(self, entities: Ints) -> pl.Series:
        """The ids of entities."""
        return self._entities.gather(entities)

    def queries(self, queries: Queries) -> pl.Series:
        """`tail:SUBJECT:RELATION` or `head:OBJECT:RELATION`."""
        relations = len(self._relations)
        sides = pl.Series(["tail:", "head:"]).gather((queries.relation >= relations).astype(np.int64))
        return sides + self.entities(queries.entity) + ":" + self._relations.gather(queries.relation % relations)

    def topics(self, queries: Queries, gold: Ints) -> pl.Series:
        """A query and its gold."""
        return self.queries(queries) + ":" + self.entities(gold)

    def lines(self, qids: pl.Series, kept: Bools, entities: Ints, place: Ints, scores: Floats | Ints) -> pl.DataFrame:
        """The lines of a run, `qid Q0 docid rank score tag`; `kept` are the places of each qid that have one."""
        row = np.nonzero(kept)[0]
        columns = {"qid": qids.gather(row), "docid": self.entities(entities), "rank": place, "score": scores}
        return pl.DataFrame(columns).select("qid", pl.lit("Q0"), "docid", "rank", "score", pl.lit("cear").alias("tag"))


def _competes(entities: Ints, golds: Ragged, known: Ragged) -> Bools:
    """Which places of rankings a gold is ranked among, (topic, place): its own mentions, and who is not known."""
    return np.asarray((entities != NO_ENTITY) & (golds.contains(entities) | ~known.contains(entities)))


def _first(marked: Bools, k: int) -> Bools:
    """The first k marked places of each row."""
    return marked & (np.cumsum(marked, axis=1) <= k)


def _places(kept: Bools) -> Ints:
    """The rank of each kept place in its row, 1 is best, (place,)."""
    return np.asarray(np.cumsum(kept, axis=1, dtype=np.int64)[kept])


def _qrels(topics: pl.Series, golds: Ragged, ids: _Ids) -> pl.DataFrame:
    """The lines of qrels, `qid 0 docid 1`."""
    columns = {"qid": topics.gather(golds.rows), "docid": ids.entities(golds.values)}
    return pl.DataFrame(columns).select("qid", pl.lit(0), "docid", pl.lit(1).alias("relevance"))


def _write(file: BinaryIO, lines: pl.DataFrame) -> None:
    lines.write_csv(file, include_header=False, separator=" ", quote_style="never")


@contextmanager
def _writing(*paths: Path) -> Iterator[list[BinaryIO]]:
    """Open files that take the places of `paths` when all of them are written."""
    with ExitStack() as stack:
        partials = [stack.enter_context(replacing(path)) for path in paths]
        with ExitStack() as files:  # closed before they are put in their places
            yield [files.enter_context(partial.open("wb")) for partial in partials]
