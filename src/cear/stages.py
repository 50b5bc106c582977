"""The steps of a run between Stage 1 and the final ranking. Each leaves a file; a run that stops goes on after it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from cear.candidates import (
    Lists,
    Manifest,
    crossfit_lists,
    distinct_lists,
    labels,
    make_lists,
    read_lists,
    write_lists,
)
from cear.config import RunConfig
from cear.data import KnowledgeBase
from cear.evaluation import Evaluation, evaluate, reranked, sample_facts
from cear.files import read_json, write_json
from cear.nouns import Candidates, Floats, Queries, Split, TieRule
from cear.progress import Progress, silent
from cear.reranking import (
    STAGE2_ALONE,
    Fusion,
    Int8Reranker,
    Reranker,
    SequenceConfig,
    SequenceReranker,
    choose_fusion,
    train_stage2,
)
from cear.retrieval import Retriever
from cear.training import NO_DEADLINE, Deadline, State

STAGE2, MODEL, FUSION, TRAINING = "stage2", "model", "fusion.json", "training.json"


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

    def final_scores(self, lists: Lists, kb: KnowledgeBase, *, progress: Progress = silent) -> Floats:
        """The scores that order each list in the end."""
        return self.fusion.fuse(lists, _rerank(self.reranker, lists, progress), kb)


def train_second_stage(
    config: RunConfig,
    reranker_config: SequenceConfig,
    kb: KnowledgeBase,
    scorer: Retriever,
    folder: Path,
    *,
    download: bool = False,
    deadline: Deadline = NO_DEADLINE,
    progress: Progress = silent,
) -> SecondStage:
    """Make the training lists, train the re-ranker, choose the fusion; continues what `folder` holds."""
    place = folder / STAGE2
    if (place / TRAINING).exists():
        return open_second_stage(kb, folder)
    lists = training_lists(config, kb, scorer, folder, deadline=deadline, progress=progress)
    look = _Look.at(config, reranker_config.validate_facts, kb, scorer, progress)
    trained, state = train_stage2(
        kb,
        reranker_config,
        lists,
        place,
        validate=look.mrr,
        seed=config.seed,
        download=download,
        deadline=deadline,
        progress=progress,
    )
    fusion = STAGE2_ALONE if config.fusion == "none" else look.best_fusion(trained)
    write_json(place / FUSION, fusion.as_json())
    trained.save_pretrained(place / MODEL)
    useful = int(labels(lists, kb.known("train")).any(axis=1).sum())
    second = SecondStage(trained, fusion, state, useful, float(trained.shortened(lists).mean()))
    write_json(place / TRAINING, asdict(state) | {"lists": second.lists, "shortened": second.shortened})
    return second


def open_second_stage(kb: KnowledgeBase, folder: Path, *, int8: bool = False) -> SecondStage:
    """The trained re-ranker of a finished run; `int8` takes its encoder in 8-bit integers, made when first asked."""
    place = folder / STAGE2
    saved = read_json(place / TRAINING)
    lists, shortened = saved.pop("lists"), saved.pop("shortened")
    fusion = Fusion(tuple(read_json(place / FUSION)["weights"]))
    kind = Int8Reranker if int8 else SequenceReranker
    return SecondStage(kind.from_pretrained(place / MODEL, kb), fusion, State(**saved), lists, shortened, int8)


def refuse_unfit_encoder(config: RunConfig, kb: KnowledgeBase, *, download: bool = False) -> None:
    """Fail before anything has trained, not after, if the encoder is not there or cannot hold k candidates."""
    if config.reranker is None:
        return
    k = config.candidates.k
    manifest = Manifest(kb.name, kb.digest, "train", k, config.candidates.known, "nobody")
    same = Candidates(np.zeros((1, k), np.int64), np.zeros((1, k)))
    one = Lists(Queries(np.zeros(1, np.int64), np.zeros(1, np.int64)), same, manifest)
    SequenceReranker(kb, config.reranker, download=download).lengths(one)


def training_lists(
    config: RunConfig,
    kb: KnowledgeBase,
    scorer: Retriever,
    folder: Path,
    *,
    deadline: Deadline = NO_DEADLINE,
    progress: Progress = silent,
) -> Lists:
    """The lists that Stage 2 learns from: cross-fitted, or the paper's way from the Stage 1 that saw their facts."""
    path = folder / "candidates" / "train.parquet"
    if path.exists():
        return read_lists(path, kb)
    if config.candidates.crossfit is None:
        lists = lists_of(config, kb, scorer, kb.known("train").queries, "train", progress=progress)
    else:
        lists = crossfit_lists(
            kb,
            config.stage1,
            config.candidates,
            config.candidates.crossfit,
            folder / "crossfit",
            validate_on=valid_mrr,
            seed=config.seed,
            deadline=deadline,
            progress=progress,
        )
    write_lists(path, lists)
    return lists


