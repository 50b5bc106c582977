"""Which questions are worth asking: the plausible ones, by how many missing answers each is expected to have.

Plausible is what training facts, and types where the data has them, say: ⟨e, r, ?⟩ if e has r already, or if enough of
the entities that share a relation or a type with e have r. How many answers are missing is learned from validation
facts: nobody lacks a second birthplace, and many lack a third child.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from cear.completion.boosting import Boosted, Counted, Fitted, sample_groups
from cear.completion.counts import Counts
from cear.core.blocks import blocks, blocks_of
from cear.core.types import Bools, Floats, Ints, Queries
from cear.data import KnowledgeBase

if TYPE_CHECKING:
    from scipy import sparse  # who only asks need not wait for it

_ENTITIES = 4096  # whose plausible queries are found at a time
_MOST_ROWS = 400_000  # queries that the expectation is learned from
_MOST_PAIRS = 2**25  # of relations that an entity has, counted at a time: a common name may have many thousands
_JUDGED = 2**20  # questions whose features are in memory at a time


@dataclass(frozen=True, eq=False)
class Questions:
    """Plausible queries, each once, ordered by relation and entity."""

    queries: Queries
    evidence: Floats  # (query,): how strongly the entity's relations and types suggest that it has the relation
    expected: Floats  # (query,): how many of its answers are missing, of as many facts as validation holds

    def __len__(self) -> int:
        return len(self.queries)

    def best(self, n: int) -> Questions:
        """The n with the most missing answers to expect, in their order; of equal ones the first."""
        return self[np.sort(np.argsort(-self.expected, kind="stable")[:n])]

    def among(self, relations: Sequence[int] | None, subjects: Sequence[int] | None, n_relations: int) -> Questions:
        """Those for facts of some relations and some subjects; None is all. Of given subjects only they are asked."""
        asked = self.queries
        wanted = np.ones(len(self), bool)
        if relations is not None:
            wanted &= np.isin(asked.relation % n_relations, relations)
        if subjects is not None:
            wanted &= (asked.relation < n_relations) & np.isin(asked.entity, subjects)
        return self[wanted]

    def __getitem__(self, chosen: Ints | Bools) -> Questions:
        return Questions(self.queries[chosen], self.evidence[chosen], self.expected[chosen])


def plausible(kb: KnowledgeBase, least_share: float) -> tuple[Queries, Floats]:
    """Every plausible query of both directions, and how strongly others suggest it, from training facts alone."""
    has, suggests = _attributes(kb), _suggestions(kb, least_share)
    parts = [_plausible_of(has, suggests, block, kb) for block in blocks(kb.n_entities, _ENTITIES)]
    entity, relation, evidence = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    order = np.lexsort((entity, relation))
    return Queries(entity[order], relation[order]), evidence[order]


class Expectation:
    """How many answers of a query are missing, of as many facts as validation holds; learned from validation facts."""

    def __init__(self, trees: Fitted) -> None:
        self.trees = trees

    @classmethod
    def learn(cls, counts: Counts, least_share: float, most: int, *, seed: int) -> Self:
        """Learned from the plausible queries of a knowledge base; more than `most` answers count as so many."""
        kb = counts.kb
        queries, evidence = plausible(kb, least_share)
        missing = kb.known("valid").of_queries(queries).counts.astype(np.float64)
        learner = Boosted(leaves=15, least_in_leaf=100)
        groups = _groups(queries, kb)
        few, weight = sample_groups(groups, _MOST_ROWS, missing > 0, seed=seed)
        told = Counted(np.minimum(missing, most)[few], weight[few])
        return cls(learner.fit(_features(counts, queries[few], evidence[few]), told, groups[few], seed=seed))

    def questions(self, counts: Counts, least_share: float) -> Questions:
        """All plausible questions of a knowledge base, with what each is expected to lack.

        A question is judged by those that have not learned from it, so that the questions of validation facts are not
        asked any sooner than those of facts to come.
        """
        queries, evidence = plausible(counts.kb, least_share)
        judged = [self._judged(counts, queries[part], evidence[part]) for part in blocks(len(queries), _JUDGED)]
        return Questions(queries, evidence, np.exp(np.concatenate([np.zeros(0), *judged])))

    def _judged(self, counts: Counts, queries: Queries, evidence: Floats) -> Floats:
        """What the trees say of some of the questions, (query,)."""
        return self.trees.raw(_features(counts, queries, evidence), _groups(queries, counts.kb))


def _features(counts: Counts, queries: Queries, evidence: Floats) -> Floats:
    return np.column_stack([counts.of_queries(queries), evidence])


def _groups(queries: Queries, kb: KnowledgeBase) -> Ints:
    """What stays together when queries are dealt for learning and judging: each by itself, (query,)."""
    return queries.relation * kb.n_entities + queries.entity


def _attributes(kb: KnowledgeBase) -> sparse.csr_array:
    """Which relations, in both directions, and types each entity has, (entity, attribute), 1 or 0."""
    from scipy import sparse

    asked = kb.known("train").queries
    rows, columns = [asked.entity], [asked.relation]
    width = 2 * kb.n_relations
    if kb.types is not None:
        rows.append(kb.types.of_entity.rows)
        columns.append(kb.types.of_entity.values + width)
        width += len(kb.types.names)
    row, column = np.concatenate(rows), np.concatenate(columns)
    return sparse.csr_array((np.ones(len(row), np.float32), (row, column)), shape=(kb.n_entities, width))


def _suggestions(kb: KnowledgeBase, least_share: float) -> sparse.csr_array:
    """-log(1 - share) of the entities with an attribute that have a relation, (attribute, relation), or 0.

    Pairs are counted for some attributes at a time, and only for those that may have a share so large: in an open
    knowledge base an entity may have many thousands of relations, and their pairs would fill any memory.
    """
    from scipy import sparse

    has, width = _attributes(kb), 2 * kb.n_relations
    sizes = np.asarray(has.sum(axis=0)).reshape(-1)
    can = np.flatnonzero(sizes / (sizes + 1) >= least_share)  # one more, so that a single entity proves nothing
    common = np.flatnonzero(sizes[:width] >= least_share * (sizes[can].min(initial=np.inf) + 1))
    having, relations = has.tocsc()[:, can], has.tocsc()[:, common].tocsr()
    pairs = (having.T @ np.diff(relations.indptr)).astype(np.int64)  # (attribute,), how many are counted for it
    parts: list[Sequence[Ints | Floats]] = [(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.float32))]
    for block in blocks_of(pairs, _MOST_PAIRS):
        both = (having[:, block].T @ relations).tocoo()
        attribute, relation = can[both.row + block.start], common[both.col]
        share = both.data / (sizes[attribute] + 1)
        kept = (share >= least_share) & (attribute != relation)
        parts.append((attribute[kept], relation[kept], -np.log1p(-share[kept])))
    row, column, surprise = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return sparse.csr_array((surprise, (row, column)), shape=(has.shape[1], width))


def _plausible_of(
    has: sparse.csr_array, suggests: sparse.csr_array, block: slice, kb: KnowledgeBase
) -> Sequence[Ints | Floats]:
    """Entities, relations and evidence of the plausible queries of a block of entities."""
    from scipy import sparse

    mine = has[block]
    evidence = (mine @ suggests).tocoo()
    known = mine[:, : 2 * kb.n_relations].tocoo()
    row, column = np.concatenate([evidence.row, known.row]), np.concatenate([evidence.col, known.col])
    values = np.concatenate([evidence.data, np.zeros(known.nnz, np.float32)])
    summed = sparse.coo_array((values, (row, column)), shape=evidence.shape)
    summed.sum_duplicates()
    return summed.row.astype(np.int64) + block.start, summed.col.astype(np.int64), summed.data.astype(np.float32)
