"""Outside truth: tools of information retrieval judge an exported run as we do, and exported lists rank as we did."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import ir_measures
import numpy as np
import pytest
import torch
from ir_measures import RR, Success

from cear.candidates import Lists, Retrievers
from cear.config import RunConfig
from cear.core.progress import Progress, silent
from cear.core.types import NO_ENTITY, SPLITS, Floats, Ints, Queries, Ragged, TieRule
from cear.data import KnowledgeBase, Mentions
from cear.evaluation import Evaluation
from cear.pipeline import Run, run
from cear.ranking import Ranker, evaluate_ranker
from cear.reports import write_trec_lists, write_trec_run
from cear.retrieval import ListedRetriever, read_rankings

MEASURES = {"mrr": RR, "hits@1": Success @ 1, "hits@3": Success @ 3, "hits@10": Success @ 10}


@dataclass(frozen=True)
class Drawn:
    """Scores of every query and entity, drawn; with `values` so few that many tie."""

    n_entities: int
    values: int | None = None

    def score_all(self, queries: Queries, among: Ints | None = None) -> torch.Tensor:
        generator = torch.Generator().manual_seed(3)
        shape = (10, self.n_entities, self.n_entities)
        table = torch.randn(shape, generator=generator)
        if self.values is not None:
            table = torch.randint(self.values, shape, generator=generator).float()
        scores = table[torch.from_numpy(queries.relation), torch.from_numpy(queries.entity)]
        return scores if among is None else scores[:, torch.from_numpy(among)]

    def score_candidates(self, queries: Queries, entities: Ints) -> torch.Tensor:
        return self.score_all(queries).gather(1, torch.from_numpy(entities))


class Redrawn:
    """A re-ranker whose scores have nothing to do with those of Stage 1."""

    def rerank(self, lists: Lists, *, progress: Progress = silent) -> Floats:
        del progress
        scores = np.sin(
            np.outer(1 + lists.queries.entity, np.ones(lists.candidates.k)) * 7.0 + lists.candidates.entities
        )
        return np.where(lists.candidates.entities == NO_ENTITY, -np.inf, scores)


def opened(towns: KnowledgeBase) -> KnowledgeBase:
    """The towns as mentions of five things, five towns each; of every test gold training facts name another mention."""
    facts: Any = {split: towns.facts(split) for split in SPLITS}
    between_towns = facts["test"][facts["test"][:, 1] > 0]
    other = between_towns[:, 2] // 5 * 5 + (between_towns[:, 2] + 1) % 5
    facts["train"] = np.concatenate([facts["train"], np.column_stack([between_towns[:, :2], other])])
    things = {split: each[:, [0, 2]] // 5 for split, each in facts.items()}
    ends: Any = {split: np.where(each == 5, -1, each) for split, each in things.items()}
    members = Ragged(np.arange(0, 26, 5), np.arange(25))
    return KnowledgeBase("open", towns.entities, towns.relations, facts, Mentions(members, ends))


@pytest.fixture(params=["closed, one stage", "closed, two stages", "open, one stage", "open, two stages"])
def ranker(request: pytest.FixtureRequest, towns: KnowledgeBase) -> Ranker:
    kb = opened(towns) if "open" in request.param else towns
    first = Ranker(Retrievers(kb, Drawn(kb.n_entities)), k=6)
    return replace(first, reranker=Redrawn()) if "two" in request.param else first


def judged(folder: Path, split: str = "test") -> dict[str, float]:
    """What ir_measures says of an exported run."""
    qrels = [*ir_measures.read_trec_qrels(str(folder / f"{split}.qrels"))]
    found = ir_measures.calc_aggregate(
        [*MEASURES.values()], qrels, ir_measures.read_trec_run(str(folder / f"{split}.run"))
    )
    return {name: found[measure] for name, measure in MEASURES.items()}


def to_depth(evaluation: Evaluation, k: int) -> dict[str, float]:
    """Our measures, where a gold behind the first k counts nothing."""
    ranks = evaluation.ranks.under()
    hits = {f"hits@{n}": float((ranks <= min(n, k)).mean()) for n in (1, 3, 10)}
    return {"mrr": float(np.where(ranks <= k, 1 / ranks, 0).mean())} | hits


class TestARunToBeJudged:
    @pytest.mark.parametrize("split", ["test", "valid"])
    def test_with_all_entities_every_measure_is_ours(self, ranker: Ranker, tmp_path: Path, split: Any) -> None:
        write_trec_run(tmp_path, ranker, split, 10**6)
        ours = evaluate_ranker(ranker, split)
        assert not ours.ranks.tied.any()
        assert judged(tmp_path, split) == pytest.approx({name: ours.summary()["both"][name] for name in MEASURES})

    @pytest.mark.parametrize("k", [1, 4, 8])
    def test_to_depth_k_a_gold_behind_it_counts_nothing(self, ranker: Ranker, tmp_path: Path, k: int) -> None:
        write_trec_run(tmp_path, ranker, "test", k)
        assert judged(tmp_path) == pytest.approx(to_depth(evaluate_ranker(ranker, "test"), k))

    def test_ties_are_in_one_of_their_orders(self, towns: KnowledgeBase, tmp_path: Path) -> None:
        ranker = Ranker(Retrievers(towns, Drawn(towns.n_entities, values=4)))
        write_trec_run(tmp_path, ranker, "test", 10**6)
        rules: tuple[TieRule, TieRule] = ("pessimistic", "optimistic")
        low, high = (evaluate_ranker(ranker, "test", ties=ties).summary()["both"]["mrr"] for ties in rules)
        assert low < judged(tmp_path)["mrr"] < high

    def test_it_does_not_depend_on_how_much_is_ranked_at_a_time(
        self, ranker: Ranker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write_trec_run(tmp_path / "one", ranker, "test", 5)
        monkeypatch.setattr("cear.reports.trec.BUDGET", 256 * 30)
        write_trec_run(tmp_path / "many", ranker, "test", 5)
        for name in ("test.run", "test.qrels"):
            assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "many" / name).read_bytes()

    def test_an_interrupted_one_leaves_nothing(self, ranker: Ranker, tmp_path: Path, stopping: Any) -> None:
        with pytest.raises(KeyboardInterrupt):
            write_trec_run(tmp_path, ranker, "test", 5, progress=stopping(1))
        assert not [*tmp_path.iterdir()]

    def test_on_paper(self, tmp_path: Path, towns: KnowledgeBase) -> None:
        write_trec_run(tmp_path, Ranker(Retrievers(towns, Drawn(towns.n_entities))), "test", 2)
        first, second, *_ = (tmp_path / "test.run").read_text().splitlines()
        qid, q0, _, rank, score, tag = first.split()
        assert (q0, rank, score, tag) == ("Q0", "1", "2", "cear")
        assert second.split()[3:5] == ["2", "1"]
        gold = qid.rpartition(":")[2]
        assert f"{qid} 0 {gold} 1" in (tmp_path / "test.qrels").read_text().splitlines()


class TestListsThatComeBack:
    def test_at_full_depth_every_rank_is_the_same(self, ranker: Ranker, tmp_path: Path) -> None:
        (path,) = write_trec_lists(tmp_path, ranker, "test", 10**6)
        again = Ranker(Retrievers(ranker.kb, ListedRetriever(ranker.kb, read_rankings([path], ranker.kb))))
        mine, its = (evaluate_ranker(each, "test") for each in (ranker, again))
        assert np.array_equal(mine.ranks.above, its.ranks.above)
        assert np.array_equal(mine.ranks.tied, its.ranks.tied)

    def test_ties_are_ties_again(self, towns: KnowledgeBase, tmp_path: Path) -> None:
        ranker = Ranker(Retrievers(towns, Drawn(towns.n_entities, values=4)), k=6, reranker=Redrawn())
        (path,) = write_trec_lists(tmp_path, ranker, "test", 10**6)
        again = Ranker(Retrievers(towns, ListedRetriever(towns, read_rankings([path], towns))))
        mine, its = (evaluate_ranker(each, "test").ranks for each in (ranker, again))
        assert mine.tied.any()
        assert np.array_equal(mine.under(), its.under())

    def test_to_depth_k_the_others_tie_behind(self, ranker: Ranker, tmp_path: Path) -> None:
        (path,) = write_trec_lists(tmp_path, ranker, "test", 8)
        again = Ranker(Retrievers(ranker.kb, ListedRetriever(ranker.kb, read_rankings([path], ranker.kb))))
        mine, its = (evaluate_ranker(each, "test").ranks for each in (ranker, again))
        listed = its.tied == 0
        assert listed.any()
        assert np.array_equal(mine.above[listed], its.above[listed])


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The demo knowledge base with a quick ComplEx."""
    values = {"data": "demo", "stage1": {"rank": 8, "epochs": 2, "batch": 500}}
    out = tmp_path_factory.mktemp("runs") / "demo"
    return run(RunConfig.model_validate(values), out, store=out / "steps")


def test_the_demo_is_judged_as_we_judge_it(demo: Run, tmp_path: Path) -> None:
    demo.export(tmp_path, "trec", k=100)
    assert judged(tmp_path) == pytest.approx(to_depth(demo.evaluate("test"), 100))


def test_lists_of_the_demo_come_back_as_a_run(demo: Run, tmp_path: Path) -> None:
    (path,) = demo.export(tmp_path, "lists", split="valid", k=50)
    values = {"data": "demo", "stage1": {"model": "lists", "path": str(path)}}
    again = run(RunConfig.model_validate(values), tmp_path / "run", store=tmp_path / "store")
    mine, its = (each.evaluate("valid").ranks for each in (demo, again))
    listed = its.tied == 0
    assert 0.2 < listed.mean() < 1
    assert np.array_equal(mine.above[listed], its.above[listed])
    assert again.training.best == again.evaluate("valid").summary()["both"]["mrr"]
