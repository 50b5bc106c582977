"""The protocol that cannot leak, end to end: each of these fails if the gold finds a way into a ranking."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from cear.candidates import AllScores, Manifest, Retrievers, SearchedScores, make_lists, read_lists, score_block, union
from cear.config import RunConfig
from cear.core.context import HERE
from cear.core.errors import LeakError, ScoreError
from cear.core.types import SPLITS, Queries, Split
from cear.data import KnowledgeBase
from cear.evaluation import ScoresEntities, evaluate
from cear.pipeline import Run, run
from cear.ranking import Ranker, evaluate_ranker
from cear.reranking import Fusion, Reranker, RerankerConfig, SequenceReranker, WideReranker
from cear.retrieval import (
    RETRIEVERS,
    ComplEx,
    DistMult,
    DotProductScorer,
    ExtremeText,
    GradientConfig,
    RotatE,
    RuleRetriever,
    Scorer,
    TextScorer,
    TransE,
    candidate_scores,
    top_k,
)

SMALL = {"rank": 6, "batch": 20, "epochs": 6, "validate_every": 2}
SCORERS = sorted(name for name, settings in RETRIEVERS.items() if issubclass(settings, GradientConfig))

MAKES_RANKINGS: dict[str, Callable[..., Any]] = {
    "top_k": top_k,
    "candidate_scores": candidate_scores,
    "ScoresEntities.score_all": ScoresEntities.score_all,
    "Scorer.score_candidates": Scorer.score_candidates,
    "DotProductScorer.query_vectors": DotProductScorer.query_vectors,
    "ExtremeText.score_all": ExtremeText.score_all,
    "ExtremeText.score_candidates": ExtremeText.score_candidates,
    "ExtremeText.top_k": ExtremeText.top_k,
    "RuleRetriever.score_all": RuleRetriever.score_all,
    "TextScorer.score_all": TextScorer.score_all,
    **{f"{model.__name__}.score_all": model.score_all for model in (ComplEx, DistMult, RotatE, TransE)},
    "score_block": score_block,
    "AllScores.best": AllScores.best,
    "SearchedScores.best": SearchedScores.best,
    "union": union,
    "Retrievers.score_block": Retrievers.score_block,
    "Retrievers.search": Retrievers.search,
    "make_lists": make_lists,
    "Ranker.lists": Ranker.lists,
    "Ranker.rank": Ranker.rank,
    "Ranker.final_scores": Ranker.final_scores,
    "RerankerConfig.features_of": RerankerConfig.features_of,
    "Reranker.rerank": Reranker.rerank,
    "SequenceReranker.rerank": SequenceReranker.rerank,
    "SequenceReranker.score": SequenceReranker.score,
    "WideReranker.rerank": WideReranker.rerank,
    "WideReranker.score": WideReranker.score,
    "Fusion.fuse": Fusion.fuse,
    "Run.rank": Run.rank,
    "Run.ask": Run.ask,
    "Run.ask_many": Run.ask_many,
}


def scorer_of(model: str = "complex", **settings: Any) -> Scorer:
    """A fresh scorer for 30 entities and 3 relations."""
    image = {"image_width": 2, "kernel": 2} if "image_width" in RETRIEVERS[model].model_fields else {}
    values = {"model": model, "rank": 4, "embedding": {"scale": 0.5}} | image | settings
    config: Any = RETRIEVERS[model].model_validate(values)
    return config.scorer(config.embedding.build(SIZES, HERE)).eval()


def config_of(data: Path) -> RunConfig:
    """Stage 1 alone, small."""
    return RunConfig.model_validate({"data": str(data), "stage1": SMALL})


class Sizes:
    """All that rows want to know of a knowledge base."""

    n_entities, n_relations = 30, 3


SIZES: Any = Sizes()


class FunctionScorer:
    """A stage 1 made of a function from queries to scores."""

    n_entities = 30

    def __init__(self, scores: Callable[[Queries], torch.Tensor]) -> None:
        self.score_all = scores


def with_splits(kb: KnowledgeBase, **splits: Any) -> KnowledgeBase:
    """The same knowledge base with other facts in some splits."""
    facts: dict[Split, Any] = {split: kb.facts(split) for split in SPLITS}
    return KnowledgeBase(kb.name, kb.entities, kb.relations, facts | splits)


class TestTheGoldIsNotAnArgument:
    @pytest.mark.parametrize("name", MAKES_RANKINGS)
    def test_of_anything_that_makes_a_ranking_or_a_list(self, name: str) -> None:
        parameters = inspect.signature(MAKES_RANKINGS[name]).parameters
        known = {"self", "scorer", "queries", "among", "k", "drop", "memory_mb", "progress", "scored"}
        asked = {"relation", "subject", "object", "new", "without", "questions"}
        # `kb` holds every fact; that none but training facts is read is what the poison below shows.
        listed = {"kb", "retriever", "retrievers", "manifest"}
        judged = {"lists", "entities", "features", "scores", "seen"}
        assert set(parameters) <= known | asked | listed | judged, "a new parameter here must not carry the answer"

    def test_queries_hold_an_entity_and_a_relation_and_no_answer(self) -> None:
        assert set(inspect.signature(Queries).parameters) == {"entity", "relation"}


class TestPermutingWhichAnswerIsTheGold:
    """All answers of ⟨0, r, ?⟩ in turn are the one that is held out."""

    @pytest.fixture
    def kbs(self, towns: KnowledgeBase) -> list[KnowledgeBase]:
        answers = [9, 14, 17]
        return [with_splits(towns, test=np.array([[0, 2, gold] for gold in np.roll(answers, i)])) for i in range(3)]

    @pytest.mark.parametrize("model", SCORERS)
    def test_changes_no_list(self, kbs: list[KnowledgeBase], model: Any) -> None:
        scorer = scorer_of(model)
        lists = [top_k(scorer, kb.queries("test")[:3], 10) for kb in kbs]
        for other in lists[1:]:
            assert np.array_equal(other.entities, lists[0].entities)
            assert np.array_equal(other.scores, lists[0].scores)

    def test_changes_no_rank_of_an_answer(self, kbs: list[KnowledgeBase]) -> None:
        scorer = scorer_of()
        standings = []
        for kb in kbs:
            evaluation = evaluate(scorer, kb, "test")
            golds = kb.gold("test")[:3].tolist()
            standings.append(dict(zip(golds, evaluation.ranks.under()[:3].tolist(), strict=True)))
        assert standings[0] == standings[1] == standings[2]


class TestPoisonedTestFacts:
    """Other test facts among the same entities: nothing that was learned or chosen may change."""

    def test_change_no_weight_and_no_validation(self, write_towns: Callable[..., Path], tmp_path: Path) -> None:
        poison = [(i, (i + 1) % 3, (7 * i + 3) % 30) for i in range(25)]
        folders = [write_towns(tmp_path / "clean"), write_towns(tmp_path / "poisoned", test=poison)]
        runs = [
            run(RunConfig.model_validate({"data": str(folder), "stage1": SMALL}), tmp_path / f"run {folder.name}")
            for folder in folders
        ]
        clean, poisoned = runs
        assert clean.kb.digest != poisoned.kb.digest, "the poison must be there"
        assert asdict(clean.training) | {"seconds": 0} == asdict(poisoned.training) | {"seconds": 0}
        weights = [(each.plan.store.get(each.plan.stage1["stage1"]) / "best.safetensors").read_bytes() for each in runs]
        assert weights[0] == weights[1]
        assert clean.evaluate("valid").summary() == poisoned.evaluate("valid").summary()

    def test_poisoned_training_facts_do_change_them(self, write_towns: Callable[..., Path], tmp_path: Path) -> None:
        """So that the test above is able to fail."""
        folders = [write_towns(tmp_path / "clean"), write_towns(tmp_path / "other")]
        with (folders[1] / "train.txt").open("a") as file:
            file.write("t3\troad_to\tt20\n")
        runs = [
            run(RunConfig.model_validate({"data": str(folder), "stage1": SMALL}), tmp_path / f"run {folder.name}")
            for folder in folders
        ]
        assert runs[0].training.history != runs[1].training.history


def path_of(done: Run, name: str) -> Path:
    """The folder of a step."""
    steps = {step.name: step for last in done.plan.last for step in last.chain()}
    return done.plan.store.get(steps[name])


def learned(done: Run) -> dict[str, bytes]:
    """All that retrievers, re-ranker and fusion have learned, and how well it did on validation."""
    names = ("stage1", "fold 0, stage1", "re-ranker", "fusion")
    return {
        f"{name}/{path.name}": path.read_bytes()
        for name in names
        for path in sorted(path_of(done, name).rglob("*"))
        if path.suffix in (".safetensors", ".json") and path.name not in ("step.json", "seal.json", "rules.safetensors")
    }


class TestPoisonedFactsInStage2:
    """Other test facts among the same entities: no list, no weight, no fusion, no score may change."""

    @pytest.fixture(params=["sequence", "wide"])
    def settings(
        self,
        request: pytest.FixtureRequest,
        encoder_of: Callable[..., str],
        monkeypatch: pytest.MonkeyPatch,
        tmp_path: Path,
    ) -> dict[str, Any]:
        monkeypatch.setenv("CEAR_CACHE", str(tmp_path / "cache"))
        reranker = {"kind": request.param, "encoder": encoder_of(), "epochs": 1, "learning_rate": 1e-3}
        reranker |= {"hidden": 8} if request.param == "sequence" else {"width": 8, "heads": 2}
        candidates: dict[str, Any] = {"k": 6, "crossfit": {"folds": 3}}
        if request.param == "wide":
            candidates["extra_retrievers"] = {"rules": {"model": "rules"}}
        return {"stage1": SMALL | {"epochs": 2}, "candidates": candidates, "reranker": reranker}

    def runs(self, settings: dict[str, Any], folders: list[Path]) -> list[Run]:
        return [
            run(RunConfig.model_validate(settings | {"data": str(each)}), each.parent / f"run {each.name}")
            for each in folders
        ]

    def test_change_nothing_that_was_learned_chosen_or_listed(
        self, settings: dict[str, Any], write_towns: Callable[..., Path], tmp_path: Path
    ) -> None:
        poison = [(i, (i + 1) % 3, (7 * i + 3) % 30) for i in range(25)]
        folders = [write_towns(tmp_path / "clean"), write_towns(tmp_path / "poisoned", test=poison)]
        clean, poisoned = self.runs(settings, folders)
        assert clean.kb.digest != poisoned.kb.digest, "the poison must be there"
        assert learned(clean) == learned(poisoned)
        lists = [read_lists(path_of(each, "fold 0, lists") / "lists.parquet", each.kb) for each in (clean, poisoned)]
        assert np.array_equal(lists[0].candidates.entities, lists[1].candidates.entities)
        queries, finals = clean.kb.queries("test"), []
        for each in (clean, poisoned):
            made = each.ranker.lists(queries, each.ranker.retrievers.score_block(queries))
            finals.append(each.ranker.final_scores(made))
        assert np.array_equal(*finals)
        assert clean.evaluate("valid").summary() == poisoned.evaluate("valid").summary()

    def test_poisoned_training_facts_do_change_it(
        self, settings: dict[str, Any], write_towns: Callable[..., Path], tmp_path: Path
    ) -> None:
        """So that the test above is able to fail."""
        folders = [write_towns(tmp_path / "clean"), write_towns(tmp_path / "other")]
        with (folders[1] / "train.txt").open("a") as file:
            file.write("t3\troad_to\tt20\n")
        one, other = self.runs(settings, folders)
        assert learned(one) != learned(other)

    def test_a_list_is_what_was_retrieved_with_the_gold_or_without(self, towns: KnowledgeBase) -> None:
        scorer = scorer_of()
        queries, gold = towns.queries("test"), towns.gold("test")
        manifest = Manifest("towns", towns.digest, "test", 6, "drop", "complex")
        lists = make_lists(Retrievers(towns, scorer, {}), queries, manifest)
        retrieved = top_k(scorer, queries, 6, drop=towns.known("train"))
        assert np.array_equal(lists.candidates.entities, retrieved.entities)
        found = (lists.candidates.entities == gold[:, None]).any(axis=1)
        assert found.any()
        assert not found.all(), "a gold that was not retrieved is not there"


class TestNoQueryIsDropped:
    @pytest.mark.parametrize("split", SPLITS)
    def test_each_fact_is_asked_in_both_directions(self, towns: KnowledgeBase, split: Split) -> None:
        evaluation = evaluate(scorer_of(), towns, split)
        n = len(towns.facts(split))
        assert len(evaluation.queries) == len(evaluation.ranks) == 2 * n
        assert (int(evaluation.asks_head.sum()), int((~evaluation.asks_head).sum())) == (n, n)

    def test_a_fact_that_stands_twice_counts_twice(self, towns: KnowledgeBase) -> None:
        twice = with_splits(towns, test=np.repeat(towns.facts("test"), 2, axis=0))
        assert len(evaluate(scorer_of(), twice, "test").ranks) == 4 * len(towns.facts("test"))

    def test_an_entity_without_training_facts_is_ranked_like_any_other(self, towns: KnowledgeBase) -> None:
        train = towns.facts("train")
        without = with_splits(towns, train=train[(train[:, 0] != 4) & (train[:, 2] != 4)])
        assert len(evaluate(scorer_of(), without, "test").ranks) == 2 * len(towns.facts("test"))


class TestScoresThatTellNothing:
    def test_a_scorer_that_ties_everything_gets_chance(self, towns: KnowledgeBase) -> None:
        """Expected rank (n + 1) / 2 among the n entities that are left after the filter."""
        constant = FunctionScorer(lambda queries: torch.zeros(len(queries), 30))
        evaluation = evaluate(constant, towns, "test")
        others = towns.known(*SPLITS).of_queries(towns.queries("test")).counts - 1
        left = 30 - others
        assert np.array_equal(evaluation.ranks.under(), (left + 1) / 2)
        assert evaluation.summary()["both"]["mrr"] == pytest.approx(float(np.mean(2 / (left + 1))))
        assert evaluation.summary()["both"]["hits@10"] == 0.0

    @pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf")])
    def test_scores_that_are_not_finite_are_refused(self, towns: KnowledgeBase, bad: float) -> None:
        scores = torch.randn(30)
        scores[11] = bad
        with pytest.raises(ScoreError):
            evaluate(FunctionScorer(lambda queries: scores.expand(len(queries), 30)), towns, "test")


class TestTheLeak:
    """The known leak as a double: for each query, the slot of every known answer holds the gold's score."""

    @pytest.fixture
    def crowded(self, towns: KnowledgeBase) -> KnowledgeBase:
        """Many answers a query, as FB15K-237 has."""
        rng = np.random.default_rng(0)
        cells = rng.permutation(np.stack(np.unravel_index(rng.permutation(2700)[:500], (30, 3, 30)), axis=1))
        return with_splits(towns, train=cells[:350], valid=cells[350:420], test=cells[420:])

    @staticmethod
    def leaking(kb: KnowledgeBase, honest: Scorer) -> FunctionScorer:
        known, queries, gold = kb.known(*SPLITS), kb.queries("test"), kb.gold("test")
        gold_of = {(e, r): g for e, r, g in zip(queries.entity, queries.relation, gold, strict=True)}

        def score_all(queries: Queries) -> torch.Tensor:
            scores = honest.score_all(queries).detach().clone()
            answers = known.of_queries(queries)
            for row, pair in enumerate(zip(queries.entity, queries.relation, strict=True)):
                scores[row, answers.row(row)] = scores[row, gold_of[pair]].clone()
            return scores

        return FunctionScorer(score_all)

    def test_is_refused_by_the_evaluation_that_everybody_calls(self, crowded: KnowledgeBase) -> None:
        honest = scorer_of()
        evaluate(honest, crowded, "test")
        with pytest.raises(LeakError, match="made with the gold in hand"):
            evaluate(self.leaking(crowded, honest), crowded, "test")

    def test_is_refused_by_a_ranker(self, crowded: KnowledgeBase) -> None:
        honest = scorer_of()
        leaking: Any = self.leaking(crowded, honest)
        with pytest.raises(LeakError):
            evaluate_ranker(Ranker(Retrievers(crowded, leaking)), "test")
