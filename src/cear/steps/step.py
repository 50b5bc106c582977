"""A step: a piece of work with declared inputs and settings, and so with a key by content."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from cear.core.keys import content_key
from cear.core.records import from_json
from cear.steps.meter import Spent

SCHEMA = 1  # of a step's folder; one of another schema is made again
GIB = 2**30


@dataclass(frozen=True, eq=False)
class Step:
    """Work that leaves a folder. Equal keys mean equal results: nothing else may decide what `make` writes."""

    name: str
    """For people: `stage1`, `fold 0, rules`, `re-ranker`."""
    kind: str
    """Which code makes it."""
    settings: Mapping[str, Any]
    """All that decides the result beside the inputs: settings with their defaults, seeds, digests of data, and the
    version of the code."""
    make: Callable[[Path], None]
    """Writes the result into a folder; called again there after an interruption, it goes on."""
    inputs: tuple[Step, ...] = ()
    together: bool = False
    """Whether all processes of a data-parallel run work on it; of other steps one makes it, and the others wait."""

    shared: bool = False
    """Whether it gains from processes that work on it together: their messages are small beside the work of a batch."""
    on_cpu: bool = False
    """Whether it is computed on the CPU whatever the device of the run."""
    memory: int = GIB
    """About how many bytes it takes to make, beside the data: whoever places steps on machines counts on so much."""
    pieces: Callable[[], Sequence[Step]] | None = None
    """The pieces that its work falls into, known once its inputs are there. They are made first, in any order and by
    anybody, `make` joins them, and then they are gone; how work is cut decides no result, so no key has them."""

    @cached_property
    def key(self) -> str:
        """A hash of kind, settings and the keys of the inputs."""
        return content_key(SCHEMA, self.kind, self.settings, [each.key for each in self.inputs])

    def cut(self) -> Sequence[Step]:
        """Its pieces; none where its work is one. To find them may be work itself, so it is done once."""
        return self._cut

    @cached_property
    def _cut(self) -> Sequence[Step]:
        return () if self.pieces is None else self.pieces()

    def chain(self) -> list[Step]:
        """The step and everything before it, each once, inputs first."""
        steps = {each.key: each for parent in self.inputs for each in parent.chain()}
        return [*(steps | {self.key: self}).values()]


@dataclass(frozen=True)
class StepReport:
    """What a step cost when it was made, and where."""

    name: str
    kind: str
    key: str
    spent: Spent
    device: str
    version: str
    """Of cear."""
    commit: str | None
    dirty: bool | None
    date: str
    schema: int = SCHEMA
    reused: bool = field(default=False, compare=False)
    """Whether this run found it ready."""

    @classmethod
    def from_json(cls, values: Any, source: Path) -> StepReport:
        """The report that `as_json` gave; `source` is named where it is not one."""
        if not isinstance(values, Mapping):
            return from_json(cls, values, source)  # which says so
        spent = {name: values[name] for name in Spent.__dataclass_fields__ if name in values}
        rest = {name: value for name, value in values.items() if name not in spent}
        return from_json(cls, {**rest, "spent": spent}, source)

    def as_json(self) -> dict[str, Any]:
        """The report as a flat value of JSON."""
        values = asdict(self)
        spent: dict[str, Any] = values.pop("spent")
        return values | spent
