"""A run in one file: which knowledge base, which stages, which seed."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, Self

import yaml
from pydantic import PositiveInt, model_validator

from cear.candidates import CandidatesConfig
from cear.completion import CalibrationConfig
from cear.core.bounded_yaml import OutOfBounds, parse_yaml, read_yaml
from cear.core.context import Device, Precision
from cear.core.errors import ConfigError
from cear.core.settings import Seed, Settings
from cear.data import Columns, RdfRules, SplitConfig, TextRule, Variant
from cear.reranking import AnyReranker
from cear.retrieval import AnyRetriever, ComplExConfig

AS_WRITTEN = "cpu"  # the size that a configuration has without a word: that of its own settings
PUBLISHED = Path(__file__).with_name("configs")  # those that come with the package, found by name


class RunConfig(Settings):
    """Everything that decides the result of a run."""

    data: str = "demo"
    """A known data set (demo, fb15k-237, wn18rr, reverb45k, mokb6-en, olpbench) or a path to your own."""
    text: TextRule | None = None
    """What a line of entity2text holds: name, or "name, description"; null is what the data set is known to hold."""
    skip_bad_lines: bool = False
    """Leave out and count lines of the data that cannot be read, rather than refuse it."""
    variant: Variant = "thorough"
    """Which training file of OLPBENCH is read; other data has one."""
    columns: Columns | None = None
    """Which columns of a file hold subject, relation and object, by name or number; null goes by its header."""
    rdf: RdfRules = RdfRules()
    """How RDF is read: languages of names, predicates to leave out."""
    split: SplitConfig = SplitConfig()
    """How facts that come in one file are split into train, valid and test."""
    seed: Seed | list[Seed] = 0
    """Of every random choice; several, as in [0, 1, 2], are several runs, reported with mean and spread."""
    threads: PositiveInt | None = None
    """CPU threads; null takes what the machine has."""
    device: Device = "auto"
    """auto takes a GPU where there is one; cpu, cuda, mps."""
    precision: Precision = "fp32"
    """bf16 computes products in bfloat16: faster on a GPU, and a little off."""
    accumulate: PositiveInt = 1
    """A batch is computed in so many parts, one after the other, to the same gradient: for a GPU with little memory."""
    stage1: AnyRetriever = ComplExConfig()
    """The retriever that ranks every entity, by `model`; the others are in `candidates.extra_retrievers`."""
    candidates: CandidatesConfig = CandidatesConfig()
    reranker: AnyReranker | None = None
    """The second stage: sequence, the paper's, wide, kg_bert or cross_encoder; null stops after Stage 1."""
    fusion: Literal["none", "known_answers"] = "known_answers"
    """known_answers weighs both stages, by how many answers of a query are known; none is Stage 2 alone, the paper."""
    calibration: CalibrationConfig | None = None
    """How the probabilities of answers are learned, as the last step; null leaves it to who asks for them first."""
    refit: bool = False
    """Whether `complete` asks retrievers that have learned from the facts of all splits, once all is measured."""

    @property
    def seeds(self) -> list[int]:
        """The seeds of all runs that this configuration asks for."""
        return self.seed if isinstance(self.seed, list) else [self.seed]

    def deciding(self) -> dict[str, Any]:
        """The settings that decide the result: where and on how many threads it is computed does not."""
        return self.model_dump(mode="json", exclude={"threads", "device", "accumulate"})

    @model_validator(mode="after")
    def _the_reranker_may_learn_from_these_lists(self) -> Self:
        if self.reranker is not None:
            self.reranker.refuse_lists(self.candidates)
        return self

    @model_validator(mode="after")
    def _seeds_are_distinct(self) -> Self:
        if not self.seeds or len(set(self.seeds)) != len(self.seeds):
            raise ValueError(f"seed: {self.seed} are not one or several different seeds")
        return self


def load_config(source: Path | str, overrides: Iterable[str] = ()) -> RunConfig:
    """The configuration in a YAML file, with `stage1.rank=64`-like overrides on top.

    A name without slash and suffix, such as `own`, is that of a configuration that comes with the package. A file may
    say only what differs from another, its `base`, and hold `sizes`: changes under a name, of which `size=NAME` takes
    one (docs/study.md).
    """
    overrides, path = [*overrides], _find(source)
    values = _read(path, ())
    sizes, size = values.pop("sizes", None) or {}, values.pop("size", AS_WRITTEN)
    chosen = [override for override in overrides if override.partition("=")[0].strip() == "size"]
    size = chosen[-1].partition("=")[2].strip() if chosen else size
    if size != AS_WRITTEN:
        values = _on_top(values, _changes(path, sizes, size))
    for override in overrides:
        if override not in chosen:
            _set(values, override)
    return RunConfig.parse(values, source=str(path))


