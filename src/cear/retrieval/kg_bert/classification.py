"""Triple classification: which facts are true, by a threshold on their probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np

from cear.core.errors import DataError, UnknownName
from cear.core.types import Bools, Floats, Split
from cear.data import KnowledgeBase
from cear.retrieval.kg_bert.drawing import JudgedFacts, draw_held_out

_LABELS = {"1": True, "0": False, "-1": False}


@dataclass(frozen=True)
class Classification:
    """How well a threshold tells true facts from false ones."""

    threshold: float
    """Facts of at least this probability are called true."""
    accuracy: float
    precision: float
    recall: float
    f1: float

    @classmethod
    def of(cls, probabilities: Floats, true: Bools, threshold: float) -> Self:
        """The figures of a threshold; precision and recall are 0 where nothing is called true, or is.

        >>> Classification.of(np.array([0.9, 0.6, 0.4]), np.array([True, False, True]), 0.5).f1
        0.5
        """
        said = probabilities >= threshold
        hits = int((said & true).sum())
        precision, recall = hits / max(int(said.sum()), 1), hits / max(int(true.sum()), 1)
        f1 = 2 * precision * recall / (precision + recall) if hits else 0.0
        return cls(float(threshold), float((said == true).mean()), precision, recall, f1)


def choose_threshold(probabilities: Floats, true: Bools) -> float:
    """The threshold with the best accuracy; half way between the probabilities that it sets apart.

    >>> choose_threshold(np.array([0.9, 0.75, 0.25, 0.1]), np.array([True, True, False, False]))
    0.5
    """
    order = np.argsort(-probabilities, kind="stable")
    ranked, truth = np.append(probabilities[order], -np.inf), true[order]
    # Calling the first n true is right for the true ones among them and for the false ones behind them.
    right = np.concatenate([[0], np.cumsum(truth)]) + (~truth).sum() - np.concatenate([[0], np.cumsum(~truth)])
    apart = np.append(True, ranked[:-1] > ranked[1:])  # equal probabilities fall on one side
    n = int(np.argmax(np.where(apart, right, -1)))
    above, below = ranked[max(n - 1, 0)], ranked[n]
    if n == 0:
        return float(np.nextafter(above, np.inf))  # nothing is true
    return float((above + below) / 2 if np.isfinite(below) else above)


def corrupted_facts(kb: KnowledgeBase, split: Split, *, seed: int = 0) -> JudgedFacts:
    """The facts of a split, and for each of its two questions the answer replaced by an entity drawn at random.

    Corruptions that this split or one before it states are left out. So there are up to two false facts for a true
    one, which therefore stands there twice.
    """
    return draw_held_out(kb, split, 1, seed=seed).judged(kb.n_relations)


def read_judged(path: Path, kb: KnowledgeBase) -> JudgedFacts:
    """The facts of a file of judged ones: subject, relation, object and 1 or -1 (or 0) in each line, parted by tabs."""
    facts, true = [], []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        s, r, o, label = _fields(path, number, line)
        try:
            facts.append([kb.entities.find(s), kb.relations.find(r), kb.entities.find(o)])
        except UnknownName as error:
            raise DataError(f"{path}:{number}: {error}") from None
        true.append(_LABELS[label])
    return JudgedFacts(np.array(facts, np.int64).reshape(-1, 3), np.array(true, bool))


def _fields(path: Path, number: int, line: str) -> list[str]:
    fields = line.split("\t")
    if len(fields) != 4 or fields[3].strip() not in _LABELS:
        raise DataError(
            f"{path}:{number}: found {line!r}, expected subject, relation, object and 1 or -1, parted by tabs."
        )
    return [*fields[:3], fields[3].strip()]
