"""The steps of Stage 1: the retrievers of a run, on all facts and on folds, each with what it is made from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path

from cear.candidates import Retrievers
from cear.config import RunConfig
from cear.core.context import Context
from cear.core.errors import DataError
from cear.core.files import file_digest, read_json
from cear.core.keys import content_key
from cear.core.records import from_json
from cear.data import KnowledgeBase
from cear.pipeline import making
from cear.pipeline.parts import Everything, Fold, Part, Whole
from cear.retrieval import Holders, Retriever, RetrieverConfig
from cear.steps import Step, Store
from cear.training import State

STAGE1, LISTS = "stage1", "lists"


@dataclass(frozen=True, eq=False)
class RetrieverPlan:
    """What a configuration asks of Stage 1, as steps over a knowledge base."""

    config: RunConfig
    kb: KnowledgeBase
    store: Store
    context: Context
    recorded: Mapping[str, str] = field(default_factory=dict)
    """What the user's own files held when the run was made: a finished run does not need them."""
    fold_numbers: tuple[int, ...] | None = None
    """The folds whose lists Stage 2 learns from, where these are not the first as the configuration says."""
    holders: Holders | None = None
    """Who holds the entities of retrievers in parts; None loads them here.

    Both find the same, to the last bit where there are too many entities for all their scores to be held at a time;
    scores of fewer are those of another product.
    """

    @cached_property
    def stage1(self) -> dict[str, Step]:
        """Stage 1 and the retrievers beside it, of all training facts."""
        return self.retrievers_on(Whole(self.kb), "")

    @cached_property
    def folds(self) -> list[Fold]:
        """The folds that are held out in turn."""
        crossfit = self.config.candidates.crossfit
        if crossfit is None or not self.config.candidates.held_out:
            return []
        numbers = range(crossfit.held_out_folds) if self.fold_numbers is None else self.fold_numbers
        return [Fold(self.kb, crossfit, number, self.context.seed) for number in numbers]

    @cached_property
    def fold_retrievers(self) -> list[dict[str, Step]]:
        """The retrievers of each fold, trained without it."""
        return [self.retrievers_on(fold, f"fold {fold.number}, ") for fold in self.folds]

    @cached_property
    def brought(self) -> dict[str, str]:
        """The digests of the user's own files, by what they are for: lists, or the retriever of that name."""
        lists = self.config.candidates.lists
        look: dict[str, Callable[[], str | None]] = {name: each.brought for name, each in self.settings1.items()}
        if lists is not None:
            look[LISTS] = partial(file_digest, Path(lists))
        digests = {name: self._digest(name, each) for name, each in look.items()}
        return {name: digest for name, digest in digests.items() if digest is not None}

    @cached_property
    def retrievers(self) -> Retrievers:
        """Stage 1 and the retrievers beside it."""
        return self.load_retrievers(Whole(self.kb), self.stage1)

    def load_retrievers(self, part: Part, steps: Mapping[str, Step]) -> Retrievers:
        """The retrievers that learned from a part of the facts."""
        loaded = {name: self.load_retriever(name, part, step) for name, step in steps.items()}
        return Retrievers(part.seen, loaded.pop(STAGE1), loaded)

    def kept_retrievers(self, part: Part, steps: Mapping[str, Step]) -> Retrievers:
        """The same, kept until others are asked for: pieces of a step want them one after the other."""
        key = content_key([step.key for step in steps.values()])
        if key not in self._last_loaded:
            self.forget_retrievers()
            self._last_loaded[key] = self.load_retrievers(part, steps)
        return self._last_loaded[key]

    def forget_retrievers(self) -> None:
        """Give back the memory of those that were kept."""
        self._last_loaded.clear()

    @cached_property
    def _last_loaded(self) -> dict[str, Retrievers]:
        return {}

    def load_retriever(self, name: str, part: Part, step: Step) -> Retriever:
        """One of them, by its name."""
        settings, there = self._settings_on(part)[name], (part.seen, self.store.get(step), self.context)
        return settings.load(*there) if self.holders is None else settings.load_in_parts(*there, self.holders)

    def training(self, step: Step) -> State:
        """How the training of a retriever went."""
        path = self.store.get(step) / making.TRAINING
        return from_json(State, read_json(path), path)

    def retrievers_on(self, part: Part, label: str) -> dict[str, Step]:
        """The retrievers that learn from a part of the facts, by name; `label` stands before their names."""
        return {name: self._retriever(name, label, config, part) for name, config in self._settings_on(part).items()}

    def _retriever(self, name: str, label: str, config: RetrieverConfig, part: Part) -> Step:
        settings = {
            "settings": config.settings_key(),
            "version": config.version,
            "seed": self.context.seed,
            "precision": self.config.precision,
            "seen": part.key,
        }
        if name in self.brought:  # who stands in for it on a fold is made from what it is, too
            settings["brought"] = self.brought[name]
        return Step(
            f"{label}{name}",
            f"retriever-{config.model}",
            settings,
            partial(making.retriever, self, f"{label}{name}", config, part),
            together=config.data_parallel,
            on_cpu=not config.data_parallel,
        )

    @property
    def settings1(self) -> dict[str, RetrieverConfig]:
        """The settings of Stage 1, and of the retrievers beside it by their names."""
        return {STAGE1: self.config.stage1, **self.config.candidates.extra_retrievers}

    def _settings_on(self, part: Part) -> dict[str, RetrieverConfig]:
        """The settings of those who learn from a part of the facts."""
        crossfit = self.config.candidates.crossfit
        if isinstance(part, Everything):
            return {name: self._as_long(name, settings) for name, settings in self.settings1.items()}
        if isinstance(part, Whole) or crossfit is None:
            return self.settings1
        epochs = {STAGE1: crossfit.epochs}
        return {name: settings.on_fold(epochs.get(name)) for name, settings in self.settings1.items()}

    def _as_long(self, name: str, settings: RetrieverConfig) -> RetrieverConfig:
        """The same settings for as many epochs as validation chose: on facts that are learned it chooses nothing."""
        best = max(self.training(self.stage1[name]).best_epoch, 1)
        known = {key: best for key in type(settings).model_fields if key in ("epochs", "validate_every")}
        return settings.model_copy(update=known)

    def _digest(self, name: str, look: Callable[[], str | None]) -> str | None:
        try:
            return look()
        except DataError:
            if name not in self.recorded:
                raise
            return self.recorded[name]