def published() -> list[str]:
    """The names of the configurations that come with the package.

    >>> published()
    ['demo', 'own']
    """
    return sorted(path.stem for path in PUBLISHED.glob("*.yaml"))


def dump_config(config: RunConfig) -> str:
    """The whole configuration, defaults included, as YAML."""
    return yaml.safe_dump(config.model_dump(), sort_keys=False, allow_unicode=True)


def _find(source: Path | str, beside: Path = Path()) -> Path:
    """The file of a configuration: one of the package for a bare name, else a path, from the folder `beside`."""
    path, name, known = beside / source, str(source), published()
    if name in known:
        return PUBLISHED / f"{name}.yaml"
    if path.suffix or path.name != name or path.is_file():
        return path
    close = get_close_matches(name, known, n=1)
    hint = f"Did you mean {close[0]!r}? " if close else ""
    raise ConfigError(
        f"No configuration is called {name!r}. {hint}Those that come with cear are called {' and '.join(known)}; "
        f"a file of your own is named with its suffix, such as {name}.yaml."
    )


def _read(path: Path, above: tuple[Path, ...]) -> dict[str, Any]:
    """The values in a YAML file, on top of those of its `base`; `above` are the files that name this one."""
    try:
        values = read_yaml(path) or {}
    except FileNotFoundError:
        ours = f". Those that come with cear are called {' and '.join(published())}"
        told = f", which {above[-1]} names as its base" if above else ours
        raise ConfigError(f"There is no configuration {path}{told}.") from None
    except OSError as error:
        raise ConfigError(f"The configuration {path} cannot be read: {error.strerror}. Give a YAML file.") from None
    except OutOfBounds as error:
        raise ConfigError(f"{path}: {error}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not YAML: {error}") from None
    if not isinstance(values, dict):
        raise ConfigError(f"{path} holds {type(values).__name__}; expected settings like `data: demo`.")
    base = values.pop("base", None)
    if base is None:
        return values
    if not isinstance(base, str):
        raise ConfigError(f"{path}: base: expected the path of a configuration, but found {base!r}.")
    if (place := _find(base, path.parent)).resolve() in (each.resolve() for each in (*above, path)):
        raise ConfigError(f"{path}: base: {base} leads back to a configuration that is built on this one.")
    return _on_top(_read(place, (*above, path)), values)


def _on_top(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """Values with others on top, group by group; a group of another `model` or `kind` takes the place of the old."""
    merged = dict(below)
    for key, value in above.items():
        match below.get(key), value:
            case dict(old), dict(new) if not _is_another(old, new):
                merged[key] = _on_top(old, new)
            case _:
                merged[key] = value
    return merged


def _is_another(old: dict[str, Any], new: dict[str, Any]) -> bool:
    return any(tag in new and new[tag] != old.get(tag) for tag in ("model", "kind"))


def _changes(path: Path, sizes: dict[str, Any], size: Any) -> dict[str, Any]:
    """What a configuration changes in a size."""
    found = sizes.get(size)
    if not isinstance(found, dict):
        known = ", ".join([AS_WRITTEN, *map(str, sizes)])
        raise ConfigError(f"{path}: size: there is no size {size!r} of this configuration. Known here: {known}.")
    return found


def _set(values: dict[str, Any], override: str) -> None:
    key, equals, text = override.partition("=")
    if not equals:
        raise ConfigError(f"{override!r} is not an override. Write key=value, for example stage1.rank=64.")
    *groups, last = key.strip().split(".")
    for group in groups:
        values = values.setdefault(group, {})
        if not isinstance(values, dict):
            raise ConfigError(f"{override!r}: {group!r} is a single value and has no settings inside.")
    try:
        values[last] = parse_yaml(text)
    except yaml.YAMLError:
        raise ConfigError(
            f"{override[:100]!r}: {text[:100]!r} is not a YAML value. Quote it: {key}='\"...\"'."
        ) from None
