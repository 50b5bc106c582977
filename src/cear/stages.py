"""The steps of a run between Stage 1 and the final ranking. Each leaves a file; a run that stops goes on after it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from cear.candidates import Lists, crossfit_lists, make_lists, read_lists, write_lists
from cear.config import RunConfig
from cear.data import KnowledgeBase
from cear.evaluation import Evaluation, evaluate, reranked, sample_facts
from cear.files import read_json, write_json
from cear.nouns import Floats, Queries, Split, TieRule
from cear.progress import Progress, silent
from cear.reranking import STAGE2_ALONE, Fusion, Reranker, SequenceConfig, SequenceReranker, choose_fusion, train_stage2
from cear.retrieval import Retriever
from cear.training import State


@dataclass(frozen=True, eq=False)
class SecondStage:
    """A trained re-ranker with what it needs to make the final ranking."""

    reranker: Reranker
    fusion: Fusion
    training: State
    lists: int
    """Training lists."""
    shortened: float
    """The share of them whose surface forms were cut below the configured length, to fit."""

    def final_scores(self, lists: Lists, kb: KnowledgeBase, *, progress: Progress = silent) -> Floats:
        """The scores that order each list in the end."""
        return self.fusion.fuse(lists, self.reranker.rerank(lists, progress=progress), kb)


def train_second_stage(
    config: RunConfig,
    reranker_config: SequenceConfig,
    kb: KnowledgeBase,
    scorer: Retriever,
    folder: Path,
    *,
    download: bool = False,
    progress: Progress = silent,
) -> SecondStage:
    """Make the training lists, train the re-ranker, choose the fusion; continues what `folder` holds."""
    lists = training_lists(config, kb, scorer, folder, progress=progress)
    which = sample_facts(kb, "valid", reranker_config.validate_facts, seed=config.seed)
    before = evaluate(scorer, kb, "valid", which=which)
    valid = lists_of(config, kb, scorer, before.queries, "valid")

    def mrr(reranker: Reranker) -> float:
        return reranked(before, kb, valid, reranker.rerank(valid, progress=progress)).summary()["both"]["mrr"]

    trained, state = train_stage2(
        kb, reranker_config, lists, folder / "stage2", validate=mrr, seed=config.seed, download=download,
        progress=progress,
    )  # fmt: skip
    fusion = _fusion(config, kb, before, valid, trained, folder / "stage2" / "fusion.json")
    trained.save_pretrained(folder / "stage2" / "model")
    shortened = float(trained.shortened(lists).mean())
    write_json(folder / "stage2" / "training.json", asdict(state) | {"shortened": shortened, "lists": len(lists)})
    return SecondStage(trained, fusion, state, len(lists), shortened)


def open_second_stage(kb: KnowledgeBase, folder: Path) -> SecondStage:
    """The trained re-ranker of a finished run."""
    place = folder / "stage2"
    saved = read_json(place / "training.json")
    lists, shortened = saved.pop("lists"), saved.pop("shortened")
    fusion = Fusion(tuple(read_json(place / "fusion.json")["weights"]))
    reranker = SequenceReranker.from_pretrained(place / "model", kb)
    return SecondStage(reranker, fusion, State(**saved), lists, shortened)


def training_lists(
    config: RunConfig, kb: KnowledgeBase, scorer: Retriever, folder: Path, *, progress: Progress = silent
) -> Lists:
    """The lists that Stage 2 learns from: cross-fitted, or the paper's way from the Stage 1 that saw their facts."""
    path = folder / "candidates" / "train.parquet"
    if path.exists():
        return read_lists(path, kb)
    if config.candidates.crossfit is None:
        lists = lists_of(config, kb, scorer, kb.known("train").queries, "train", progress=progress)
    else:
        lists = crossfit_lists(
            kb, config.stage1, config.candidates, config.candidates.crossfit, folder / "crossfit",
            validate_on=valid_mrr, seed=config.seed, progress=progress,
        )  # fmt: skip
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


def _fusion(
    config: RunConfig, kb: KnowledgeBase, before: Evaluation, lists: Lists, reranker: Reranker, path: Path
) -> Fusion:
    """Weights chosen on validation lists by reciprocal rank, or Stage 2 alone; kept in a file."""

    def reciprocal_ranks(scores: Floats) -> Floats:
        return np.asarray(1 / reranked(before, kb, lists, scores).ranks.under(before.ties))

    alone = config.fusion == "none"
    fusion = STAGE2_ALONE if alone else choose_fusion(lists, reranker.rerank(lists), kb, reciprocal_ranks)
    write_json(path, fusion.as_json())
    return fusion
