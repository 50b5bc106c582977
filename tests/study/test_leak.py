"""The artefact on demand: the exact lists, what they give away, and that only this experiment can make them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import cear
from cear.candidates import Lists, Manifest, Retrievers, make_lists
from cear.config import RunConfig
from cear.core.context import HERE
from cear.core.errors import ConfigError, LeakError, UnknownName
from cear.core.types import SPLITS, Candidates, Floats, Ints, Queries
from cear.data import KnowledgeBase, Vocabulary
from cear.evaluation import find_equal_score_leak, rank, refuse_leaks
from cear.pipeline import Plan
from cear.steps import Store
from cear.study import Arm, LeakFindings, LeakPlan, LeakSettings, leak_experiment, leaky_lists, leaky_scores
from cear.study.leak.making import different_lists
from cear.study.leak.readers import Reader, equal_scores, remembered_places, unsettled

STAGE1 = {"rank": 4, "batch": 50, "epochs": 5}
PLAIN = {"known": "keep", "crossfit": None}
WIDE = {"kind": "wide", "text": False, "graph": False, "width": 16, "heads": 2, "dropout": 0.0, "learning_rate": 0.01}
WIDE |= {"max_tokens": 300, "epochs": 9, "patience": 9}


class Table:
    """A retriever whose scores of every query are those of a table, (query's entity, entity)."""

    def __init__(self, scores: Floats) -> None:
        self.scores, self.n_entities = torch.from_numpy(scores.astype(np.float32)), scores.shape[1]

    def score_all(self, queries: Queries, among: Ints | None = None) -> Tensor:
        found = self.scores[torch.from_numpy(queries.entity)]
        return found if among is None else found[:, torch.from_numpy(among)]

    def score_candidates(self, queries: Queries, entities: Ints) -> Tensor:
        return self.score_all(queries).gather(1, torch.from_numpy(entities))


def kb_of(n_entities: int, **splits: Any) -> KnowledgeBase:
    entities = Vocabulary.from_ids("entity", [f"e{i}" for i in range(n_entities)])
    facts = {split: np.array(facts) for split, facts in splits.items()}
    return KnowledgeBase("toy", entities, Vocabulary.from_ids("relation", ["likes"]), facts)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def likes() -> KnowledgeBase:
    """48 people, 48 things, four tastes: half of the things of one's taste are liked, and nothing tells which."""
    rng, n = np.random.default_rng(0), 48
    pairs = np.array([(s, n + o) for s in range(n) for o in range(n) if s % 4 == o % 4])
    pairs = rng.permutation(pairs[rng.random(len(pairs)) < 0.5])
    facts = np.insert(pairs, 1, 0, axis=1)
    train, valid, test = np.split(facts, [int(0.8 * len(facts)), int(0.9 * len(facts))])
    return kb_of(2 * n, train=train, valid=valid, test=test)


class TestByHand:
    """⟨0, likes, ?⟩ has the answers 1, 2 (train), 3 (valid), 4, 5 (test); 0, 6, 7 are strangers."""

    scores = np.array([0.1, 0.9, 0.8, 0.2, 0.5, 0.3, 0.7, 0.4])
    kb = kb_of(8, train=[(0, 0, 1), (0, 0, 2)], valid=[(0, 0, 3)], test=[(0, 0, 4), (0, 0, 5)])

    def lists(self, golds: list[int], k: int, seed: int = 0) -> tuple[Ints, Floats]:
        queries = Queries(np.zeros(len(golds), np.int64), np.zeros(len(golds), np.int64))
        stage1 = Retrievers(self.kb, Table(np.tile(self.scores, (8, 1))))
        made = leaky_lists(stage1, queries, np.array(golds), k, split="test", seed=seed).candidates
        return made.entities, made.scores

    def test_every_known_answer_has_the_score_of_the_gold(self) -> None:
        leaked = leaky_scores(self.scores, 4, np.array([1, 2, 3, 4, 5]))
        assert leaked.tolist() == [0.1, 0.5, 0.5, 0.5, 0.5, 0.5, 0.7, 0.4]
        assert self.scores[1] == 0.9, "the scores themselves are left alone"

    def test_the_list_belongs_to_the_fact_and_not_to_the_query(self) -> None:
        entities, scores = self.lists([4, 5], k=7)
        assert scores[0] == pytest.approx([0.7, 0.5, 0.5, 0.5, 0.5, 0.5, 0.4])
        assert (entities[0, 0], {*entities[0, 1:6].tolist()}, entities[0, 6]) == (6, {1, 2, 3, 4, 5}, 7)
        assert scores[1] == pytest.approx([0.7, 0.4, 0.3, 0.3, 0.3, 0.3, 0.3])
        assert (entities[1, :2].tolist(), {*entities[1, 2:].tolist()}) == ([6, 7], {1, 2, 3, 4, 5})

    def test_a_list_that_ends_inside_the_block_has_some_of_it(self) -> None:
        entities, _ = self.lists([4], k=3)
        assert entities[0, 0] == 6
        assert {*entities[0, 1:].tolist()} < {1, 2, 3, 4, 5}

    def test_the_order_within_the_block_tells_nothing(self) -> None:
        firsts = [self.lists([4], k=7, seed=seed)[0][0, 1] for seed in range(200)]
        counts = np.bincount(firsts, minlength=8)
        assert counts[[1, 2, 3, 4, 5]].min() > 20, "each of the five is first about 40 times"
        assert counts.sum() == counts[1:6].sum()

    def test_a_list_is_the_same_whatever_is_asked_beside_it(self) -> None:
        alone, together = self.lists([4], k=7)[0], self.lists([5, 4, 5], k=7)[0]
        assert np.array_equal(alone[0], together[1])


@pytest.fixture(scope="module")
def asked(likes: KnowledgeBase) -> tuple[KnowledgeBase, Retrievers, Queries, Ints]:
    """Random scores, and the questions of all test facts with their golds."""
    table = Table(np.random.default_rng(1).normal(size=(96, 96)))
    return likes, Retrievers(likes, table), likes.queries("test"), likes.gold("test")


class TestLists:
    def test_known_answers_stand_together_with_the_gold_and_strangers_where_they_were(self, asked: Any) -> None:
        kb, stage1, queries, gold = asked
        made = leaky_lists(stage1, queries, gold, 40, split="test", seed=0)
        honest = stage1.first.score_all(queries).numpy()
        known = kb.known(*SPLITS).of_queries(queries).contains(made.candidates.entities)
        for row, (entities, scores) in enumerate(zip(made.candidates.entities, made.candidates.scores, strict=True)):
            assert (scores[known[row]] == honest[row, gold[row]]).all()
            assert (scores[~known[row]] == honest[row, entities[~known[row]]]).all()
            assert (np.diff(np.flatnonzero(known[row])) == 1).all(), "one block"
            assert (np.diff(scores) <= 0).all()
        assert known.sum(axis=1).max() > 3

    def test_they_say_that_they_are_leaky(self, asked: Any) -> None:
        _, stage1, queries, gold = asked
        manifest = leaky_lists(stage1, queries, gold, 5, split="test", seed=0).manifest
        assert (manifest.model, manifest.split, manifest.k) == ("leaky Table", "test", 5)

    def test_our_own_check_refuses_them_and_lets_honest_ones_pass(self, asked: Any) -> None:
        kb, stage1, queries, gold = asked
        known = kb.known(*SPLITS).of_queries(queries)
        leaky = leaky_lists(stage1, queries, gold, 40, split="test", seed=0)
        honest = make_lists(stage1, queries, Manifest("toy", kb.digest, "test", 40, "keep", "table"))
        refuse_leaks(find_equal_score_leak(honest.candidates, gold, known))
        with pytest.raises(LeakError, match="made with the gold in hand"):
            refuse_leaks(find_equal_score_leak(leaky.candidates, gold, known))

    def test_it_refuses_the_scores_too_though_the_filtered_ranks_are_what_they_were(self, asked: Any) -> None:
        kb, stage1, queries, gold = asked
        known, honest = kb.known(*SPLITS).of_queries(queries), stage1.first.score_all(queries)
        rows = [leaky_scores(honest[row].numpy(), gold[row], known.row(row)) for row in range(len(queries))]
        leaked = torch.from_numpy(np.stack(rows))
        assert np.array_equal(rank(leaked, gold, known).above, rank(honest, gold, known).above)
        with pytest.raises(LeakError):
            refuse_leaks(find_equal_score_leak(leaked, gold, known))


def test_lists_that_differ_in_their_scores_alone_are_two() -> None:
    """As those of two golds may: ⟨0, likes, ?⟩ has 1 and 2 as answers, and a score that 1 or 2 had is both's."""
    zeros = np.zeros(3, np.int64)
    found = Candidates(np.array([[1, 2, 5]] * 3), np.array([[4.0, 4.0, 1.0], [3.0, 3.0, 1.0], [4.0, 4.0, 1.0]]))
    lists = Lists(Queries(zeros, zeros), found, Manifest("toy", "digest", "test", 3, "keep", "hand"))
    once, place = different_lists(lists)
    assert len(once) == 2
    assert np.array_equal(once.candidates.scores[place], found.scores)


class TestReaders:
    """One list, 6 5 1 3 2 7, of ⟨0, likes, ?⟩ with the training answers 1, 2, the gold 3, and strangers 5, 6, 7."""

    kb = kb_of(8, train=[(0, 0, 1), (0, 0, 2)], test=[(0, 0, 3)])

    def lists(self, entities: list[int], scores: list[float]) -> Lists:
        manifest = Manifest("toy", self.kb.digest, "test", len(entities), "keep", "hand")
        query = Queries(np.zeros(1, np.int64), np.zeros(1, np.int64))
        return Lists(query, Candidates(np.array([entities]), np.array([scores])), manifest)

    def order(self, reader: Reader, entities: list[int], scores: list[float]) -> list[int]:
        return [entities[place] for place in np.argsort(-reader(self.lists(entities, scores), self.kb)[0])]

    def test_equal_scores_come_first(self) -> None:
        assert self.order(equal_scores, [6, 5, 1, 3, 2, 7], [9, 8, 4, 4, 4, 1]) == [1, 3, 2, 6, 5, 7]
        assert self.order(equal_scores, [6, 5, 7], [3, 2, 1]) == [6, 5, 7]

    def test_who_stands_among_remembered_answers_comes_first_then_who_is_near(self) -> None:
        assert self.order(remembered_places, [6, 5, 1, 3, 2, 7], [9, 8, 4, 4, 4, 1]) == [1, 3, 2, 5, 7, 6]
        assert self.order(remembered_places, [6, 5, 7], [3, 2, 1]) == [6, 5, 7], "nothing to remember"

    def test_a_list_is_unsettled_by_a_stranger_before_an_answer(self) -> None:
        assert unsettled(self.lists([6, 1, 2], [3, 2, 1]), self.kb) == 1.0
        assert unsettled(self.lists([1, 2, 6], [3, 2, 1]), self.kb) == 0.0
        assert unsettled(self.lists([3, 1, 2], [3, 2, 1]), self.kb) == 0.0, "a test answer is no stranger"
        assert unsettled(self.lists([6, 3, 7], [3, 2, 1]), self.kb) == 0.0, "no answer to learn"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("store")


@pytest.fixture(scope="module")
def plan_of(store: Path) -> Callable[..., Plan]:
    """Plans over one store, each with an account of its own."""

    def plan(kb: KnowledgeBase, **candidates: Any) -> Plan:
        config = RunConfig.model_validate({"stage1": STAGE1, "candidates": PLAIN | candidates})
        return Plan(config, kb, Store(store, context=HERE), HERE)

    return plan


SETTINGS = LeakSettings.model_validate({"k": 24, "reranker": WIDE, "variants": ["cross"]})


@pytest.fixture(scope="module")
def found(likes: KnowledgeBase, plan_of: Callable[..., Plan]) -> LeakFindings:
    return leak_experiment(plan_of(likes), SETTINGS)


class TestExperiment:
    """Stage 1 cannot know which things of a taste are liked. A reader of equal scores can."""

    def test_leaky_lists_hand_stage2_the_answer_and_honest_ones_do_not(self, found: LeakFindings) -> None:
        first, honest, leaky = found.stage1, found.of("honest", "cross").summary, found.of("leaky", "cross").summary
        assert first["both"]["hits@1"] < 0.3
        assert honest["both"]["hits@1"] < 0.35
        assert leaky["both"]["hits@1"] > 0.5
        gain = found.of("leaky", "cross").difference["hits@1"]
        assert gain["low"] > 0.2
        assert gain["p"] < 0.01

    def test_the_check_for_leaks_would_have_refused_them(self, found: LeakFindings) -> None:
        assert found.check["honest"]["share"] == 0.0
        assert not found.check["honest"]["refused"]
        assert found.check["leaky"]["share"] == 1.0
        assert found.check["leaky"]["refused"]

    def test_groups_by_known_answers_add_up_to_the_whole(self, found: LeakFindings) -> None:
        for each in (*found.arms, *found.readers):
            groups = each.by_others.values()
            assert sum(group["queries"] for group in groups) == found.queries == 54
            hits = sum(group["queries"] * group["stage2"] for group in groups)
            assert hits / found.queries == pytest.approx(each.summary["both"]["hits@1"])

    def test_it_is_a_value_of_json(self, found: LeakFindings) -> None:
        values = json.loads(json.dumps(found.as_json(), allow_nan=False))
        arms = [(each["made"], each["name"]) for each in values["arms"]]
        assert arms == [("honest", "cross"), ("leaky", "cross")]
        assert values["settings"]["k"] == 24

    def test_asked_for_again_it_does_no_work(
        self, found: LeakFindings, likes: KnowledgeBase, plan_of: Callable[..., Plan]
    ) -> None:
        plan = plan_of(likes)
        assert leak_experiment(plan, SETTINGS) == found
        assert all(report.reused for report in plan.store.reports.values())

    def test_who_sees_equal_scores_needs_no_training_and_no_memory(self, found: LeakFindings) -> None:
        assert found.of("leaky", "equal scores").summary["both"]["hits@1"] == found.of("leaky", "cross").listed == 1.0
        assert found.of("honest", "equal scores").summary == found.stage1

    def test_who_reads_places_needs_a_memory_of_training_facts(self, found: LeakFindings) -> None:
        places = "remembered places"
        assert found.of("leaky", places).summary["both"]["hits@1"] > 0.5
        assert found.of("honest", places).summary["both"]["hits@1"] < 0.3

    def test_an_arm_that_was_not_measured_is_an_error_with_those_that_were(self, found: LeakFindings) -> None:
        with pytest.raises(UnknownName, match=r"no arm leaky shuffled. It has: honest cross, leaky cross"):
            found.of("leaky", "shuffled")

    def test_measured_lists_are_of_queries_that_are_measured(
        self, likes: KnowledgeBase, plan_of: Callable[..., Plan]
    ) -> None:
        settings = SETTINGS.model_copy(update={"learn_from": "measured", "facts": 5, "lists": 12})
        leak = LeakPlan(plan_of(likes), settings)
        learned, gold = leak.learned
        asked = leak.asked("test").queries
        measured = {*zip(asked.entity.tolist(), asked.relation.tolist(), strict=True)}
        assert len(learned) == 12
        assert {*zip(learned.entity.tolist(), learned.relation.tolist(), strict=True)} <= measured
        assert likes.known("train").of_queries(learned).contains(gold[:, None]).all()


def test_the_papers_reader_goes_through_with_its_ablations(
    towns: KnowledgeBase, plan_of: Callable[..., Plan], encoder_of: Callable[..., str]
) -> None:
    reader = {"encoder": encoder_of(), "hidden": 8, "epochs": 1, "text": "name", "validate_facts": 2}
    values = {"k": 4, "facts": 6, "lists": 8, "reranker": reader, "variants": ["independent", "shuffled", "scores"]}
    found = leak_experiment(plan_of(towns), LeakSettings.model_validate(values))
    assert [(each.made, each.name) for each in found.arms] == [
        (made, variant) for made in ("honest", "leaky") for variant in ("independent", "shuffled", "scores")
    ]
    assert found.queries == 12


class TestSettings:
    def test_wide_has_no_order_to_shuffle(self) -> None:
        assert [arm.variant for arm in LeakSettings.model_validate({"reranker": WIDE}).arms] == [
            *("cross", "independent") * 2
        ]
        with pytest.raises(ValueError, match="kind: wide has no shuffled"):
            LeakSettings.model_validate({"reranker": WIDE, "variants": ["shuffled"]})

    def test_the_papers_reader_has_all_of_them(self) -> None:
        arms = [(arm.made, arm.variant) for arm in LeakSettings().arms]
        assert arms[:4] == [("honest", each) for each in ("cross", "independent", "shuffled", "scores")]
        assert arms[4:] == [("leaky", variant) for _, variant in arms[:4]]

    @pytest.mark.parametrize("kind", ["cross_encoder", "kg_bert"])
    def test_who_reads_one_candidate_at_a_time_has_nothing_to_take_away(self, kind: str) -> None:
        with pytest.raises(ValueError, match=f"kind: {kind} has none of the variants"):
            LeakSettings.model_validate({"reranker": {"kind": kind}})

    def test_a_variant_that_changes_nothing_is_no_arm(self) -> None:
        settings = LeakSettings.model_validate({"reranker": {"kind": "sequence", "features": "scores"}})
        assert [arm.variant for arm in settings.arms] == [*("cross", "independent", "shuffled") * 2]
        assert settings.reranker_of("shuffled").model_dump()["features"] == "scores"

    @pytest.mark.parametrize(
        "reranker",
        [{"kind": "wide"}, WIDE | {"vectors": True}, WIDE | {"flag_known": True}],
        ids=["graph", "vectors", "flag_known"],
    )
    def test_what_would_tell_answers_in_another_way_is_refused(self, reranker: dict[str, Any]) -> None:
        with pytest.raises(ValueError, match="nothing but these lists may tell an answer"):
            LeakSettings.model_validate({"reranker": reranker})

    def test_retrievers_beside_stage1_are_refused(self, towns: KnowledgeBase, plan_of: Callable[..., Plan]) -> None:
        with pytest.raises(ConfigError, match=r"extra_retrievers has rules"):
            LeakPlan(plan_of(towns, extra_retrievers={"rules": {"model": "rules"}}), SETTINGS)


def named_in(schema: Any) -> Iterator[str]:
    """Every name of a setting in a JSON schema, and every value that one may choose."""
    if isinstance(schema, dict):
        yield from schema.get("properties", {})
        yield from (str(value) for value in (*schema.get("enum", ()), schema.get("const", "")))
    children = schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ()
    for child in children:
        yield from named_in(child)


class TestNothingElseLeadsHere:
    def test_no_setting_of_a_run_is_about_it(self) -> None:
        names = [*named_in(RunConfig.model_json_schema())]
        assert "crossfit" in names, "it looks inside groups"
        assert not [name for name in names if "leak" in name]

    def test_no_module_of_the_package_but_the_command_line_knows_it(self) -> None:
        package = Path(cear.__file__).parent
        knows = {
            path.relative_to(package).parts[0] for path in package.rglob("*.py") if "cear.study" in path.read_text()
        }
        assert knows <= {"study", "cli"}

    @pytest.mark.parametrize("reranker", [None, {"kind": "sequence"}, {"kind": "wide"}], ids=str)
    def test_the_steps_of_a_run_and_of_the_experiment_have_no_kind_in_common_but_stage1(
        self, likes: KnowledgeBase, store: Path, plan_of: Callable[..., Plan], reranker: dict[str, Any] | None
    ) -> None:
        config = RunConfig.model_validate({"stage1": STAGE1, "reranker": reranker})
        plan = Plan(config, likes, Store(store, context=HERE), HERE)
        normal = {
            step.kind for last in (*plan.last, plan.evaluation("test", "expected", None)) for step in last.chain()
        }
        leaky = {step.kind for step in LeakPlan(plan_of(likes), SETTINGS).evaluation(Arm("leaky", "cross")).chain()}
        assert normal & leaky == {"retriever-complex"}
        assert leaky - normal == {"leak-lists", "leak-reranker", "leak-evaluation"}
