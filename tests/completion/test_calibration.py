"""Probabilities where the truth is known: drawn from a feature, a share of it hidden from who learns."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pytest

from cear.completion import Calibrator, Proposals, Sample, promise
from cear.completion.boosting import Reals, sigmoid
from cear.core.errors import DataError
from cear.core.reading import reading
from cear.core.types import Bools, Floats, Ints
from cear.data import KnowledgeBase, Vocabulary

VIEW, COUNTS = 7, 13  # features
RELATIONS = 3


@dataclass(frozen=True, eq=False)
class World:
    """Proposals, each true with a probability that its score tells; half of the true ones may be seen."""

    proposals: Proposals
    chance: Reals  # (proposal,)
    true: Bools  # (proposal,)

    @classmethod
    def draw(
        cls, n: int, seed: int, *, odds: float = 1.0, relation: Ints | None = None, better: Floats | None = None
    ) -> World:
        """n proposals, four of each ⟨s, r⟩; `better` is what is added to the log-odds of each relation."""
        draw = np.random.default_rng(seed)
        r = np.zeros(n, np.int64) if relation is None else relation
        added = (np.zeros(RELATIONS) if better is None else better)[r]
        x = draw.normal(size=n)
        views = np.full((n, 2, VIEW), np.nan, np.float32)
        views[:, 0] = 0.0
        views[:, 0, :2] = x[:, None]
        facts = np.stack([np.arange(n) // 4, r, np.arange(n)], axis=1)
        chance = sigmoid(4 * x - 4 + np.log(odds) + added)
        counts, ranks = np.zeros((n, COUNTS), np.float32), np.repeat([[1, 0]], n, axis=0)
        return cls(Proposals(facts, views, counts, ranks), chance, draw.random(n) < chance)

    @cached_property
    def kb(self) -> KnowledgeBase:
        """Every second true one is a validation fact, the others are test facts."""
        facts, n = self.proposals.facts[self.true], len(self.proposals)
        vocabularies = (
            Vocabulary.from_ids("entity", [f"e{i}" for i in range(n)]),
            Vocabulary.from_ids("relation", [f"r{i}" for i in range(RELATIONS)]),
        )
        return KnowledgeBase("drawn", *vocabularies, {"valid": facts[::2], "test": facts[1::2]})

    @property
    def unseen(self) -> Reals:
        """The chance of being true for what is not seen, where one of two true ones is."""
        return self.chance * 0.5 / (1 - self.chance * 0.5)

    def learn(self, *more: Sample, seed: int = 0) -> Calibrator:
        return Calibrator.learn([Sample.of(self.proposals, self.kb), *more], self.kb, seed=seed)


@pytest.fixture(scope="module")
def world() -> World:
    return World.draw(4000, seed=0)


@pytest.fixture(scope="module")
def calibrator(world: World) -> Calibrator:
    return world.learn()


@pytest.fixture(scope="module")
def fresh() -> World:
    return World.draw(4000, seed=1)


class TestProbability:
    def test_it_is_the_truth_on_fresh_proposals(self, calibrator: Calibrator, fresh: World) -> None:
        said = calibrator.probability(fresh.proposals)
        assert np.abs(said - fresh.unseen).mean() < 0.03
        assert said.sum() == pytest.approx(fresh.unseen.sum(), rel=0.1)
        sure = said > 0.5
        assert sure.sum() > 100
        assert said[sure].mean() == pytest.approx(fresh.unseen[sure].mean(), abs=0.05)

    def test_it_holds_for_test_facts_that_it_was_never_shown(self, calibrator: Calibrator, world: World) -> None:
        left = ~Sample.of(world.proposals, world.kb).seen
        found = (world.true & left).sum()
        assert calibrator.probability(world.proposals[left]).sum() == pytest.approx(found, abs=4 * np.sqrt(found))

    def test_of_test_facts_their_number_is_all_that_is_used(self) -> None:
        world = World.draw(800, seed=6)
        kb = world.kb
        wrong = world.proposals.facts[~world.true][: len(kb.facts("test"))]
        poisoned = kb.with_facts({"valid": kb.facts("valid"), "test": wrong})
        again = Calibrator.learn([Sample.of(world.proposals, poisoned)], poisoned, seed=0)
        assert again.as_json() == world.learn().as_json()

    def test_without_test_facts_as_many_are_hidden_as_are_seen(self) -> None:
        world = World.draw(300, seed=7)
        open_ended = world.kb.with_facts({"valid": world.kb.facts("valid")})
        again = Calibrator.learn([Sample.of(world.proposals, open_ended)], open_ended, seed=0)
        assert again.share == 0.5
        few = world.kb.with_facts({"valid": world.kb.facts("valid"), "test": world.kb.facts("test")[:5]})
        assert Calibrator.learn([Sample.of(world.proposals, few)], few, seed=0).share > 0.8

    def test_the_order_of_proposals_does_not_matter(self, calibrator: Calibrator, fresh: World) -> None:
        order = np.random.default_rng(0).permutation(len(fresh.proposals))
        shuffled = calibrator.probability(fresh.proposals[order])
        assert np.array_equal(shuffled, calibrator.probability(fresh.proposals)[order])


class TestFolds:
    """A system that lacks three times as many facts, whose odds are as many times higher behind the same score."""

    def sample(self, world: World, *, missing: float) -> Sample:
        fold = World.draw(4000, seed=2, odds=3.0)
        hidden = len(world.kb.facts("test"))
        held_out = int(missing * (len(world.kb.facts("valid")) + hidden)) - hidden
        seen = fold.true & (np.random.default_rng(3).random(4000) < held_out / (held_out + hidden))
        others = replace(fold.proposals, facts=fold.proposals.facts + np.array([4000, 0, 0]))
        return Sample(others, seen, held_out)

    def test_its_odds_are_brought_down(self, world: World, fresh: World) -> None:
        said = world.learn(self.sample(world, missing=3.0)).probability(fresh.proposals)
        assert np.abs(said - fresh.unseen).mean() < 0.03
        assert said.sum() == pytest.approx(fresh.unseen.sum(), rel=0.1)

    def test_taken_for_a_system_that_lacks_no_more_it_would_mislead(self, world: World, fresh: World) -> None:
        said = world.learn(self.sample(world, missing=1.0)).probability(fresh.proposals)
        assert said.sum() > 1.2 * fresh.unseen.sum()


class TestRelations:
    def test_many_facts_move_a_relation_and_few_hardly_do(self) -> None:
        relation = np.repeat([0, 1, 2], [2400, 2400, 8])
        world = World.draw(4808, seed=4, relation=relation, better=np.array([0.0, 3.0, 3.0]))
        found = world.learn()
        believed = found.relations
        assert believed[1] - believed[0] > 0.6, "no feature tells them apart"
        assert abs(believed[2]) < 0.15
        alike = replace(found, relations=np.zeros(RELATIONS))

        def off(each: Calibrator, number: int) -> float:
            said = each.probability(world.proposals) - world.unseen
            return abs(float(said[relation == number].mean()))

        assert off(found, 1) < 0.8 * off(alike, 1)
        assert off(found, 0) < 0.8 * off(alike, 0)

    def test_a_relation_without_proposals_stays_where_it_is(self, calibrator: Calibrator) -> None:
        assert calibrator.relations[1:].tolist() == [0, 0]


class TestJson:
    def test_the_same_probabilities_come_back(self, calibrator: Calibrator, fresh: World) -> None:
        again = Calibrator.from_json(json.loads(json.dumps(calibrator.as_json(), allow_nan=False)))
        assert np.array_equal(again.probability(fresh.proposals), calibrator.probability(fresh.proposals))
        assert again.as_json() == calibrator.as_json()

    @pytest.mark.parametrize("missing", ["trees", "scale", "share"])
    def test_a_damaged_one_is_told(self, calibrator: Calibrator, missing: str) -> None:
        values = {name: value for name, value in calibrator.as_json().items() if name != missing}
        with pytest.raises(DataError, match=rf"x\.json cannot be read: '{missing}' is not there"), reading("x.json"):
            Calibrator.from_json(values)


class TestDraws:
    def test_they_lie_around_the_probability(self, calibrator: Calibrator, fresh: World) -> None:
        few = fresh.proposals[:200]
        drawn = calibrator.draws(few, 300, seed=0)
        assert drawn.mean(axis=0) == pytest.approx(calibrator.probability(few), abs=0.03)
        assert drawn.std(axis=0).max() > 0.01

    def test_fewer_facts_are_less_sure(self, calibrator: Calibrator, fresh: World) -> None:
        few = World.draw(400, seed=5).learn()
        spread = [each.draws(fresh.proposals[:200], 300, seed=0).std(axis=0).mean() for each in (few, calibrator)]
        assert spread[0] > 1.5 * spread[1]


class TestPromise:
    def test_it_holds_in_most_of_twenty_worlds(self) -> None:
        learned = [World.draw(800, seed=100 + seed).learn(seed=seed) for seed in range(5)]
        held = []
        for seed in range(20):
            calibrator, asked = learned[seed % 5], World.draw(2000, seed=200 + seed)
            made = promise(calibrator, asked.proposals, 0.4)
            if made.threshold is not None:
                chosen = calibrator.probability(asked.proposals) >= made.threshold
                held.append(1 - asked.unseen[chosen].mean() <= 0.4)
        assert len(held) >= 10, "and it is made, not shirked"
        assert np.mean(held) >= 0.8

    def test_it_is_about_as_many_as_it_says(self, calibrator: Calibrator, fresh: World) -> None:
        made = promise(calibrator, fresh.proposals, 0.3)
        assert made.threshold is not None
        assert made.proposals == (calibrator.probability(fresh.proposals) >= made.threshold).sum()
        assert 1 - fresh.unseen[calibrator.probability(fresh.proposals) >= made.threshold].mean() <= 0.3

    def test_who_allows_more_gets_more(self, calibrator: Calibrator, fresh: World) -> None:
        sizes = [promise(calibrator, fresh.proposals, share).proposals for share in (0.1, 0.2, 0.4, 0.6)]
        assert sizes == sorted(sizes)
        assert sizes[0] < sizes[-1]

    def test_where_it_is_hopeless_none_is_made(self, calibrator: Calibrator, fresh: World) -> None:
        made = promise(calibrator, fresh.proposals, 0.0)
        assert (made.threshold, made.proposals) == (None, 0)
        unlikely = fresh.proposals[fresh.chance < 0.2]
        assert promise(calibrator, unlikely, 0.1).threshold is None

    def test_a_handful_of_proposals_is_too_few(self, calibrator: Calibrator, fresh: World) -> None:
        best = np.argsort(-fresh.chance)
        assert promise(calibrator, fresh.proposals[best[:19]], 0.9).threshold is None
        assert promise(calibrator, fresh.proposals[best[:20]], 0.9).proposals == 20
