"""The steps of a run between Stage 1 and the final ranking. Each leaves a file; a run that stops goes on after it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import numpy as np

from cear.candidates import (
    Fold,
    Lists,
    Manifest,
    Retrievers,
    crossfit_folds,
    distinct_lists,
    joined,
    labels,
    make_lists,
    read_lists,
    sample_queries,
    scores_of,
    write_lists,
)
from cear.config import RunConfig
from cear.core.errors import ConfigError
from cear.core.files import read_json, write_json
from cear.core.progress import Progress, silent
from cear.core.types import NO_ENTITY, Candidates, Floats, Queries, Split, TieRule
from cear.data import KnowledgeBase
from cear.evaluation import Evaluation, evaluate, reranked, sample_facts
from cear.reranking import (
    STAGE2_ALONE,
    Fusion,
    Int8Reranker,
    Reranker,
    SequenceConfig,
    SequenceReranker,
    Trainable,
    WideConfig,
    WideReranker,
    choose_fusion,
    train_stage2,
)
from cear.retrieval import Retriever, load_stage1
from cear.texts import load_encoder
from cear.training import NO_DEADLINE, Deadline, State

STAGE2, MODEL, FUSION, TRAINING, LAST_PHASE = "stage2", "model", "fusion.json", "training.json", "end_to_end"


@dataclass(frozen=True, eq=False)
class SecondStage:
    """A trained re-ranker with what it needs to make the final ranking."""

    reranker: Reranker
    fusion: Fusion
    training: State
    lists: int
    """Training lists that hold an answer: those it learned from."""
    shortened: float
    """The share of them whose surface forms were cut below the configured length, to fit."""
    int8: bool = False
    """Whether it answers with 8-bit weights."""
    last_phase: State | None = None
    """How its training end to end went, if there was one; it counts where it ended better than `training`."""

    def final_scores(self, lists: Lists, kb: KnowledgeBase, *, progress: Progress = silent) -> Floats:
        """The scores that order each list in the end."""
        return self.fusion.fuse(lists, _rerank(self.reranker, lists, progress), kb)


def train_second_stage(
    config: RunConfig,
    settings: SequenceConfig | WideConfig,
    retrievers: Retrievers,
    folder: Path,
    *,
    download: bool = False,
    deadline: Deadline = NO_DEADLINE,
    progress: Progress = silent,
) -> SecondStage:
    """Make the training lists, train the re-ranker, choose the fusion; continues what `folder` holds."""
    kb, place = retrievers.kb, folder / STAGE2
    if (place / TRAINING).exists():
        return open_second_stage(config, retrievers, folder)
    folds = training_folds(config, retrievers, folder, deadline=deadline, progress=progress)
    look = _Look.at(config, settings.validate_facts, retrievers, progress)
    reranker = _fresh_reranker(config, settings, retrievers, folds, download=download, progress=progress)
    lists = joined([fold.lists for fold in folds])
    train = partial(
        train_stage2,
        lists=lists,
        kb=kb,
        inputs=np.concatenate([reranker.inputs(fold.lists, fold.retrievers) for fold in folds]),
        validate=look.mrr,
        seed=config.seed,
        deadline=deadline,
        progress=progress,
    )
    state, last = train(reranker, folder=place), None
    if isinstance(reranker, WideReranker) and isinstance(settings, WideConfig) and settings.end_to_end is not None:
        opened = reranker.end_to_end(settings.end_to_end)
        last = train(opened, folder=place / LAST_PHASE)
        reranker = opened if last.best > state.best else reranker
    fusion = STAGE2_ALONE if config.fusion == "none" else look.best_fusion(reranker)
    write_json(place / FUSION, fusion.as_json())
    reranker.save_pretrained(place / MODEL)
    useful = int(labels(lists, kb.known("train")).any(axis=1).sum())
    second = SecondStage(reranker, fusion, state, useful, float(reranker.shortened(lists).mean()), last_phase=last)
    details = {
        "lists": second.lists,
        "shortened": second.shortened,
        "last_phase": None if last is None else asdict(last),
    }
    write_json(place / TRAINING, asdict(state) | details)
    return second


def _fresh_reranker(
    config: RunConfig,
    settings: SequenceConfig | WideConfig,
    retrievers: Retrievers,
    folds: list[Fold],
    *,
    download: bool,
    progress: Progress,
) -> Trainable:
    """The re-ranker as its training starts: not yet end to end, which is a phase of its own."""
    if isinstance(settings, SequenceConfig):
        return SequenceReranker(retrievers.kb, settings, seed=config.seed, download=download)
    return WideReranker(
        retrievers,
        settings.model_copy(update={"end_to_end": None}),
        vectors_of=folds[0].retrievers.first,
        seed=config.seed,
        download=download,
        progress=progress,
    )


def open_second_stage(config: RunConfig, retrievers: Retrievers, folder: Path, *, int8: bool = False) -> SecondStage:
    """The trained re-ranker of a finished run; `int8` takes its encoder in 8-bit integers, made when first asked."""
    place = folder / STAGE2
    saved = read_json(place / TRAINING)
    lists, shortened, last = saved.pop("lists"), saved.pop("shortened"), saved.pop("last_phase", None)
    fusion = Fusion(tuple(read_json(place / FUSION)["weights"]))
    reranker: Reranker
    if isinstance(config.reranker, WideConfig):
        if int8:
            raise ConfigError("int8 is for the encoder of `kind: sequence`; wide reads texts only once. Leave it out.")
        fold = folder / "crossfit" / "fold0"
        vectors_of = load_stage1(retrievers.kb, config.stage1, fold) if config.reranker.vectors else None
        reranker = WideReranker.from_pretrained(place / MODEL, retrievers, vectors_of=vectors_of)
    else:
        kind = Int8Reranker if int8 else SequenceReranker
        reranker = kind.from_pretrained(place / MODEL, retrievers.kb)
    return SecondStage(
        reranker, fusion, State(**saved), lists, shortened, int8, last_phase=None if last is None else State(**last)
    )


def refuse_unfit_encoder(config: RunConfig, kb: KnowledgeBase, *, download: bool = False) -> None:
    """Fail before anything has trained, not after, if an encoder is not there or cannot hold k candidates."""
    for stage1 in (config.stage1, *config.candidates.also.values()):
        if stage1.model == "text":
            load_encoder(stage1.text.encoder, download=download)
    if isinstance(config.reranker, WideConfig) and config.reranker.text:
        load_encoder(config.reranker.encoder, download=download)
    if isinstance(config.reranker, SequenceConfig):
        k = config.candidates.k
        same = Candidates(np.zeros((1, k), np.int64), np.zeros((1, k)))
        one = Lists(Queries(np.zeros(1, np.int64), np.zeros(1, np.int64)), same, _manifest(config, kb, "train"))
        SequenceReranker(kb, config.reranker, download=download).lengths(one)


def training_folds(
    config: RunConfig,
    retrievers: Retrievers,
    folder: Path,
    *,
    deadline: Deadline = NO_DEADLINE,
    progress: Progress = silent,
) -> list[Fold]:
    """What Stage 2 learns from: cross-fitted lists, or the paper's way from the Stage 1 that saw their facts."""
    kb, made = retrievers.kb, config.candidates
    path = folder / "candidates" / "train.parquet"
    if path.exists():  # made before, or the user's own
        return [Fold(read_lists(path, kb), retrievers)]
    if made.crossfit is None:
        queries = sample_queries(kb.known("train").queries, made.queries, seed=config.seed)
        lists = lists_of(config, retrievers, queries, "train", progress=progress)
        write_lists(path, lists)
        return [Fold(lists, retrievers)]
    return crossfit_folds(
        kb,
        config.stage1,
        made,
        made.crossfit,
        folder / "crossfit",
        validate_on=valid_mrr,
        seed=config.seed,
        deadline=deadline,
        progress=progress,
    )


