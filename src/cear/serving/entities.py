"""An entity on one page: what is known of it, what is missing and likely, what looks wrong."""

from __future__ import annotations

from threading import Lock

import numpy as np

from cear.core.errors import ConfigError, UnknownName
from cear.core.types import SPLITS, Ints
from cear.data import KnowledgeBase
from cear.pipeline import Audit, AuditPlan, Run
from cear.serving.models import Described, Named
from cear.serving.review import ReviewQueue
from cear.serving.review_models import DoubtfulFact, EntityPage, KnownFact

DOUBTFUL = 0.01
"""The share of all known facts that look wrong: the least likely ones. How likely that is differs from run to run."""


class Entities:
    """The entities of a run. An audit is read when it is first asked for, and never made."""

    def __init__(self, run: Run, queue: ReviewQueue) -> None:
        self._run, self._queue = run, queue
        self._turn = Lock()
        self._audit: Audit | None = None

    def page(self, id_: str, *, limit: int = 200) -> EntityPage:
        """Everything about an entity, by its id; of each kind at most so many."""
        kb = self._run.kb
        number = kb.entities.by_id.get(id_)
        if number is None:
            raise UnknownName(f"No entity has the id {id_!r}. Look for it by its name: /entities?q=.")
        known = [(split, fact) for split in SPLITS for fact in _of(kb.facts(split), number)]
        return EntityPage(
            entity=Described.of(kb.entities, number, description=kb.entities.description(number)),
            facts=[KnownFact(**named_fact(kb, fact), split=split) for split, fact in known[:limit]],
            total=len(known),
            likely=self._queue.of_entity(id_, limit),
            doubtful=self._doubtful(number, limit),
        )

    def _doubtful(self, number: int, limit: int) -> list[DoubtfulFact] | None:
        """The known facts of an entity that look wrong, the least likely first; None without an audit."""
        with self._turn:
            self._audit = self._audit or kept_audit(self._run)
        if self._audit is None:
            return None
        facts, probability = self._audit.proposals.facts, self._audit.probability
        bound = np.quantile(probability, DOUBTFUL)
        rows = np.flatnonzero((facts[:, [0, 2]] == number).any(axis=1) & (probability < bound))
        rows = rows[np.argsort(probability[rows], kind="stable")][:limit]
        kb = self._run.kb
        return [DoubtfulFact(**named_fact(kb, facts[row]), probability=float(probability[row])) for row in rows]


def kept_audit(run: Run) -> Audit | None:
    """The audit of a run if it was made, else None: making one takes hours."""
    steps = AuditPlan(run.plan)
    try:
        made = all(run.plan.store.has(steps.step(fold)) for fold in steps.folds)
    except ConfigError:  # a run that cannot be audited
        return None
    return steps.audit() if made and run.calibrated else None


def named_fact(kb: KnowledgeBase, fact: Ints) -> dict[str, Named]:
    """A fact by the ids and names of its parts."""
    ends = {"subject": kb.entities, "relation": kb.relations, "object": kb.entities}
    return {end: Named.of(each, number) for (end, each), number in zip(ends.items(), fact.tolist(), strict=True)}


def _of(facts: Ints, number: int) -> Ints:
    """The facts that speak of an entity."""
    return np.asarray(facts[(facts[:, [0, 2]] == number).any(axis=1)])
