"""What a store holds of a step: nothing, a whole one, or a damaged one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cear.core.errors import DataError
from cear.core.files import read_json
from cear.core.names import identifier
from cear.core.seals import flaw_of
from cear.steps.step import SCHEMA, Step, StepReport

REPORT = "step.json"


@dataclass(frozen=True)
class Kept:
    """A step in its place, as far as its report tells: whether its other files are whole is to be looked up."""

    place: Path
    report: StepReport | None = None
    """None where there is no such step, or a damaged one."""
    flaw: str | None = None
    """What is damaged of its report, or of any file where all were looked at, in words."""
    address: str | None = None
    """Where the copy that is damaged is kept, if that is not this place."""


def name_of(step: Step) -> str:
    """The name of a step in any store; its kind, which a plug-in may have named, becomes part of a path."""
    return f"{identifier(step.kind, 'kind of step')}/{step.key[:32]}"


def look(place: Path, step: Step) -> Kept:
    """What there is of a step in a folder; a report of another step or of another schema is none."""
    path = place / REPORT
    if not path.exists():
        return Kept(place)
    if (found := flaw_of(place, [REPORT])) is not None:
        return Kept(place, flaw=found)
    try:
        values = read_json(path)
        if isinstance(values, dict) and values.get("schema", SCHEMA) != SCHEMA:
            return Kept(place)
        report = StepReport.from_json(values, path)
    except DataError:
        return Kept(place, flaw=f"{REPORT} cannot be read")
    return Kept(place, report if report.key == step.key else None)
