"""Completing a knowledge base of people: honest probabilities, whatever the data is made to say."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

from cear.completion import PROPOSALS, fact_keys
from cear.config import RunConfig
from cear.core.errors import ConfigError, DataError, UnknownName
from cear.pipeline import Run, run
from cear.pipeline.completion_plan import CALIBRATION, EXPECTATION, IN_USE
from cear.pipeline.parts import Whole

COLUMNS = ["subject", "relation", "object", "subject_name", "relation_name", "object_name", "probability", "rank"]
COLUMNS += ["stage1_rank", "score", "stage1_score", "known", "reasons"]


def run_on(people: SimpleNamespace, facts: dict[str, Any], folder: Path, **settings: Any) -> Run:
    config = people.config_of(people.write_facts(folder / "people", facts), **settings)
    return run(RunConfig.model_validate(config), folder / "run")


def contents(done: Run) -> dict[str, bytes]:
    """What the steps of a completion leave: questions, proposals of all systems that are asked, calibration."""
    plan = done.plan.completion
    made = [plan.expectation, plan.calibration, *plan.calibration.inputs]
    return {
        f"{step.name}/{path.name}": path.read_bytes()
        for step in made
        for path in done.plan.store.get(step).iterdir()
        if path.name not in ("step.json", "seal.json")
    }


def ids(table: pl.DataFrame) -> set[tuple[str, str, str]]:
    return set(table.select("subject", "relation", "object").rows())


class TestHonesty:
    def test_test_facts_change_nothing_but_the_figures(
        self, people: SimpleNamespace, people_facts: dict[str, Any], people_run: Run, tmp_path: Path
    ) -> None:
        poison = [(o, r, s) for s, r, o in people_facts["test"]]
        poisoned = run_on(people, people_facts | {"test": poison}, tmp_path, reranker=True)
        assert poisoned.kb.digest != people_run.kb.digest
        mine, its = contents(people_run), contents(poisoned)
        assert sorted(name.split("/")[1] for name in mine) == sorted(
            [EXPECTATION, CALIBRATION, IN_USE, *[PROPOSALS] * 2]
        )
        assert its == mine
        right = [done.evaluate_completion().proposed.right.sum() for done in (people_run, poisoned)]
        assert right[0] > 50 > right[1]

    def test_where_nothing_is_missing_hardly_anything_is_proposed(
        self, people: SimpleNamespace, tmp_path: Path
    ) -> None:
        facts = people.complete_facts()
        done = run_on(people, people.split(facts), tmp_path, refit=True)
        made = done.complete(min_probability=0.5)
        assert len(made.table) <= 0.02 * len(facts)
        assert "the facts of all splits" in made.note
        open_ended = done.evaluate_completion()
        assert (open_ended.probability > 0.5).sum() > 20, "where test facts are missing, it is sure of some"

    def test_where_nothing_follows_from_anything_nothing_is_likely(
        self, people: SimpleNamespace, tmp_path: Path
    ) -> None:
        done = run_on(people, people.split(people.shuffled(people.complete_facts())), tmp_path)
        measured = done.evaluate_completion()
        found = measured.proposed.right.sum()
        assert (measured.probability > 0.5).sum() <= 0.01 * measured.proposed.hidden
        assert found / 2 <= measured.probability.sum() <= 2 * found

    def test_probabilities_of_a_relation_add_up_to_what_was_hidden(self, people_run: Run) -> None:
        measured = people_run.evaluate_completion()
        relation, right, chance = measured.proposed.facts[:, 1], measured.proposed.right, measured.probability
        assert right.sum() > 100
        for number in range(people_run.kb.n_relations):
            mine = relation == number
            expected, found = chance[mine].sum(), right[mine].sum()
            sigma = np.sqrt((chance[mine] * (1 - chance[mine])).sum())
            assert abs(found - expected) <= 4 * sigma + 0.2 * expected, people_run.kb.relations.id(number)
        assert chance.sum() == pytest.approx(right.sum(), rel=0.25)

    def test_sorted_by_probability_more_of_the_first_are_right(self, people: SimpleNamespace, people_run: Run) -> None:
        measured = people_run.evaluate_completion()
        best = max(each.right_at(100) for each in measured.baselines.values())
        assert measured.proposed.right_at(100) > best
        entities, relations = people_run.kb.entities, people_run.kb.relations
        first = measured.proposed.facts[measured.proposed.order[:50]].tolist()
        true = set(people.facts_of_people())  # those that no split has count as wrong in the figures
        assert sum((entities.id(s), relations.id(r), entities.id(o)) in true for s, r, o in first) > 40

    def test_the_record_has_the_figures_of_the_completion(self, people_run: Run) -> None:
        measured = people_run.evaluate_completion()
        record = people_run.record(people_run.evaluate("test"), completion=measured).as_json()
        assert record["completion"]["hidden"] == len(people_run.kb.facts("test"))
        assert record["completion"]["proposals"] == len(measured.proposed)
        assert set(record["completion"]["relations"]) <= set(people_run.kb.relations.table["name"])

    def test_validation_facts_are_no_proposals_to_measure(self, people_run: Run) -> None:
        kb, measured = people_run.kb, people_run.evaluate_completion()
        keys = fact_keys(measured.proposed.facts, kb)
        assert not np.isin(keys, fact_keys(kb.facts("valid"), kb)).any()
        asked = people_run.plan.completion.proposed(Whole(kb))
        assert np.isin(fact_keys(kb.facts("valid"), kb), fact_keys(asked.facts, kb)).mean() > 0.3, (
            "though they are made"
        )


@pytest.fixture(scope="module")
def everything(people_run: Run) -> pl.DataFrame:
    return people_run.complete(min_probability=0).table


class TestComplete:
    def test_probabilities_add_up_to_what_is_really_missing(
        self, people: SimpleNamespace, everything: pl.DataFrame
    ) -> None:
        _, missing = people.without_some(people.facts_of_people())
        chance = everything["probability"].to_numpy()
        right = np.array([fact in set(missing) for fact in everything.select("subject", "relation", "object").rows()])
        sigma = np.sqrt((chance * (1 - chance)).sum())
        assert right.sum() > 100
        assert abs(right.sum() - chance.sum()) <= 4 * sigma + 0.2 * chance.sum()
        assert right[chance > 0.5].mean() > 0.5

    @pytest.mark.parametrize("refit", [True, False])
    def test_nothing_that_a_split_has_is_in_it(
        self, people_run: Run, people_facts: dict[str, Any], tmp_path: Path, refit: bool
    ) -> None:
        config = RunConfig.model_validate(people_run.config.model_dump() | {"refit": refit})
        made = run(config, tmp_path, store=people_run.plan.store.folder).complete(min_probability=0)
        known = {fact for facts in people_facts.values() for fact in facts}
        assert len(made.table) > 1000
        assert not ids(made.table) & known
        assert made.table["known"].is_null().all()
        assert ("the facts of all splits" if refit else "the training facts") in made.note

    def test_the_most_probable_come_first(self, everything: pl.DataFrame) -> None:
        assert everything.columns == COLUMNS
        assert everything["probability"].is_sorted(descending=True)
        assert everything["probability"].is_between(0, 1).all()
        assert everything["rank"].is_between(1, 5).all()
        assert everything["stage1_rank"].is_between(1, 15).all()

    def test_least_probability(self, people_run: Run, everything: pl.DataFrame) -> None:
        likely = people_run.complete(min_probability=0.3).table
        assert 0 < len(likely) < len(everything)
        assert likely.equals(everything.filter(pl.col("probability") >= 0.3))

    def test_relations_and_subjects(self, people_run: Run) -> None:
        speaks = people_run.complete(relations=["speaks"], min_probability=0).table
        assert set(speaks["relation"]) == {"speaks"}
        hers = people_run.complete(subjects=["Person 7", "p9"], min_probability=0).table
        assert set(hers["subject"]) == {"p7", "p9"}
        both = people_run.complete(relations=["speaks"], subjects=["p7"], min_probability=0).table
        assert set(both.select("subject", "relation").rows()) == {("p7", "speaks")}
        with pytest.raises(UnknownName):
            people_run.complete(relations=["spekas"])

    def test_a_smaller_budget_asks_less(self, people_run: Run, everything: pl.DataFrame) -> None:
        few = people_run.complete(budget=10, min_probability=0).table
        assert 0 < len(few) <= 10 * 5
        assert ids(few) <= ids(everything)

    def test_what_is_promised_is_what_is_proposed(self, people_run: Run) -> None:
        made = people_run.complete(max_false=0.5)
        assert made.promise is not None
        assert made.promise.threshold is not None
        assert len(made.table) == made.promise.proposals
        assert made.table["probability"].min() == made.promise.threshold
        hopeless = people_run.complete(max_false=0.0)
        assert hopeless.promise is not None
        assert hopeless.promise.threshold is None
        assert len(hopeless.table) == 0

    @pytest.mark.parametrize("wrong", [{"min_probability": 1.5}, {"max_false": -0.1}, {"max_false": 10}])
    def test_what_is_no_share_is_refused(self, people_run: Run, wrong: dict[str, float]) -> None:
        (name,) = wrong
        with pytest.raises(ConfigError, match=rf"{name}: .* is no share. Give a number from 0 to 1"):
            people_run.complete(**wrong)  # type: ignore[arg-type]

    def test_reasons_are_given_to_who_asks(self, people_run: Run) -> None:
        why = people_run.complete(subjects=["p7"], min_probability=0, why=True).table
        assert why["reasons"].is_not_null().all()

    def test_where_no_question_is_plausible_nothing_is_proposed(self, people_run: Run) -> None:
        assert len(people_run.complete(relations=["seated_in"], subjects=["p7"], min_probability=0).table) == 0


class TestJudge:
    def test_order_and_duplicates_are_kept(self, people_run: Run, people_facts: dict[str, Any]) -> None:
        known, wrong = people_facts["train"][300], ("p3", "born_in", "firm1")
        table = people_run.judge([wrong, known, wrong, people_facts["test"][0]])
        asked = table.select("subject", "relation", "object").rows()
        assert asked == [wrong, known, wrong, people_facts["test"][0]]
        assert table["probability"][0] == table["probability"][2]
        assert table["known"].to_list() == [None, "train", None, "test"]
        assert table["note"].is_null().all()

    def test_names_do_as_ids_do(self, people_run: Run) -> None:
        table = people_run.judge([("Person 7", "born_in", "city3"), ("p7", "born_in", "city3")])
        assert table[0].equals(table[1])
        assert table["subject_name"][0] == "Person 7"

    def test_held_out_facts_are_likelier_than_others(self, people_run: Run, people_facts: dict[str, Any]) -> None:
        true = [fact for fact in people_facts["test"] if fact[1] == "works_for"]
        false = [(s, r, true[(place + 7) % len(true)][2]) for place, (s, r, _) in enumerate(true)]
        right, wrong = (people_run.judge(facts)["probability"].mean() for facts in (true, false))
        assert right > 4 * wrong

    def test_an_unknown_entity_is_told(self, people_run: Run) -> None:
        table = people_run.judge(
            [("Nobody", "born_in", "city3"), ("p7", "born_in", "city3"), ("p7", "knows", "Nobody")]
        )
        notes = table["note"].to_list()
        assert notes[0].startswith("subject unknown to the knowledge base")
        assert notes[1] is None
        assert notes[2].startswith("object unknown")
        assert table["probability"].is_between(0, 1).all()
        assert "Nobody" not in people_run.kb.entities.by_id, "and the run stays as it is"

    def test_one_of_another_width_is_told(self, people_run: Run) -> None:
        with pytest.raises(DataError, match=r"Fact 2 has 2 parts, not subject, relation, object: \['p7', 'knows'\]"):
            people_run.judge([("p7", "knows", "p8"), ("p7", "knows")])

    def test_an_unknown_relation_is_told_with_its_fact(self, people_run: Run) -> None:
        with pytest.raises(UnknownName, match=r"Fact 1: .*bornn_in"):
            people_run.judge([("p7", "bornn_in", "city3")])

    def test_nothing_is_nothing(self, people_run: Run) -> None:
        assert len(people_run.judge([])) == 0


class TestAsk:
    def test_a_calibrated_run_tells_probabilities(self, people_run: Run) -> None:
        answers = [each for each in people_run.ask("speaks", subject="p7", k=5) if each.rank]
        facts = [("p7", "speaks", each.id) for each in answers]
        assert [each.probability for each in answers] == pytest.approx(people_run.judge(facts)["probability"].to_list())
        frame = people_run.ask_many(pl.DataFrame({"subject": ["p7"], "relation": ["speaks"]}), k=5)
        assert frame["probability"].to_list() == pytest.approx([each.probability for each in answers])

    def test_who_asks_for_subjects_is_told_of_the_same_facts(self, people_run: Run) -> None:
        answers = [each for each in people_run.ask("born_in", object="city3", k=3) if each.rank]
        facts = [(each.id, "born_in", "city3") for each in answers]
        assert [each.probability for each in answers] == pytest.approx(people_run.judge(facts)["probability"].to_list())

    def test_what_training_facts_say_has_no_probability(self, people_run: Run) -> None:
        told = [each for each in people_run.ask("born_in", object="city3", k=3) if not each.rank]
        assert told
        assert {each.probability for each in told} == {None}

    def test_another_run_tells_scores_alone(self, people_run: Run, tmp_path: Path) -> None:
        config = RunConfig.model_validate(people_run.config.model_dump() | {"calibration": None})
        plain = run(config, tmp_path, store=people_run.plan.store.folder)
        assert not plain.calibrated
        assert {each.probability for each in plain.ask("speaks", subject="p7")} == {None}
        assert "probability" not in plain.ask_many(pl.DataFrame({"subject": ["p7"], "relation": ["speaks"]})).columns