def lists_of(
    config: RunConfig, retrievers: Retrievers, queries: Queries, split: str, *, progress: Progress = silent
) -> Lists:
    """The candidate lists of queries as the configuration wants them; the gold is not an argument."""
    return make_lists(retrievers, queries, _manifest(config, retrievers.kb, split), progress=progress)


def evaluate_stages(
    config: RunConfig,
    retrievers: Retrievers,
    second: SecondStage | None,
    split: Split,
    *,
    ties: TieRule = "expected",
    facts: int | None = None,
    progress: Progress = silent,
) -> Evaluation:
    """The evaluation of the whole system; with a second stage, Stage 1's is its `before`."""
    kb = retrievers.kb
    which = None if facts is None else sample_facts(kb, split, facts, seed=config.seed)
    before = evaluate(retrievers.first, kb, split, ties=ties, which=which, progress=progress)
    if second is None:
        return before
    start = time.perf_counter()
    lists = lists_of(config, retrievers, before.queries, split, progress=progress)
    scores = second.final_scores(lists, kb, progress=progress)
    heights = _heights(retrievers, before)
    return reranked(before, kb, lists, scores, heights=heights, seconds=time.perf_counter() - start)


def valid_mrr(kb: KnowledgeBase) -> Callable[[Retriever], float]:
    """What chooses a model: filtered MRR on the validation facts, blind to the test facts."""
    return lambda scorer: evaluate(scorer, kb, "valid").summary()["both"]["mrr"]


