"""Arguments of Python users, refused at the door: what was given, what is right, and what was probably meant."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from numbers import Integral
from typing import Any, get_args

from cear.config import RunConfig
from cear.core.errors import ConfigError, DataError, UnknownName
from cear.core.types import SPLITS, TIE_RULES, Ints, Protocol, Queries
from cear.data import KnowledgeBase


def refuse_run(config: Any, minutes: Any, ranking_minutes: Any) -> None:
    """Refuse what is no configuration, and no time."""
    if not isinstance(config, RunConfig):
        raise ConfigError(
            f"config={config!r}: expected a cear.RunConfig. One in a file is read by cear.load_config(PATH)."
        )
    for name, value in {"minutes": minutes, "ranking_minutes": ranking_minutes}.items():
        if value is not None and not (isinstance(value, int | float) and value >= 0):  # NaN is not, either
            raise ConfigError(f"{name}={value!r}: expected a number of at least 0, or None for no limit.")


def refuse_evaluation(split: Any, ties: Any, protocol: Any, facts: Any) -> None:
    """Refuse an evaluation that there is not."""
    refuse_unknown("split", split, SPLITS)
    refuse_unknown("ties", ties, TIE_RULES)
    refuse_unknown("protocol", protocol, get_args(Protocol))
    if facts is not None:
        refuse_few("facts", facts)


def refuse_ranking(kb: KnowledgeBase, queries: Queries, k: Any, without: Sequence[Any]) -> None:
    """Refuse integers that no entity and no relation has, fewer than one place, and splits that there are not."""
    refuse_few("k", k)
    if isinstance(without, str):  # a sequence of letters
        raise ConfigError(f"without={without!r}: expected a sequence of splits. Write without=({without!r},).")
    for split in without:
        refuse_unknown("without", split, SPLITS)
    _refuse_outside("queries.entity", queries.entity, kb.n_entities)
    _refuse_outside("queries.relation", queries.relation, 2 * kb.n_relations)


def refuse_unknown(name: str, value: Any, known: Sequence[str]) -> None:
    """Refuse a word that is none of the known ones."""
    if isinstance(value, str) and value in known:
        return
    close = get_close_matches(str(value).casefold(), known, n=1)
    hint = f"Did you mean {close[0]!r}? " if close else ""
    raise UnknownName(f"{name}={value!r}: there is no such choice. {hint}Known: {', '.join(known)}.")


def refuse_few(name: str, value: Any) -> None:
    """Refuse what is no whole number, or one below 1."""
    if not isinstance(value, Integral) or isinstance(value, bool) or int(value) < 1:
        raise ConfigError(f"{name}={value!r}: expected a whole number of at least 1.")


def _refuse_outside(name: str, numbers: Ints, end: int) -> None:
    """Refuse integers outside [0, end): numpy would count negative ones from the end."""
    wrong = numbers[(numbers < 0) | (numbers >= end)]
    if len(wrong):
        raise DataError(f"{name} holds {int(wrong[0])}: expected numbers from 0 to {end - 1}, as `find` gives them.")
