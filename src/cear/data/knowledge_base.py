"""The knowledge base: facts as integers, the vocabulary that names them, and what is known about a query."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from cear.core.counting import starts_run
from cear.core.errors import DataError
from cear.core.types import SPLITS, Bools, Ints, Queries, Ragged, Split
from cear.data.entity_types import Types
from cear.data.mentions import Mentions
from cear.data.vocabulary import Vocabulary


class KnowledgeBase:
    """Facts ⟨subject, relation, object⟩ in three splits, with names. Immutable.

    >>> e = Vocabulary.from_ids("entity", ["Paris", "France", "Berlin"])
    >>> r = Vocabulary.from_ids("relation", ["capital of"])
    >>> kb = KnowledgeBase("toy", e, r, {"train": np.array([[0, 0, 1]])})
    >>> kb
    KnowledgeBase('toy': 3 entities, 1 relations, 1 / 0 / 0 facts)
    >>> kb.queries("train").relation  # the tail is asked first, then the head through the reciprocal relation
    array([0, 1])
    >>> kb.gold("train")
    array([1, 0])
    """

    def __init__(
        self,
        name: str,
        entities: Vocabulary,
        relations: Vocabulary,
        splits: Mapping[Split, Ints],
        mentions: Mentions | None = None,
        types: Types | None = None,
    ) -> None:
        self.name = name
        self.entities = entities
        self.relations = relations
        self.mentions = mentions
        self.types = types
        self._facts = {split: self._checked(split, splits.get(split)) for split in SPLITS}
        self._known: dict[tuple[Split, bool], KnownAnswers] = {}
        self._joined: dict[tuple[frozenset[Split], bool], KnownAnswers] = {}
        if mentions is not None:
            mentions.check(self._facts, self.n_entities)
        if types is not None:
            types.check(self.n_entities)

    def __repr__(self) -> str:
        sizes = " / ".join(f"{len(self.facts(split)):,}" for split in SPLITS)
        counts = f"{self.n_entities:,} entities, {self.n_relations:,} relations, {sizes} facts"
        return f"KnowledgeBase({self.name!r}: {counts})"

    @property
    def n_entities(self) -> int:
        """The number of entities."""
        return len(self.entities)

    @property
    def n_relations(self) -> int:
        """The number of relations, reciprocal ones not counted."""
        return len(self.relations)

    def facts(self, split: Split) -> Ints:
        """The facts of a split, (fact, 3): subject, relation, object."""
        return self._facts[split]

    def queries(self, split: Split) -> Queries:
        """Both questions of every fact: first all ⟨s, r, ?⟩, then all ⟨?, r, o⟩."""
        s, r, o = self.facts(split).T
        return Queries(np.concatenate([s, o]), np.concatenate([r, r + self.n_relations]))

    def gold(self, split: Split) -> Ints:
        """The answer of each of `queries(split)`. For measuring and for training, never for making lists."""
        s, _, o = self.facts(split).T
        return np.concatenate([o, s])

    def asks_head(self, queries: Queries) -> Bools:
        """Which queries ask for the head, (query,)."""
        return queries.relation >= self.n_relations

    def gold_mentions(self, split: Split) -> Ragged:
        """All that counts as the answer of each of `queries(split)`: the gold and every other mention of it."""
        gold = self.gold(split)
        if self.mentions is None or split not in self.mentions.ends:
            return Ragged.singles(gold)
        things = self.mentions.ends[split][:, ::-1].T.ravel()  # objects, then subjects, as the golds are
        return self.mentions.of(gold, things)

    def known(self, *splits: Split, mentions: bool = False) -> KnownAnswers:
        """Every answer that the facts of these splits give to a query.

        With `mentions` also every other mention of each answer: for measuring, never for learning. Those of a split are
        made once and shared by all that ask for it, alone or with others: there may be gigabytes of them.
        """
        parts = [self._known_of(split, mentions=mentions) for split in SPLITS if split in splits]
        if len(parts) == 1:
            return parts[0]
        return self._joined.setdefault((frozenset(splits), mentions), JoinedAnswers(parts, self.n_entities))

    def with_facts(self, splits: Mapping[Split, Ints], mentions: Mentions | None = None) -> KnowledgeBase:
        """The same entities, relations and types with these facts; a type that only a missing fact says is gone."""
        train = splits.get("train", np.zeros((0, 3), np.int64))
        types = None if self.types is None else self.types.said_in(train)
        return KnowledgeBase(self.name, self.entities, self.relations, splits, mentions, types)

    def with_types(self, types: Types | None) -> KnowledgeBase:
        """The same knowledge base with these types instead of its own."""
        return KnowledgeBase(self.name, self.entities, self.relations, self._facts, self.mentions, types)

    @cached_property
    def digest(self) -> str:
        """A hash of all content: ids, names, descriptions, mentions, types, facts. The KB's own name is not content."""
        hashed = hashlib.sha256()
        for content in self._content():
            # The length keeps neighbours apart: "ab" + "c" is not "a" + "bc".
            hashed.update(len(content).to_bytes(8, "little"))
            hashed.update(content)
        return hashed.hexdigest()

    def _known_of(self, split: Split, *, mentions: bool) -> KnownAnswers:
        """The known answers of one split; where its facts have no other mentions, those with mentions are the same."""
        key = (split, mentions and self.mentions is not None and split in self.mentions.ends)
        if (found := self._known.get(key)) is not None:
            return found
        made = map(self._mention_pairs if key[1] else self._pairs, [split])  # nobody holds them while they are sorted
        # Two threads may both make it, and then share one.
        return self._known.setdefault(key, KnownAnswers.of_pairs(made, self.n_entities))

    def _pairs(self, split: Split) -> tuple[Ints, Ints]:
        """Both queries of every fact as numbers, and their answers."""
        return query_pairs(self.facts(split), self.n_entities, self.n_relations)

    def _mention_pairs(self, split: Split) -> tuple[Ints, Ints]:
        """The same with every other mention of each answer."""
        key, _ = self._pairs(split)
        mentions = self.gold_mentions(split)
        return np.repeat(key, mentions.counts), mentions.values

    def _content(self) -> Iterator[bytes]:
        yield from self.entities.content()
        yield from self.relations.content()
        for split in SPLITS:
            yield self.facts(split).astype("<i8").tobytes()
        if self.mentions is not None:
            yield from self.mentions.content()
        if self.types is not None:
            yield from self.types.content()

    def _checked(self, split: Split, facts: Ints | None) -> Ints:
        facts = np.zeros((0, 3), np.int64) if facts is None else np.array(facts, np.int64, order="C")
        if facts.ndim != 2 or facts.shape[1] != 3:
            raise DataError(f"The {split} facts of {self.name!r} have shape {facts.shape}, not (facts, 3).")
        limits = (self.n_entities, self.n_relations, self.n_entities)
        if len(facts) and ((facts < 0) | (facts >= limits)).any():
            raise DataError(f"A {split} fact of {self.name!r} names an entity or relation outside {limits}.")
        facts.setflags(write=False)
        return facts