@dataclass(frozen=True, eq=False)
class _Look:
    """Validation queries with their Stage-1 ranks and their lists: what chooses the epoch and the fusion."""

    kb: KnowledgeBase
    before: Evaluation
    lists: Lists
    heights: Floats | None
    progress: Progress

    @classmethod
    def at(cls, config: RunConfig, facts: int, retrievers: Retrievers, progress: Progress) -> _Look:
        """A look at a fixed sample of so many validation facts."""
        kb = retrievers.kb
        before = evaluate(retrievers.first, kb, "valid", which=sample_facts(kb, "valid", facts, seed=config.seed))
        lists = lists_of(config, retrievers, before.queries, "valid", progress=progress)
        return cls(kb, before, lists, _heights(retrievers, before), progress)

    def mrr(self, reranker: Reranker) -> float:
        """Filtered MRR after re-ranking."""
        return float(self._reciprocal_ranks(_rerank(reranker, self.lists, self.progress)).mean())

    def best_fusion(self, reranker: Reranker) -> Fusion:
        """The weights with the best MRR."""
        return choose_fusion(self.lists, _rerank(reranker, self.lists, self.progress), self.kb, self._reciprocal_ranks)

    def _reciprocal_ranks(self, scores: Floats) -> Floats:
        after = reranked(self.before, self.kb, self.lists, scores, heights=self.heights)
        return np.asarray(1 / after.ranks.under(after.ties))


def _manifest(config: RunConfig, kb: KnowledgeBase, split: str) -> Manifest:
    made = config.candidates
    return Manifest(kb.name, kb.digest, split, made.k, made.known, " + ".join([config.stage1.model, *made.also]))


def _heights(retrievers: Retrievers, before: Evaluation) -> Floats | None:
    """Stage 1's score of each gold's best mention, (query,), where lists may hold entities from below it."""
    if not retrievers.also:
        return None
    golds = before.golds
    padded = np.full((len(golds), int(golds.counts.max())), NO_ENTITY)
    padded[golds.rows, np.arange(len(golds.values)) - golds.offsets[golds.rows]] = golds.values
    return np.asarray(scores_of(retrievers.first, before.queries, padded).max(axis=1))


def _rerank(reranker: Reranker, lists: Lists, progress: Progress) -> Floats:
    """The new scores of each list; a list that several facts ask for is read once."""
    once, place = distinct_lists(lists)
    return reranker.rerank(once, progress=progress)[place]
