"""What a run is worth, as far as it was measured: nothing is ranked anew in a request."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from threading import Lock

from cear.core.types import SPLITS, Split
from cear.evaluation import Evaluation, ReliabilityBin, by_relation
from cear.pipeline import CompletionEvaluation, Run
from cear.serving.review_models import DataOrigin, Figure, RelationFigures, ReliabilityPoint, StepCost, Trust

TOPS = (100, 1_000, 10_000)


class TrustOf:
    """The figures of one run, read when somebody first asks for them."""

    def __init__(self, run: Run) -> None:
        self._run, self._turn = run, Lock()
        self._kept: Trust | None = None

    def get(self) -> Trust:
        """All figures there are. What was not measured yet may be when it is asked for again."""
        with self._turn:
            if self._kept is None or self._kept.note:
                self._kept = trust_of(self._run)
            return self._kept


def trust_of(run: Run) -> Trust:
    """The figures that are kept of a run, with their intervals, and what they cost."""
    evaluation, completion = _measured(run), _measured_completion(run)
    steps = [*_costs(run)]
    calibration = None if completion is None else completion.calibration
    return Trust(
        run=run.folder.name,
        split=None if evaluation is None else evaluation.split,
        queries=None if evaluation is None else len(evaluation.queries),
        figures=None if evaluation is None else [*_figures(evaluation)],
        relations=None if evaluation is None else [*_relations(evaluation, run)],
        reliability=None if calibration is None else [*map(_point, calibration.bins)],
        calibration_error=None if calibration is None else calibration.ece,
        right_of_first=None if completion is None else _right_of_first(completion),
        data=_origin(run),
        seconds=sum(each.seconds for each in steps),
        steps=steps,
        note=_note(run, evaluation, completion),
    )


def _measured(run: Run) -> Evaluation | None:
    """The evaluation of a run, if it was made."""
    split: Split = "test" if len(run.kb.facts("test")) else "valid"
    kept = run.plan.store.has(run.plan.evaluation(split, "expected", None))
    return run.evaluate(split) if kept else None


def _measured_completion(run: Run) -> CompletionEvaluation | None:
    """What became of the proposals of a run, if it was calibrated and has hidden facts."""
    calibration = run.plan.completion.calibration
    kept = all(run.plan.store.has(each) for each in (calibration, *calibration.inputs))
    return run.evaluate_completion() if kept and len(run.kb.facts("test")) else None


def _figures(evaluation: Evaluation) -> Iterator[Figure]:
    """Each measure of each stage and side with its 95 % interval."""
    stages = (evaluation,) if evaluation.before is None else (evaluation.before, evaluation)
    for stage, each in enumerate(stages, start=1):
        intervals = each.intervals()
        for side, values in each.summary().items():
            for measure, value in values.items():
                low, high = intervals[side][measure]
                yield Figure(stage=stage, side=side, measure=measure, value=value, low=low, high=high)


def _relations(evaluation: Evaluation, run: Run) -> Iterator[RelationFigures]:
    """The figures of each relation, both sides together, that with most queries first."""
    table, names = by_relation(evaluation), run.kb.relations
    for row in table.filter(table["side"] == "both").sort("queries", descending=True).iter_rows(named=True):
        yield RelationFigures(
            id=names.id(row["relation"]),
            name=names.name(row["relation"]),
            queries=row["queries"],
            mrr=row["mrr"],
            hits_at_1=row["hits@1"],
            hits_at_10=row["hits@10"],
            stage1_mrr=row.get("stage1_mrr"),
        )


def _point(each: ReliabilityBin) -> ReliabilityPoint:
    return ReliabilityPoint(said=each.mean, came_true=each.share, low=each.low, high=each.high, count=each.count)


def _right_of_first(completion: CompletionEvaluation) -> dict[str, int]:
    proposed = completion.proposed
    return {str(n): proposed.right_at(n) for n in TOPS if n <= len(proposed)}


def _origin(run: Run) -> DataOrigin:
    kb = run.plan.kb
    return DataOrigin(
        name=kb.name,
        source=Path(run.config.data).name,  # where it lies on this machine is nobody's business
        digest=kb.digest,
        entities=kb.n_entities,
        relations=kb.n_relations,
        facts={split: len(kb.facts(split)) for split in SPLITS},
    )


def _costs(run: Run) -> Iterator[StepCost]:
    for each in run.steps():
        seconds, cpu = each.spent.seconds, each.spent.cpu_seconds
        yield StepCost(name=each.name, seconds=seconds, cpu_seconds=cpu, device=each.device, date=each.date)


def _note(run: Run, evaluation: Evaluation | None, completion: CompletionEvaluation | None) -> str:
    """What is missing, and what measures it; empty where nothing is."""
    ranks = "" if evaluation else f"Its ranks were not measured: `cear evaluate {run.folder.name}` does it."
    chances = "" if completion else "Its probabilities were not measured: it is not calibrated, or has no test facts."
    return " ".join(filter(None, (ranks, chances)))
