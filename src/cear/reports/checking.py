"""Whether records still say what one would get: their configuration, the code and the data, then and now."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from rich.table import Column, Table
from rich.text import Text

import cear
from cear.core.errors import CearError, ConfigError, DataError
from cear.core.machine import changed_since
from cear.data import Columns, RdfRules, SplitConfig, Variant, columns_override, load
from cear.reports.machine_paths import clean
from cear.reports.records import EARLIER, ranks_path, read_record, read_records

State = Literal["same", "changed", "missing", "unknown"]
STYLES: dict[State, str] = {"same": "green", "changed": "bold red", "missing": "yellow", "unknown": "dim"}
FLAGS = ("--download", "--skip-bad-lines")  # options of `cear run` that no value follows
SHOWN = 3  # settings that a reason names


class Loaded(NamedTuple):
    """A configuration file as it is read today."""

    settings: Mapping[str, Any]
    """All of them, defaults included."""
    written: Mapping[str, Any]
    """Those that the file, or an override, says itself."""


LoadSettings = Callable[[Path, Sequence[str]], Loaded]
StepsOf = Callable[[Mapping[str, Any]], Mapping[str, str] | None]
"""The names of the steps, by key, that the command of a record has today; None where nobody can say."""


@dataclass(frozen=True)
class Verdict:
    """Whether one thing is still what a record was made with."""

    state: State
    reason: str = ""


@dataclass(frozen=True)
class Check:
    """What has become of the things that a record was made with."""

    record: Path
    configuration: Verdict
    code: Verdict
    data: Verdict

    @property
    def changed(self) -> bool:
        """Whether the same command may give other figures now."""
        return any(each.state == "changed" for each in (self.configuration, self.code, self.data))


def check_records(folder: Path, load_settings: LoadSettings, steps_of: StepsOf) -> Iterator[Check]:
    """The check of every record under a folder; `load_settings` reads a configuration file with overrides."""
    digest = cache(_digest)  # many records are of one data set
    for path, record in read_records(folder):
        made = record.get("provenance", {})
        configuration = _check_configuration(made, load_settings)
        now = steps_of(record) if configuration.state == "same" and made.get("steps") else None
        code = _check_commit(made) if now is None else _check_steps(made, now)
        yield Check(path, configuration, code, _check_data(made, digest))


def set_aside(checks: Sequence[Check], folder: Path) -> dict[Path, Path]:
    """Move the changed records under a folder, with their ranks, to where their commit says what they are of.

    `results/wn18rr/wide.json` becomes `results/earlier/COMMIT/wn18rr/wide.json`. Where each was, and where it is.
    Whether the code would give the same is known where the data is; without it nothing is moved.
    """
    changed, moved = [check for check in checks if check.changed], {}
    if blind := next((check for check in changed if check.data.state == "missing"), None):
        raise DataError(
            f"{blind.record} cannot be judged: {blind.data.reason}. Name the folder that has it (CEAR_DATA). Nothing "
            "was moved."
        )
    for check in changed:
        commit = read_record(check.record)["provenance"].get("commit")
        if commit is None:
            raise DataError(
                f"{check.record} has changed and names no commit that it is of. Make it again, or delete it."
            )
        there = folder / EARLIER / commit[:8] / check.record.relative_to(folder)
        there.parent.mkdir(parents=True, exist_ok=True)
        if ranks_path(check.record).exists():
            ranks_path(check.record).replace(ranks_path(there))
        moved[check.record] = check.record.replace(there)
    return moved


def checks_table(checks: Sequence[Check], folder: Path) -> Table:
    """A row per record: what is the same, and why something else is not."""
    table = Table(Column("record", overflow="fold"), "configuration", "code", "data", Column("why", overflow="fold"))
    for check in checks:
        verdicts = {"configuration": check.configuration, "code": check.code, "data": check.data}
        why = "\n".join(f"{name}: {each.reason}" for name, each in verdicts.items() if each.reason)
        states = (Text(each.state, style=STYLES[each.state]) for each in verdicts.values())
        table.add_row(Text(check.record.relative_to(folder).as_posix()), *states, Text(why))
    return table


def configuration_of(command: str) -> tuple[Path, list[str]] | None:
    """The configuration file and the overrides of a `cear run`, or None for another command.

    >>> configuration_of("cear run x.yaml stage1.rank=8 --out runs/x --skip-bad-lines")[1]
    ['stage1.rank=8', 'skip_bad_lines=true']
    """
    words = shlex.split(command.removeprefix("python -m "))
    if words[:2] != ["cear", "run"]:
        return None
    flags = ["skip_bad_lines=true"] if "--skip-bad-lines" in words else []
    given, rest = [], iter(words[2:])
    for word in rest:
        option, equals, value = word.partition("=")
        if not word.startswith("--"):
            given.append(word)
        elif option not in FLAGS:
            value = value if equals else next(rest, "")
            flags += [columns_override(value)] if option == "--columns" else []
    return (Path(given[0]), [*given[1:], *flags]) if given else None


def option_of(command: str, name: str) -> str | None:
    """What a command says for an option.

    >>> option_of("cear run x.yaml --facts 2500 --out runs/x", "--facts")
    '2500'
    """
    words = [part for word in shlex.split(command) for part in word.split("=", 1)]
    return words[words.index(name) + 1] if name in words[:-1] else None


def has_settings(record: Mapping[str, Any], loaded: Loaded) -> bool:
    """Whether a record was made with the settings of a configuration as it is read today."""
    return not _differing(record["provenance"]["config"], loaded)


def _check_configuration(made: Mapping[str, Any], load_settings: LoadSettings) -> Verdict:
    """Whether the file that the command names still has the settings that the record has."""
    try:
        found = configuration_of(made.get("command", ""))
    except ValueError:  # an open quote
        found = None
    if found is None:
        return Verdict("unknown", "the command names no configuration")
    if found[0].suffix and not found[0].is_file():  # one without a suffix comes with the package, by name
        return Verdict("missing", f"there is no {found[0]}")
    try:
        loaded = load_settings(*found)
    except ConfigError as error:
        return Verdict("changed", " ".join(str(error).split()))
    differing = _differing(made.get("config", {}), loaded)
    return Verdict("changed", _told(differing)) if differing else Verdict("same")


def _differing(then: Mapping[str, Any], loaded: Loaded) -> dict[str, tuple[Any, Any]]:
    """The settings that differ, then and now, by dotted key.

    A setting that the record does not know counts if the file writes it: a default that came later does not.
    """
    old, now, written = (_flat(each) for each in (then, _json(loaded.settings), _json(loaded.written)))
    keys = [*old, *(key for key in written if key not in old)]
    return {key: (old.get(key), now.get(key)) for key in keys if key not in now or old.get(key) != now[key]}


def _told(differing: Mapping[str, tuple[Any, Any]]) -> str:
    shown = [f"{key} was {then!r}, is {now!r}" for key, (then, now) in list(differing.items())[:SHOWN]]
    more = len(differing) - len(shown)
    return "; ".join(shown) + (f"; and {more} more" if more else "")


def _check_steps(made: Mapping[str, Any], now: Mapping[str, str]) -> Verdict:
    """Whether the steps of a record are those of today, by their keys, which hold the version of their code."""
    again = [step["name"] for step in made["steps"] if step["key"] not in now]
    return Verdict("changed", f"made otherwise today: {', '.join(again)}") if again else Verdict("same")


def _check_commit(made: Mapping[str, Any]) -> Verdict:
    """Whether the package's files are those of the record's commit."""
    version, commit = made.get("versions", {}).get("cear"), made.get("commit")
    if version not in (None, cear.__version__):
        return Verdict("changed", f"the version was {version}, is {cear.__version__}")
    if commit is None:
        return Verdict("unknown", "the record names no commit")
    if made.get("dirty"):
        return Verdict("unknown", f"made from files that differ from commit {commit[:8]}")
    changed = changed_since(commit)
    if changed is None:
        return Verdict("unknown", f"there is no commit {commit[:8]} here")
    return Verdict("changed", f"differs from commit {commit[:8]}") if changed else Verdict("same")


def _check_data(made: Mapping[str, Any], digest: Callable[..., str | None]) -> Verdict:
    """Whether the data set of that name has the digest that the record has."""
    config = made.get("config", {})
    source = config.get("data", made.get("data", ""))
    split = SplitConfig.parse(config.get("split", {}), source="split of the record")
    columns = (
        None if config.get("columns") is None else Columns.parse(config["columns"], source="columns of the record")
    )
    rules = (columns, RdfRules.parse(config.get("rdf", {}), source="rdf of the record"))
    now = digest(source, config.get("skip_bad_lines", False), config.get("variant", "thorough"), split, *rules)
    if now is None:
        return Verdict("missing", f"{source} is not on this machine")
    then = made.get("digest", "")
    return Verdict("same") if now == then else Verdict("changed", f"the digest was {then[:8]}, is {now[:8]}")


def _digest(
    source: str, skip_bad_lines: bool, variant: Variant, split: SplitConfig, columns: Columns | None, rdf: RdfRules
) -> str | None:
    """The digest of a data set, or None where it is not on this machine or cannot be read."""
    try:
        return load(
            source,
            skip_bad_lines=skip_bad_lines,
            variant=variant,
            seed=split.seed,
            valid_share=split.valid,
            test_share=split.test,
            columns=columns,
            rdf=rdf,
        ).digest
    except (CearError, OSError):
        return None


def _json(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as a record holds them."""
    value: dict[str, Any] = json.loads(json.dumps(clean(settings)))
    return value


def _flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested settings by dotted key; an empty group is a value."""
    flat: dict[str, Any] = {}
    for key, value in values.items():
        inside = isinstance(value, dict) and value
        flat |= _flat(value, f"{prefix}{key}.") if inside else {f"{prefix}{key}": value}
    return flat
