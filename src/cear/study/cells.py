"""Cells of the study: a published system on a data set, its configuration, and the record that it leaves."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from cear.config import AS_WRITTEN, RunConfig, load_config
from cear.core.errors import ConfigError
from cear.core.names import identifier
from cear.core.types import Protocol, Split
from cear.reports import Loaded, has_settings, read_record

CONFIGS = Path("configs")


def load_settings(path: Path, overrides: Sequence[str]) -> Loaded:
    """A configuration file with overrides: all settings, and those it writes itself."""
    config = load_config(path, overrides)
    return Loaded(config.model_dump(), config.model_dump(exclude_unset=True))


@dataclass(frozen=True)
class Cell:
    """A configuration in one size, with one seed, measured on one split; its header says where its record belongs."""

    config: Path
    size: str = AS_WRITTEN
    seed: int = 0
    split: Split = "test"
    changes: tuple[str, ...] = ()
    """Overrides, where several cells share a configuration; each then has a `label`."""
    label: str | None = None
    """Its record is called so, in the folder of that of the configuration."""
    seeded: str = "seed"
    """The setting that a seed is: `reranker.seed` leaves Stage 1 as it is."""
    protocol: Protocol = "ours"
    """How its ranks are counted."""

    @classmethod
    def of(cls, data: str, name: str) -> Cell:
        """The cell of a system on a data set: `configs/DATA/NAME.yaml`."""
        return cls(CONFIGS / data / f"{name}.yaml")

    def changed(self, label: str, *changes: str, seeded: str = "seed") -> Cell:
        """The cell of the same configuration with overrides."""
        return replace(self, label=label, changes=changes, seeded=seeded)

    def in_size(self, size: str) -> Cell:
        """The same in another size."""
        return replace(self, size=identifier(size, "size"))

    def on(self, split: Split) -> Cell:
        """The same system, measured on another split."""
        return replace(self, split=split)

    def under(self, protocol: Protocol) -> Cell:
        """The same system, its ranks counted otherwise."""
        return replace(self, protocol=protocol)

    def with_seed(self, seed: int) -> Cell:
        """The same system, trained with another seed."""
        return replace(self, seed=seed)

    @property
    def name(self) -> str:
        """What messages call it: its record, without the folder of all results and the ending."""
        return Path(*self.record.with_suffix("").parts[1:]).as_posix()

    @property
    def overrides(self) -> list[str]:
        """What it changes in its configuration."""
        size = [] if self.size == AS_WRITTEN else [f"size={self.size}"]
        return [*size, *self.changes, *([f"{self.seeded}={self.seed}"] if self.seed else [])]

    @property
    def settings(self) -> RunConfig:
        """Its configuration, with its size and seed."""
        return load_config(self.config, self.overrides)

    @property
    def facts(self) -> int | None:
        """How many facts of the split are measured, a fixed sample; None for all, as in every other size."""
        asked = self._option("--facts") if self.size == AS_WRITTEN else None
        return None if asked is None else int(asked)

    @property
    def out(self) -> Path:
        """The folder of its run."""
        return self._place(Path(self._option("--out") or f"runs/{self.config.stem}"))

    @property
    def record(self) -> Path:
        """Where its record is; those of validation and of another protocol have folders of their own."""
        place = Path(self._option("--json") or f"results/{self.config.stem}.json")
        place = self._place(place.with_suffix("")).with_suffix(place.suffix)
        apart = [name for name, usual in ((self.split, "test"), (self.protocol, "ours")) if name != usual]
        return place.parent.joinpath(*apart, place.name)

    @property
    def command(self) -> str:
        """The command that makes its record."""
        sample = [] if self.facts is None else ["--facts", str(self.facts)]
        sample += [] if self.protocol == "ours" else ["--protocol", self.protocol]
        run = ["run", str(self.config), *self.overrides, *sample, "--out", str(self.out)]
        words = run if self.split == "test" else ["evaluate", str(self.out), "--split", self.split, *sample]
        return shlex.join(["cear", *words, "--json", str(self.record)])

    def found(self) -> dict[str, Any] | None:
        """Its record; None where there is none, or one that was made with other settings or of another sample."""
        if not self.record.exists():
            return None
        record, settings = read_record(self.record), load_settings(self.config, self.overrides)
        of_all = self.facts is None and "--facts" not in record["provenance"]["command"]
        of_sample = self.facts is not None and record["queries"] <= 2 * self.facts
        return record if (of_all or of_sample) and has_settings(record, settings) else None

    @cached_property
    def _command(self) -> list[str]:
        return command_of(self.config)

    def _option(self, name: str) -> str | None:
        """What the command in the header says for an option."""
        words = self._command
        return words[words.index(name) + 1] if name in words[:-1] else None

    def _place(self, path: Path) -> Path:
        """A place in the header, for this label, size and seed."""
        first, *rest = (path if self.label is None else path.parent / self.label).parts
        sized = Path(first, *([] if self.size == AS_WRITTEN else [self.size]), *rest)
        return sized.with_name(f"{sized.name}-seed{self.seed}") if self.seed else sized


def command_of(config: Path) -> list[str]:
    """The words of the command in a configuration's header."""
    try:
        text = config.read_text(encoding="utf-8")
    except OSError:
        raise ConfigError(
            f"There is no {config} here. The study is made of the repository's files: run in it."
        ) from None
    found = re.search(r"^# Command: *(cear run .+)$", text, flags=re.MULTILINE)
    if found is None:
        raise ConfigError(f"{config}: no line of its header is `# Command: cear run …`, which says how it is made.")
    return shlex.split(found[1])
