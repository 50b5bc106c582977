"""The experiment as steps. Their kinds begin with `leak-`, so that no run can find one of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from cear.candidates import Lists, read_lists
from cear.core.context import Context
from cear.core.errors import ConfigError
from cear.core.types import Ints, Queries, Split
from cear.evaluation import Asked, Evaluation, read_ranks, sample_facts
from cear.pipeline import Plan
from cear.ranking import Places, read_places
from cear.reranking import Reranker, Upstream
from cear.steps import Step
from cear.study.leak import making
from cear.study.leak.arms import Arm, LeakSettings, Made
from cear.study.leak.making import LISTS, MODEL, RANKS
from cear.study.leak.readers import READERS

VERSION = 1  # raised whenever the same settings would give other figures


@dataclass(frozen=True, eq=False)
class LeakPlan:
    """The steps of the experiment, behind the Stage 1 of a run."""

    plan: Plan
    settings: LeakSettings

    def __post_init__(self) -> None:
        extra = [*self.plan.config.candidates.extra_retrievers]
        if extra:
            raise ConfigError(
                f"The leak is one of Stage 1's scores, and candidates.extra_retrievers has {', '.join(extra)}. "
                "Leave them out; the trained Stage 1 is reused."
            )

    def preflight(self) -> None:
        """Refuse now what could only fail after hours: an encoder that is missing, or too small for k candidates."""
        for variant in dict.fromkeys(arm.variant for arm in self.settings.arms):
            self.settings.reranker_of(variant).preflight(self.plan.kb, self.settings.k, self.context)

    # The graph: who is made from what.

    def training_lists(self, made: Made) -> Step:
        """The lists that Stage 2 learns from, one for each of `learned`."""
        settings = self._settings(made) | self.settings.model_dump(mode="json", include={"lists", "learn_from"})
        if self.settings.learn_from == "measured":
            settings |= {"measured": self.settings.facts}
        return self._lists(f"{made} lists to learn from", settings, partial(making.lists, self, made))

    def places(self, made: Made, split: Split) -> Step:
        """The lists of a sample of facts of a split, with where Stage 1 has the golds."""
        settings = self._settings(made) | {"split": split, "facts": self._facts(split)}
        return self._lists(f"{made} lists of {split}", settings, partial(making.places, self, made, split))

    def reranker(self, arm: Arm) -> Step:
        """Stage 2 of an arm, trained and validated on lists that were made the same way."""
        config = self.settings.reranker_of(arm.variant)
        settings = {
            "settings": config.settings_key() | {"seed": self.context.seed},
            "reranker_version": config.version,
            "precision": self.plan.config.precision,
            "version": VERSION,
        }
        inputs = (self.training_lists(arm.made), self.places(arm.made, "valid"))
        make = partial(making.reranker, self, arm)
        return Step(f"{arm.made} {arm.variant}", "leak-reranker", settings, make, inputs, together=True)

    def evaluation(self, arm: Arm) -> Step:
        """The ranks of the measured queries in an arm."""
        inputs = (self.reranker(arm), self.places(arm.made, "test"))
        name, make = f"{arm.made} {arm.variant}, measured", partial(making.evaluation, self, arm)
        return Step(name, "leak-evaluation", {"version": VERSION}, make, inputs)

    def _lists(self, name: str, settings: dict[str, Any], make: Callable[[Path], None]) -> Step:
        return Step(name, "leak-lists", settings, make, (*self.plan.stage1.values(),))

    def _settings(self, made: Made) -> dict[str, Any]:
        seed, digest = self.plan.context.seed, self.plan.kb.digest
        return {"made": made, "k": self.settings.k, "seed": seed, "data": digest, "version": VERSION}

    # The finished things: loaded, made first if need be.

    def asked(self, split: Split) -> Asked:
        """The questions of a split that are measured, or that choose the epoch."""
        kb, facts = self.plan.kb, self._facts(split)
        which = None if facts is None else sample_facts(kb, split, facts, seed=self.plan.context.seed)
        return Asked.of(kb, split, which)

    def load_places(self, made: Made, split: Split) -> Places:
        """These questions with their lists, and where Stage 1 has their golds."""
        asked = self.asked(split)
        kept = read_places(self.plan.store.get(self.places(made, split)), self.plan.kb)
        return replace(kept, queries=asked.queries, golds=asked.golds)

    def load_lists(self, made: Made) -> Lists:
        """The lists that Stage 2 learns from."""
        return read_lists(self.plan.store.get(self.training_lists(made)) / LISTS, self.plan.kb)

    def load_reranker(self, arm: Arm) -> Reranker:
        """Stage 2 of an arm."""
        config, folder = self.settings.reranker_of(arm.variant), self.plan.store.get(self.reranker(arm))
        return config.load(Upstream(self.plan.kb), folder / MODEL, self.context)

    def measured(self, arm: Arm) -> Evaluation:
        """The evaluation of an arm; its `before` is Stage 1."""
        return read_ranks(self.plan.store.get(self.evaluation(arm)) / RANKS)

    def read(self, made: Made, reader: str) -> Evaluation:
        """The evaluation of a reader that is written by hand."""
        asked, places = self.asked("test"), self.load_places(made, "test")
        assert places.lists is not None
        before = asked.evaluation(places.ranks, ties="expected", seconds=0.0)
        ranks = places.after(READERS[reader](places.lists, self.plan.kb), asked.known)
        return replace(before, ranks=ranks, before=before, listed=places.listed)

    @property
    def learned(self) -> tuple[Queries, Ints]:
        """The training facts that make lists, as queries, and the gold of each."""
        kb, most = self.plan.kb, self.settings.lists
        queries, gold = kb.queries("train"), kb.gold("train")
        places = np.arange(len(queries))
        if self.settings.learn_from == "measured":
            places = places[np.isin(_keys(queries, kb.n_entities), _keys(self.asked("test").queries, kb.n_entities))]
        if most is not None and most < len(places):
            drawn = np.random.default_rng([self.plan.context.seed, len(places)]).choice(places, most, replace=False)
            places = np.sort(drawn)
        return queries[places], gold[places]

    @property
    def context(self) -> Context:
        """That of Stage 2, which may have a seed of its own."""
        seed = self.settings.reranker.seed
        return self.plan.context if seed is None else self.plan.context.with_seed(seed)

    def _facts(self, split: Split) -> int | None:
        return self.settings.reranker.validate_facts if split == "valid" else self.settings.facts


def _keys(queries: Queries, n_entities: int) -> Ints:
    """A number for each query, the same for the same one."""
    return queries.relation * n_entities + queries.entity