def lists_of(
    config: RunConfig,
    kb: KnowledgeBase,
    scorer: Retriever,
    queries: Queries,
    split: str,
    *,
    progress: Progress = silent,
) -> Lists:
    """The candidate lists of queries as the configuration wants them; the gold is not an argument."""
    made = config.candidates
    return make_lists(
        scorer, kb, queries, k=made.k, known=made.known, split=split, model=config.stage1.model, progress=progress
    )


def evaluate_stages(
    config: RunConfig,
    kb: KnowledgeBase,
    scorer: Retriever,
    second: SecondStage | None,
    split: Split,
    *,
    ties: TieRule = "expected",
    facts: int | None = None,
    progress: Progress = silent,
) -> Evaluation:
    """The evaluation of the whole system; with a second stage, Stage 1's is its `before`."""
    which = None if facts is None else sample_facts(kb, split, facts, seed=config.seed)
    before = evaluate(scorer, kb, split, ties=ties, which=which, progress=progress)
    if second is None:
        return before
    start = time.perf_counter()
    lists = lists_of(config, kb, scorer, before.queries, split, progress=progress)
    scores = second.final_scores(lists, kb, progress=progress)
    return reranked(before, kb, lists, scores, seconds=time.perf_counter() - start)


def valid_mrr(kb: KnowledgeBase) -> Callable[[Retriever], float]:
    """What chooses a model: filtered MRR on the validation facts, blind to the test facts."""
    return lambda scorer: evaluate(scorer, kb, "valid").summary()["both"]["mrr"]


@dataclass(frozen=True, eq=False)
class _Look:
    """Validation queries with their Stage-1 ranks and their lists: what chooses the epoch and the fusion."""

    kb: KnowledgeBase
    before: Evaluation
    lists: Lists
    progress: Progress

    @classmethod
    def at(cls, config: RunConfig, facts: int, kb: KnowledgeBase, scorer: Retriever, progress: Progress) -> _Look:
        """A look at a fixed sample of so many validation facts."""
        before = evaluate(scorer, kb, "valid", which=sample_facts(kb, "valid", facts, seed=config.seed))
        return cls(kb, before, lists_of(config, kb, scorer, before.queries, "valid"), progress)

    def mrr(self, reranker: Reranker) -> float:
        """Filtered MRR after re-ranking."""
        return float(self._reciprocal_ranks(_rerank(reranker, self.lists, self.progress)).mean())

    def best_fusion(self, reranker: Reranker) -> Fusion:
        """The weights with the best MRR."""
        return choose_fusion(self.lists, _rerank(reranker, self.lists, self.progress), self.kb, self._reciprocal_ranks)

    def _reciprocal_ranks(self, scores: Floats) -> Floats:
        after = reranked(self.before, self.kb, self.lists, scores)
        return np.asarray(1 / after.ranks.under(after.ties))


def _rerank(reranker: Reranker, lists: Lists, progress: Progress) -> Floats:
    """The new scores of each list; a list that several facts ask for is read once."""
    once, place = distinct_lists(lists)
    return reranker.rerank(once, progress=progress)[place]
