"""Reasons for many answers at a time, from the ranker that is measured."""

from __future__ import annotations

from cear.core.blocks import blocks
from cear.core.errors import MismatchError
from cear.core.progress import Progress, silent
from cear.core.types import NO_ENTITY, Ints, Queries
from cear.explaining.inputs import input_effects
from cear.explaining.lists import lists_with
from cear.explaining.reasons import Reasons
from cear.explaining.rivals import strongest_rivals
from cear.explaining.similar import SimilarFacts
from cear.explaining.wording import as_fact
from cear.ranking import Ranker
from cear.retrieval import FiredRule, GivesReasons

AT_ONCE = 256  # answers, each with a list for every rival


def explain(
    ranker: Ranker,
    queries: Queries,
    answers: Ints,
    *,
    rules: int = 3,
    support: int = 3,
    rivals: int = 3,
    progress: Progress = silent,
) -> list[Reasons]:
    """Why each answer, (query,), is ranked where it is for its query; at most so many reasons of each kind."""
    _refuse_others(ranker, queries, answers)
    similar = SimilarFacts(ranker.kb)
    found: list[Reasons] = []
    with progress("Finding reasons", len(queries)) as bar:
        for block in blocks(len(queries), min(AT_ONCE, ranker.retrievers.block_rows)):
            found += _explain_block(ranker, queries[block], answers[block], similar, (rules, support, rivals))
            bar.advance(block.stop - block.start)
    return found


def _explain_block(
    ranker: Ranker, queries: Queries, answers: Ints, similar: SimilarFacts, most: tuple[int, int, int]
) -> list[Reasons]:
    """The reasons of a block; `most` are the numbers of rules, similar facts and rivals."""
    asked, listed = lists_with(ranker, queries, answers)
    stage2 = ranker.stage2_scores(asked.lists)
    final = stage2 if ranker.reranker is None else asked.fused(stage2)
    shares = asked.shares(final)
    own = asked.of_answer(shares)
    known = ranker.kb.known("train").of_queries(queries).contains(answers[:, None])[:, 0]
    places = 1 + (shares > own[:, None]).sum(axis=1)
    candidates = (asked.entities != NO_ENTITY).sum(axis=1)
    n_rules, n_support, n_rivals = most
    beside, effects = strongest_rivals(asked, final, n_rivals), input_effects(asked, stage2, final)
    asked_for = zip(queries.entity.tolist(), queries.relation.tolist(), answers.tolist(), strict=True)
    return [
        Reasons(
            entity,
            relation,
            answer,
            listed=bool(listed[row]),
            known=bool(known[row]),
            place=int(places[row]),
            candidates=int(candidates[row]),
            log_probability=float(own[row]),
            rules=_fired(ranker, entity, relation, answer, n_rules),
            support=similar.of(*as_fact(ranker.kb, entity, relation, answer), n_support),
            rivals=beside[row],
            inputs=effects[row],
        )
        for row, (entity, relation, answer) in enumerate(asked_for)
    ]


def _fired(ranker: Ranker, entity: int, relation: int, answer: int, n: int) -> tuple[FiredRule, ...]:
    """The n rules of any retriever that speak most for an answer."""
    stages = (ranker.retrievers.first, *ranker.retrievers.extra.values())
    fired = [
        rule for each in stages if isinstance(each, GivesReasons) for rule in each.reasons(entity, relation, answer, n)
    ]
    return tuple(sorted(fired, key=lambda rule: (-rule.confidence, -rule.support))[:n])


def _refuse_others(ranker: Ranker, queries: Queries, answers: Ints) -> None:
    if answers.shape != (len(queries),):
        raise MismatchError(f"Answers of shape {answers.shape} for {len(queries)} queries: give one for each.")
    outside = answers[(answers < 0) | (answers >= ranker.kb.n_entities)]
    if len(outside):
        raise MismatchError(
            f"{len(outside)} answers are no entities of {ranker.kb.name!r}, which has {ranker.kb.n_entities}: the "
            f"first is {outside[0]}. Were they made for another knowledge base?"
        )
