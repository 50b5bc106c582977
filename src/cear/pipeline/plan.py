"""The steps of a run, each with what it is made from. Building a plan makes nothing; a store makes what is missing."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from cear.core.blocks import blocks
from cear.core.context import Context
from cear.core.devices import has_bf16
from cear.core.files import read_json
from cear.core.progress import Progress, silent
from cear.core.records import from_json
from cear.core.types import Ints, Protocol, Split, TieRule
from cear.data import KnowledgeBase
from cear.pipeline import making
from cear.pipeline.completion_plan import CompletionPlan
from cear.pipeline.parts import Everything, HalfOfValid, Part, Whole, tell_cost
from cear.pipeline.stage1 import LISTS, STAGE1, RetrieverPlan
from cear.ranking import Ranker
from cear.reranking import Fusion, Reranker, RerankerConfig, Upstream
from cear.steps import Step

log = logging.getLogger("cear.pipeline")

LISTS_AT_A_TIME = 2**16  # queries: minutes of a label tree, and more than most folds have


@dataclass(frozen=True, eq=False)
class Plan(RetrieverPlan):
    """What a configuration asks for, as steps over a knowledge base."""

    int8: bool = False
    """Whether the re-ranker answers with 8-bit weights."""
    ranking_minutes: float | None = None
    """A ranking by a slow retriever that would take longer than so many minutes is refused; None is no limit."""

    # The graph: who is made from what.

    @cached_property
    def training_lists(self) -> list[tuple[Part, Step]]:
        """What Stage 2 learns from: lists of folds, of valid, the paper's way, the user's own or drawn; or none."""
        if self.settings2.learns_from == "nothing":
            return []
        if self.half is not None:
            return [(self.half, self._lists(self.half, self.stage1, "lists of valid"))]
        if self.config.candidates.lists is not None:
            return [(Whole(self.kb), self._own_lists(Path(self.config.candidates.lists)))]
        if self.settings2.learns_from == "drawn":
            return [(Whole(self.kb), self._drawn_lists)]
        if not self.folds:
            return [(Whole(self.kb), self._lists(Whole(self.kb), self.stage1, "lists"))]
        made = zip(self.folds, self.fold_retrievers, strict=True)
        return [(fold, self._lists(fold, steps, f"fold {fold.number}, lists")) for fold, steps in made]

    @cached_property
    def validation(self) -> Step:
        """The lists of a sample of validation facts, with where Stage 1 has their golds."""
        settings = self.ranker_settings | {"facts": self.settings2.validate_facts} | self._chosen_by
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
            "precision": self.stage2.precision,
        }
        lists = [step for _, step in self.training_lists]
        inputs = (*lists, *self.features, self.validation, *self._vectors_of)
        make = partial(making.reranker, self)
        return Step("re-ranker", f"reranker-{config.kind}", settings, make, inputs, together=True, shared=True)

    @cached_property
    def fusion(self) -> Step:
        """How much each stage counts."""
        settings = {"fusion": self.config.fusion, "version": 1}
        return Step("fusion", "fusion", settings, partial(making.fusion, self), (self.reranker, self.validation))

    def evaluation(
        self,
        split: Split,
        ties: TieRule,
        facts: int | None,
        protocol: Protocol = "ours",
        *,
        progress: Progress = silent,
    ) -> Step:
        """The rank of every query of a split, or of a sample of its facts."""
        settings = {"split": split, "ties": ties, "facts": facts, "int8": self.int8, **self.ranker_settings}
        if split == "valid":
            settings |= self._chosen_by
        if protocol != "ours":  # which was there before there was a choice: its evaluations keep their keys
            settings |= {"protocol": protocol}
        make = partial(making.evaluation, self, split, ties, facts, protocol, progress)
        return Step(f"evaluation on {split}", "evaluation", settings, make, self.system)

    @cached_property
    def completion(self) -> CompletionPlan:
        """The steps of a completion, after those of the system."""
        return CompletionPlan(self)

    @property
    def last(self) -> tuple[Step, ...]:
        """What a finished run is loaded from: the system, its calibration, retrievers of all facts, as configured."""
        steps = self.completion
        calibrated = () if self.config.calibration is None else (steps.calibration,)
        refitted = steps.retrievers(Everything(self.kb)).values() if self.config.refit else ()
        return (*self.system, *calibrated, *refitted)

    @property
    def system(self) -> tuple[Step, ...]:
        """What the ranker is loaded from."""
        if self.config.reranker is None:
            return (*self.stage1.values(),)
        return (*self.stage1.values(), *self._vectors_of, self.reranker, self.fusion)

    # The finished things: loaded, made first if need be.

    @cached_property
    def ranker(self) -> Ranker:
        """The system: what is measured, and what answers."""
        if self.config.reranker is None:
            return self.first_ranker
        path = self.store.get(self.fusion) / making.FUSION
        fusion = from_json(Fusion, read_json(path), path)
        return replace(self.first_ranker, reranker=self.load_reranker(self.store.get(self.reranker)), fusion=fusion)

    def reranker_training(self) -> dict[str, Any]:
        """How the training of the re-ranker went: phases, lists, the share of them that was shortened."""
        values: dict[str, Any] = read_json(self.store.get(self.reranker) / making.TRAINING)
        return values

    def preflight(self) -> None:
        """Refuse now what could only fail after hours: a missing encoder, too few positions for k candidates."""
        asked = {self.config.precision} | ({self.stage2.precision} if self.config.reranker is not None else set())
        if "bf16" in asked and not has_bf16(self.context.device):
            log.warning(
                "precision: bf16 is emulated by this processor, and many times slower than fp32. Set it to fp32."
            )
        if self.half is not None:
            tell_cost(self.half)
        for settings in self.settings1.values():
            settings.preflight(self.kb, self.context)
        if self.config.reranker is not None:
            for fold in self.folds:
                self._settings_on(fold)  # who cannot learn without a fold says so now
            self.config.reranker.preflight(self.kb, self.config.candidates.k, self.stage2)

    def _lists(self, part: Part, retrievers: Mapping[str, Step], name: str) -> Step:
        made, inputs = self.config.candidates, (*retrievers.values(),)
        settings = {"k": made.k, "known": made.known, "queries": made.queries, "seed": self.context.seed, "version": 1}
        asked: dict[str, Any] = settings | {"asked": part.key}

        def piece(cut: slice) -> Step:
            make = partial(making.some_lists, self, part, retrievers, cut)
            which = {"from": cut.start, "to": cut.stop}
            return Step(f"{name} from {cut.start:,}", "some-lists", asked | which, make, inputs)

        def pieces() -> list[Step]:
            cuts = [*blocks(len(making.queries_of(self, part)), LISTS_AT_A_TIME)]
            return [piece(cut) for cut in cuts] if len(cuts) > 1 else []

        make = partial(making.lists, self, part, retrievers, pieces)
        return Step(name, "lists", asked, make, inputs, pieces=pieces)

    def _own_lists(self, path: Path) -> Step:
        settings = {"file": self.brought[LISTS], "data": self.kb.digest, "k": self.config.candidates.k}
        return Step("lists of your own", "lists", settings, partial(making.own_lists, self, path))

    @property
    def _drawn_lists(self) -> Step:
        config = self.settings2
        settings = {"kind": config.kind, "version": config.version, "drawn": config.draw_settings}
        settings |= {"seed": self.stage2.seed, "data": self.kb.digest}
        return Step("drawn lists", "lists", settings, partial(making.drawn_lists, self), on_cpu=True)

    # Loading.

    def load_reranker(self, folder: Path, upstream: Upstream | None = None) -> Reranker:
        """The trained re-ranker of a step, behind what stands before it now."""
        load = self.settings2.load_int8 if self.int8 else self.settings2.load
        return load(upstream or self.upstream, folder / making.MODEL, self.stage2)

    @cached_property
    def first_ranker(self) -> Ranker:
        """Stage 1 alone, with the lists that Stage 2 reads."""
        return Ranker(self.retrievers, self.config.candidates.k, self.config.candidates.known)

    @cached_property
    def upstream(self) -> Upstream:
        """What stands before the re-ranker."""
        whole = replace(self, holders=None)  # its vectors are read, and not only searched
        fold = whole.load_retriever(STAGE1, *self._unseen) if self.settings2.reads_vectors else None
        return Upstream(self.kb, [*self.config.candidates.extra_retrievers], fold)

    @property
    def _unseen(self) -> tuple[Part, Step]:
        """The Stage 1 that has not seen the facts to learn from, and what it has seen."""
        if self.half is not None:
            return self.half, self.stage1[STAGE1]
        return self.folds[0], self.fold_retrievers[0][STAGE1]

    @property
    def _vectors_of(self) -> list[Step]:
        """The Stage 1 whose vectors the re-ranker reads, if it does."""
        return [self._unseen[1]] if self.settings2.reads_vectors else []

    # Validation facts to learn from, where the configuration says so.

    @cached_property
    def half(self) -> HalfOfValid | None:
        """The half of the validation facts that Stage 2 learns from, if it does."""
        learns = self.config.reranker is not None and self.config.candidates.learn_from == "valid"
        return HalfOfValid(self.kb, self.context.seed) if learns else None

    @property
    def choosing(self) -> Ints | None:
        """The places of the validation facts that choose the epoch and the fusion; None for all."""
        return None if self.half is None else self.half.choosing

    @property
    def labelled(self) -> KnowledgeBase:
        """The facts whose answers are right in the lists to learn from."""
        return self.kb if self.half is None else self.half.labelled

    @property
    def _chosen_by(self) -> dict[str, Any]:
        return {} if self.half is None else {"without": self.half.key}

    @property
    def settings2(self) -> RerankerConfig:
        """The settings of Stage 2, of a run that has one."""
        assert self.config.reranker is not None
        return self.config.reranker

    @property
    def stage2(self) -> Context:
        """The context of Stage 2."""
        return self.settings2.context(self.context)

    @property
    def ranker_settings(self) -> dict[str, Any]:
        """What decides its lists beside the retrievers."""
        made = self.config.candidates
        return {"k": made.k, "known": made.known, "seed": self.context.seed, "version": 1}
