"""The lists of queries as the ranker reads them, with an answer in each, and how probable it is there."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from cear.candidates import Found, Lists, distinct_lists, with_given
from cear.core.types import NO_ENTITY, Bools, Candidates, Floats, Ints, Queries
from cear.ranking import Ranker
from cear.reranking import log_probabilities


@dataclass(frozen=True, eq=False)
class AnswerLists:
    """Lists with an answer in each. Probabilities are shares of the list: its final scores in a softmax."""

    ranker: Ranker
    lists: Lists
    answers: Ints  # (list,)

    def __len__(self) -> int:
        return len(self.answers)

    def __getitem__(self, which: Ints) -> AnswerLists:
        return replace(self, lists=self.lists[which], answers=self.answers[which])

    @property
    def entities(self) -> Ints:
        """The candidates, (list, candidate), `NO_ENTITY` for padding and for other answers that train knows."""
        found = self.lists.candidates.entities
        known = self.ranker.kb.known("train").of_queries(self.lists.queries).contains(found)
        return np.where(known & (found != self.answers[:, None]), NO_ENTITY, found)

    def shares(self, final: Floats) -> Floats:
        """The log-probability of each candidate by these final scores, (list, candidate); -inf where there is none."""
        return log_probabilities(Candidates(self.entities, final))

    def of_answer(self, values: Floats) -> Floats:
        """What (list, candidate) has for each answer, (list,)."""
        place = (self.lists.candidates.entities == self.answers[:, None]).argmax(axis=1)
        return np.asarray(values[np.arange(len(self)), place])

    def fused(self, stage2: Floats) -> Floats:
        """The final scores when Stage 2 says this, (list, candidate)."""
        return self.ranker.fusion.fuse(self.lists, stage2, self.ranker.kb)

    def distinct(self) -> tuple[Lists, Ints]:
        """Each different list once, and the place of each of these among them: answers may share a list."""
        return distinct_lists(self.lists)

    def with_flat_stage1(self) -> AnswerLists:
        """The same with a Stage 1 that makes no difference between candidates."""
        entities = self.lists.candidates.entities
        flat = np.where(entities == NO_ENTITY, -np.inf, np.float32(0))
        return replace(self, lists=replace(self.lists, candidates=Candidates(entities, flat)))

    def without(self, columns: Ints) -> AnswerLists:
        """The same with the candidate in one column of each list taken out, (list,): the others move up."""
        found, extra = self.lists.candidates, self.lists.extra
        last = np.arange(found.k) == columns[:, None]
        order = np.argsort(last, axis=1, kind="stable")
        gone = np.arange(found.k) == found.k - 1  # where the one that is taken out stands now
        entities = np.where(gone, NO_ENTITY, np.take_along_axis(found.entities, order, axis=1))
        scores = np.where(gone, -np.inf, np.take_along_axis(found.scores, order, axis=1))
        extra = np.where(gone[:, None], -np.inf, np.take_along_axis(extra, order[..., None], axis=1))
        return replace(self, lists=replace(self.lists, candidates=Candidates(entities, scores), extra_scores=extra))


def lists_with(ranker: Ranker, queries: Queries, answers: Ints) -> tuple[AnswerLists, Bools]:
    """The ranker's lists of a block of queries with these answers, and which of them it had listed itself, (query,).

    An answer that its list lacks takes the last place, and the list is put into Stage 1's order again.
    """
    scored = ranker.retrievers.score_block(queries)
    lists = ranker.lists(queries, scored)
    listed = (lists.candidates.entities == answers[:, None]).any(axis=1)
    found = with_given(scored, Found(lists.candidates, lists.extra), answers)
    whole = replace(lists, candidates=found.candidates, extra_scores=found.extra_scores)
    return AnswerLists(ranker, whole, answers), np.asarray(listed)