class KnownAnswers:
    """For every query its known answers, each once, grouped for fast look-up of many queries at a time."""

    def __init__(self, keys: Ints, answers: Ragged, n_entities: int) -> None:
        self._keys = keys  # (distinct query,), ascending
        self._answers = answers  # a row per distinct query, ascending within
        self._n_entities = n_entities

    @classmethod
    def of(cls, facts: Ints, n_entities: int, n_relations: int) -> KnownAnswers:
        """The answers that these facts give, in both directions."""
        return cls.of_pairs(map(query_pairs, [facts], [n_entities], [n_relations]), n_entities)

    @classmethod
    def of_pairs(cls, pairs: Iterable[tuple[Ints, Ints]], n_entities: int) -> KnownAnswers:
        """These queries and their answers, a query ⟨entity, relation, ?⟩ being `relation * n_entities + entity`."""
        key, answer = _distinct_pairs([*pairs], n_entities)
        starts = np.flatnonzero(starts_run(key))
        offsets = np.append(starts, len(key)).astype(np.int64)
        return cls(key[starts], Ragged(offsets, answer), n_entities)

    @property
    def queries(self) -> Queries:
        """The distinct queries that have a known answer, aligned with `answers`."""
        return Queries(self._keys % self._n_entities, self._keys // self._n_entities)

    @property
    def answers(self) -> Ragged:
        """The known answers of each of `queries`."""
        return self._answers

    @property
    def pairs(self) -> tuple[Ints, Ints]:
        """Each query as a number, as `of_pairs` takes it, with each of its answers."""
        return np.repeat(self._keys, self._answers.counts), self._answers.values

    def of_queries(self, queries: Queries) -> Ragged:
        """The known answers of each of these queries; none for a query that no fact speaks of."""
        key = queries.relation * self._n_entities + queries.entity
        place = np.searchsorted(self._keys, key)
        found = place < len(self._keys)
        found[found] = self._keys[place[found]] == key[found]
        answers, counts = self._answers.take(place[found]), np.zeros(len(key), np.int64)
        counts[found] = answers.counts
        return Ragged.of_counts(counts, answers.values)


class JoinedAnswers(KnownAnswers):
    """The known answers of several splits, looked up in each and joined row by row: nothing is kept twice."""

    def __init__(self, parts: Sequence[KnownAnswers], n_entities: int) -> None:
        self._parts, self._n_entities = parts, n_entities

    @property
    def queries(self) -> Queries:
        """The distinct queries that have a known answer, aligned with `answers`."""
        return self._whole.queries

    @property
    def answers(self) -> Ragged:
        """The known answers of each of `queries`."""
        return self._whole.answers

    def of_queries(self, queries: Queries) -> Ragged:
        """The known answers of each of these queries; none for a query that no fact speaks of."""
        found = [part.of_queries(queries) for part in self._parts]
        some = [rows for rows in found if len(rows.values)]
        if len(some) < 2:
            return some[0] if some else Ragged.empty(len(queries))
        place = np.unique(np.concatenate([rows.rows * self._n_entities + rows.values for rows in some]))
        counts = np.bincount(place // self._n_entities, minlength=len(queries))
        return Ragged.of_counts(counts, place % self._n_entities)

    @cached_property
    def _whole(self) -> KnownAnswers:
        """All of them in one: for whoever wants to go through every query."""
        return KnownAnswers.of_pairs((part.pairs for part in self._parts), self._n_entities)


def query_pairs(facts: Ints, n_entities: int, n_relations: int) -> tuple[Ints, Ints]:
    """Both queries of every fact, as numbers, and their answers, (2 facts,) each."""
    s, r, o = facts.T
    return np.concatenate([r * n_entities + s, (r + n_relations) * n_entities + o]), np.concatenate([o, s])


def _distinct_pairs(pairs: list[tuple[Ints, Ints]], n_entities: int) -> tuple[Ints, Ints]:
    """Each pair once, ascending by key, then by answer; `pairs` is emptied, since half a billion bytes are one copy.

    That is what the keys of OLPBENCH's training facts take.
    """
    if (max(int(key.max(initial=0)) for key, _ in pairs) + 1) * n_entities < 2**64:
        # One number a pair: numpy sorts these fastest by far. Unsigned, or those of OLPBENCH would not fit.
        packed = np.concatenate([_packed(*pairs.pop(), n_entities) for _ in range(len(pairs))])
        packed.sort()
        packed = packed[starts_run(packed)]
        answer = (packed % np.uint64(n_entities)).view(np.int64)
        packed //= np.uint64(n_entities)
        return packed.view(np.int64), answer
    key, answer = (np.concatenate(columns) for columns in zip(*pairs, strict=True))
    order = np.lexsort((answer, key))
    key, answer = key[order], answer[order]
    first = starts_run(key) | starts_run(answer)
    return key[first], answer[first]


def _packed(key: Ints, answer: Ints, n_entities: int) -> npt.NDArray[np.uint64]:
    """One number for each pair."""
    packed = key.astype(np.uint64)
    packed *= np.uint64(n_entities)
    packed += answer.astype(np.uint64)
    return packed
