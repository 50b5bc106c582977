"""A run in one file: which knowledge base, which stages, which seed."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import Discriminator, NonNegativeInt, PositiveInt, Tag, model_validator

from cear.candidates import CandidatesConfig
from cear.core.errors import ConfigError
from cear.core.settings import Settings
from cear.data import Variant
from cear.reranking import SequenceConfig, WideConfig
from cear.retrieval import Stage1Config


def _kind(values: Any) -> str:
    """Which re-ranker some settings are for: the paper's, unless they say so."""
    return str(values.get("kind", "sequence") if isinstance(values, dict) else getattr(values, "kind", "sequence"))


AnyReranker = Annotated[
    Annotated[SequenceConfig, Tag("sequence")] | Annotated[WideConfig, Tag("wide")], Discriminator(_kind)
]


class RunConfig(Settings):
    """Everything that decides the result of a run."""

    data: str = "demo"
    """A known data set (demo, fb15k-237, wn18rr, reverb45k, mokb6-en, olpbench) or a path to your own."""
    skip_bad_lines: bool = False
    """Leave out and count lines of the data that cannot be read, rather than refuse it."""
    variant: Variant = "thorough"
    """Which training file of OLPBENCH is read; other data has one."""
    seed: NonNegativeInt = 0
    """Of every random choice."""
    threads: PositiveInt | None = None
    """CPU threads; null takes what the machine has."""
    stage1: Stage1Config = Stage1Config()
    candidates: CandidatesConfig = CandidatesConfig()
    reranker: AnyReranker | None = None
    """The second stage: sequence, the paper's, or wide, with a token for each candidate; null stops after Stage 1."""
    fusion: Literal["none", "known_answers"] = "known_answers"
    """known_answers weighs both stages, by how many answers of a query are known; none is Stage 2 alone, the paper."""

    @model_validator(mode="after")
    def _vectors_are_those_of_one_fold(self) -> Self:
        """Vectors of two trainings have nothing in common, and those of one have seen the lists of the other."""
        wants = isinstance(self.reranker, WideConfig) and self.reranker.vectors
        crossfit = self.candidates.crossfit
        if wants and (crossfit is None or crossfit.use != 1):
            raise ValueError("reranker.vectors needs candidates.crossfit with use: 1; set it to false otherwise")
        return self


def load_config(path: Path, overrides: Iterable[str] = ()) -> RunConfig:
    """The configuration in a YAML file, with `stage1.rank=64`-like overrides on top."""
    try:
        text = path.read_text(encoding="utf-8")
        values = yaml.safe_load(text) or {}
    except FileNotFoundError:
        raise ConfigError(f"There is no configuration {path}. The ones we publish are in configs/.") from None
    except OSError as error:
        raise ConfigError(f"The configuration {path} cannot be read: {error.strerror}. Give a YAML file.") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not YAML: {error}") from None
    if not isinstance(values, dict):
        raise ConfigError(f"{path} holds {type(values).__name__}; expected settings like `data: demo`.")
    for override in overrides:
        _set(values, override)
    return RunConfig.parse(values, source=str(path))


def dump_config(config: RunConfig) -> str:
    """The whole configuration, defaults included, as YAML."""
    return yaml.safe_dump(config.model_dump(), sort_keys=False, allow_unicode=True)


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
        values[last] = yaml.safe_load(text)
    except yaml.YAMLError:
        raise ConfigError(f"{override!r}: {text!r} is not a YAML value. Quote it: {key}='\"...\"'.") from None
