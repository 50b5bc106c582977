"""The steps of a run, each with what it is made from. Building a plan makes nothing; a store makes what is missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from cear.candidates import Retrievers
from cear.config import RunConfig
from cear.core.context import Context
from cear.core.files import file_digest, read_json
from cear.core.progress import Progress, silent
from cear.core.records import from_json
from cear.core.types import Split, TieRule
from cear.data import KnowledgeBase
from cear.pipeline import making
from cear.pipeline.parts import Fold, Part, Whole
from cear.ranking import Ranker
from cear.reranking import Fusion, Reranker, RerankerConfig, Upstream
from cear.retrieval import Retriever, RetrieverConfig
from cear.steps import Step, Store
from cear.training import State

STAGE1 = "stage1"


@dataclass(frozen=True, eq=False)
class Plan:
    """What a configuration asks for, as steps over a knowledge base."""

    config: RunConfig
    kb: KnowledgeBase
    store: Store
    context: Context
    int8: bool = False
    """Whether the re-ranker answers with 8-bit weights."""
    own_lists: str | None = None
    """The digest of the user's own lists when the run was made: a finished run does not need their file."""

    # The graph: who is made from what.

    @cached_property
    def stage1(self) -> dict[str, Step]:
        """Stage 1 and the retrievers beside it, of all training facts."""
        return self._retrievers(Whole(self.kb), "")

    @cached_property
    def folds(self) -> list[Fold]:
        """The folds that are held out in turn."""
        crossfit = self.config.candidates.crossfit
        if crossfit is None or not self.config.candidates.held_out:
            return []
        return [Fold(self.kb, crossfit, number, self.context.seed) for number in range(crossfit.held_out_folds)]

    @cached_property
    def fold_retrievers(self) -> list[dict[str, Step]]:
        """The retrievers of each fold, trained without it."""
        return [self._retrievers(fold, f"fold {fold.number}, ") for fold in self.folds]

    @cached_property
    def training_lists(self) -> list[tuple[Part, Step]]:
        """What Stage 2 learns from: cross-fitted lists, the paper's way, or a file of the user's own."""
        if self.config.candidates.lists is not None:
            return [(Whole(self.kb), self._own_lists(Path(self.config.candidates.lists)))]
        if not self.folds:
            return [(Whole(self.kb), self._lists(Whole(self.kb), self.stage1, "lists"))]
        made = zip(self.folds, self.fold_retrievers, strict=True)
        return [(fold, self._lists(fold, steps, f"fold {fold.number}, lists")) for fold, steps in made]

    @cached_property
    def validation(self) -> Step:
        """The lists of a sample of validation facts, with where Stage 1 has their golds."""
        settings = self._ranker_settings | {"facts": self.settings2.validate_facts}
        make = partial(making.validation, self)
        return Step("validation lists", "validation", settings, make, (*self.stage1.values(),))

    @cached_property
    def features(self) -> list[Step]:
        """What is known of the candidates of each list to learn from."""
        config = self.settings2
        settings = {"kind": config.kind, "version": config.version, "features": config.feature_settings}

        def described(part: Part, lists: Step) -> Step:
            name, make = f"{lists.name}: features", partial(making.features, self, part, lists)
            return Step(name, "features", settings | {"seen": part.key}, make, (lists,), on_cpu=True)

        return [described(*made) for made in self.training_lists]

    @cached_property
    def reranker(self) -> Step:
        """Stage 2, trained phase by phase."""
        config = self.settings2
        settings = {
            "settings": config.settings_key() | {"seed": self.stage2.seed},
            "version": config.version,
            "precision": self.config.precision,
        }
        lists = [step for _, step in self.training_lists]
        inputs = (*lists, *self.features, self.validation, *self._vectors_of)
        make = partial(making.reranker, self)
        return Step("re-ranker", f"reranker-{config.kind}", settings, make, inputs, together=True)

    @cached_property
    def fusion(self) -> Step:
        """How much each stage counts."""
        settings = {"fusion": self.config.fusion, "version": 1}
        return Step("fusion", "fusion", settings, partial(making.fusion, self), (self.reranker, self.validation))

    def evaluation(self, split: Split, ties: TieRule, facts: int | None, *, progress: Progress = silent) -> Step:
        """The rank of every query of a split, or of a sample of its facts."""
        settings = {"split": split, "ties": ties, "facts": facts, "int8": self.int8, **self._ranker_settings}
        make = partial(making.evaluation, self, split, ties, facts, progress)
        return Step(f"evaluation on {split}", "evaluation", settings, make, self.last)

    @property
    def last(self) -> tuple[Step, ...]:
        """What the finished system is loaded from."""
        if self.config.reranker is None:
            return (*self.stage1.values(),)
        return (*self.stage1.values(), *self._vectors_of, self.reranker, self.fusion)

    # The finished things: loaded, made first if need be.

    @cached_property
    def retrievers(self) -> Retrievers:
        """Stage 1 and the retrievers beside it."""
        return self.load_retrievers(Whole(self.kb), self.stage1)

    @cached_property
    def ranker(self) -> Ranker:
        """The system: what is measured, and what answers."""
        if self.config.reranker is None:
            return self.first_ranker
        folder = self.store.get(self.reranker)
        fusion = Fusion(tuple(read_json(self.store.get(self.fusion) / making.FUSION)["weights"]))
        return replace(self.first_ranker, reranker=self.load_reranker(folder), fusion=fusion)

    def training(self, step: Step) -> State:
        """How the training of a retriever went."""
        path = self.store.get(step) / making.TRAINING
        return from_json(State, read_json(path), path)

    def reranker_training(self) -> dict[str, Any]:
        """How the training of the re-ranker went: phases, lists, the share of them that was shortened."""
        values: dict[str, Any] = read_json(self.store.get(self.reranker) / making.TRAINING)
        return values

    def preflight(self) -> None:
        """Refuse now what could only fail after hours: a missing encoder, too few positions for k candidates."""
        for settings in self._settings.values():
            settings.preflight(self.kb, self.context)
        if self.config.reranker is not None:
            self.config.reranker.preflight(self.kb, self.config.candidates.k, self.stage2)

    def _retrievers(self, part: Part, label: str) -> dict[str, Step]:
        crossfit = self.config.candidates.crossfit
        steps = {}
        for name, settings in self._settings.items():
            if isinstance(part, Fold) and name == STAGE1 and crossfit is not None and crossfit.epochs is not None:
                settings = settings.with_epochs(crossfit.epochs)
            steps[name] = self._retriever(f"{label}{name}", settings, part)
        return steps

    def _retriever(self, name: str, config: RetrieverConfig, part: Part) -> Step:
        settings = {
            "settings": config.settings_key(),
            "version": config.version,
            "seed": self.context.seed,
            "precision": self.config.precision,
            "seen": part.key,
        }
        make = partial(making.retriever, self, config, part)
        return Step(
            name,
            f"retriever-{config.model}",
            settings,
            make,
            together=config.data_parallel,
            on_cpu=not config.data_parallel,
        )

    def _lists(self, part: Part, retrievers: Mapping[str, Step], name: str) -> Step:
        made = self.config.candidates
        settings = {"k": made.k, "known": made.known, "queries": made.queries, "seed": self.context.seed, "version": 1}
        make = partial(making.lists, self, part, retrievers)
        return Step(name, "lists", settings | {"asked": part.key}, make, (*retrievers.values(),))

    def _own_lists(self, path: Path) -> Step:
        digest = self.own_lists if self.own_lists is not None and not path.exists() else file_digest(path)
        settings = {"file": digest, "data": self.kb.digest}
        return Step("lists of your own", "lists", settings, partial(making.own_lists, self, path))

    # Loading.

    def load_retrievers(self, part: Part, steps: Mapping[str, Step]) -> Retrievers:
        """The retrievers that learned from a part of the facts."""
        loaded = {name: self._load_retriever(name, part, step) for name, step in steps.items()}
        return Retrievers(part.seen, loaded.pop(STAGE1), loaded)

    def _load_retriever(self, name: str, part: Part, step: Step) -> Retriever:
        return self._settings[name].load(part.seen, self.store.get(step), self.context)

    def load_reranker(self, folder: Path) -> Reranker:
        """The trained re-ranker of a step."""
        load = self.settings2.load_int8 if self.int8 else self.settings2.load
        return load(self.upstream, folder / making.MODEL, self.stage2)

    @cached_property
    def first_ranker(self) -> Ranker:
        """Stage 1 alone, with the lists that Stage 2 reads."""
        return Ranker(self.retrievers, self.config.candidates.k, self.config.candidates.known)

    @cached_property
    def upstream(self) -> Upstream:
        """What stands before the re-ranker."""
        fold = None
        if self.settings2.reads_vectors:
            fold = self._load_retriever(STAGE1, self.folds[0], self.fold_retrievers[0][STAGE1])
        return Upstream(self.kb, [*self.config.candidates.extra_retrievers], fold)

    @property
    def _settings(self) -> dict[str, RetrieverConfig]:
        """The settings of Stage 1, and of the retrievers beside it by their names."""
        return {STAGE1: self.config.stage1, **self.config.candidates.extra_retrievers}

    @property
    def _vectors_of(self) -> list[Step]:
        """The Stage 1 whose vectors the re-ranker reads, if it does."""
        return [self.fold_retrievers[0][STAGE1]] if self.settings2.reads_vectors else []

    @property
    def settings2(self) -> RerankerConfig:
        """The settings of Stage 2, of a run that has one."""
        assert self.config.reranker is not None
        return self.config.reranker

    @property
    def stage2(self) -> Context:
        """The context of Stage 2, which may have a seed of its own."""
        seed = self.settings2.seed
        return self.context if seed is None else self.context.with_seed(seed)

    @property
    def _ranker_settings(self) -> dict[str, Any]:
        made = self.config.candidates
        return {"k": made.k, "known": made.known, "seed": self.context.seed, "version": 1}
