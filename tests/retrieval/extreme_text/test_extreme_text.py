"""ExtremeText as a retriever: a step is the gradient, training learns and resumes, files are mapped."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
import torch
from pydantic import ValidationError

from cear.core.context import Deadline
from cear.core.errors import DataError, MismatchError, OutOfTime, ScoreError
from cear.core.tensors import read_tensors
from cear.core.types import SIDES, Ints, Queries, Side
from cear.data import KnowledgeBase
from cear.evaluation import evaluate
from cear.retrieval import ExtremeText, TreeSettings, top_k, train_extreme_text
from cear.retrieval.extreme_text import kernels, searching, training
from cear.retrieval.extreme_text.examples import Examples
from cear.retrieval.extreme_text.fresh import build_tree
from cear.retrieval.extreme_text.kernels import Weights
from cear.retrieval.extreme_text.learner import Learner
from cear.retrieval.extreme_text.side import SideModel

SMALL = TreeSettings(dim=16, epochs=8, buckets=1000, pair_bits=12)


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Training on one thread is a function of its arguments."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "PART", 7)


def weights(folder: Path) -> dict[str, bytes]:
    """Every array of both sides, to the bit."""
    files = {side: read_tensors(training.side_file(folder, side))[0] for side in SIDES}
    return {f"{side} {name}": array.numpy().tobytes() for side in SIDES for name, array in files[side].items()}


class TestAStep:
    """One example through the compiled kernel, and the same through autograd."""

    @pytest.mark.parametrize("arity", [2, 3])
    @pytest.mark.parametrize("optimizer", ["sgd", "adagrad"])
    def test_follows_the_gradient_of_the_logistic_loss_of_the_path_and_its_siblings(
        self, towns: KnowledgeBase, arity: int, optimizer: str
    ) -> None:
        config = TreeSettings(dim=8, arity=arity, optimizer=optimizer, pair_bits=20, frequent_weight=0.5)
        learner, rows, answer = self.example(towns, config)
        model = learner.model
        before = Weights(*(torch.from_numpy(array.copy()).requires_grad_() for array in model.weights))
        loss = self.loss(model, rows[0], int(answer[0]), before)
        loss.backward()
        found = kernels.train(
            rows, answer, model.texts.arrays, model.tree, model.weights, learner.squares, (0.1, 0.1), 1
        )
        assert found == pytest.approx(loss.item(), rel=1e-5)
        for old, new in zip(before, model.weights, strict=True):
            step = old.grad
            if optimizer == "adagrad":  # the first step of each vector has the length of the learning rate
                squares = step.reshape(len(step), -1).square().sum(1) + 1e-6
                step = step / squares.sqrt().reshape(len(step), *(1 for _ in step.shape[1:]))
            torch.testing.assert_close(torch.from_numpy(new), old.detach() - 0.1 * step, rtol=1e-4, atol=1e-5)

    @staticmethod
    def example(kb: KnowledgeBase, config: TreeSettings) -> tuple[Learner, Ints, Ints]:
        """A fact whose texts share no feature: a shared one would take its Adagrad steps one after the other."""
        examples = Examples.of(kb, "tail", config.model_copy(update={"frequent": 1}))
        learner = Learner.fresh(examples, config, [0])
        for array in learner.model.weights[1:]:
            array[:] = np.random.default_rng(0).standard_normal(array.shape)
        return learner, examples.rows(np.array([3])), examples.answer[[3]]

    @staticmethod
    def loss(model: SideModel, texts: Ints, answer: int, weights: Weights) -> torch.Tensor:
        """Logistic losses of w · (mean of entity + mean of relation + half the mean of frequent) + pair weights."""
        lists = [torch.from_numpy(model.texts.features.row(text)) for text in texts]
        roles = [lists[0], lists[1], torch.cat(lists[2:])]
        ids = torch.cat(roles)
        shares = torch.cat(
            [torch.full((len(role),), w / len(role)) for role, w in zip(roles, (1, 1, 0.5), strict=True)]
        )
        vector = shares @ weights.features[ids]
        tree, child, total = model.tree, int(model.tree.leaf[answer]), torch.zeros(())
        while child != 0:
            node = int(tree.parent[child])
            place, row, n = child - tree.first[node], int(tree.row[node]), int(tree.children[node])
            wanted = [1.0 - place] if n == 2 else np.eye(n)[place].tolist()
            for i, truth in enumerate(wanted):
                slots = [kernels.slot(feature, row + i, model.weights.pairs) for feature in ids.tolist()]
                z = weights.nodes[row + i] @ vector + shares @ weights.pairs[slots]
                total = total - torch.nn.functional.logsigmoid(z if truth else -z)
            child = node
        return total

    @pytest.mark.parametrize(("frequent", "expected"), [(0, 2.0), (3, 2.25)])
    def test_a_role_counts_the_same_however_many_words_it_has(
        self, towns: KnowledgeBase, frequent: int, expected: float
    ) -> None:
        """With vectors of ones: 1 for the entity, 1 for the relation, a quarter for frequent answers."""
        examples = Examples.of(towns, "tail", TreeSettings(frequent=frequent))
        ones = np.ones((examples.texts.n_features, 4), np.float32)
        pooled = searching.pool_all(examples.rows(np.arange(5)), examples.texts.arrays, ones)
        np.testing.assert_allclose(pooled, expected, rtol=1e-6)


class TestTraining:
    @pytest.mark.parametrize(("tree", "optimizer"), [("huffman", "adagrad"), ("kmeans", "adagrad"), ("huffman", "sgd")])
    def test_learns_its_facts_in_both_directions(
        self, towns: KnowledgeBase, tmp_path: Path, tree: str, optimizer: str
    ) -> None:
        config = SMALL.model_copy(update={"tree": tree, "optimizer": optimizer, "epochs": 60})
        model, sides = train_extreme_text(towns, config, tmp_path)
        figures = evaluate(model, towns, "train").summary()
        assert min(figures[side]["mrr"] for side in SIDES) > 0.5
        assert all(state.losses[-1] < state.losses[0] / 2 for state in sides.values())

    def test_the_first_loss_is_a_coin_for_every_decision(self, towns: KnowledgeBase, tmp_path: Path) -> None:
        model, sides = train_extreme_text(towns, SMALL.model_copy(update={"learning_rate": 1e-9}), tmp_path)
        depths = model._sides[0].tree.depths()[towns.facts("train")[:, 2]]
        assert sides["tail"].losses[0] == pytest.approx(np.log(2) * depths.mean(), rel=1e-4)

    @pytest.mark.usefixtures("small_parts")
    def test_one_thread_gives_the_same_every_time(self, towns: KnowledgeBase, tmp_path: Path) -> None:
        for name in ("one", "other"):
            train_extreme_text(towns, SMALL, tmp_path / name)
        assert weights(tmp_path / "one") == weights(tmp_path / "other")
        train_extreme_text(towns, SMALL, tmp_path / "third", seed=1)
        assert weights(tmp_path / "one") != weights(tmp_path / "third")

    @pytest.mark.usefixtures("small_parts")
    @pytest.mark.parametrize("stop", [1, 9, 70])
    def test_interrupted_it_goes_on_to_the_same_weights(
        self, towns: KnowledgeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop: int
    ) -> None:
        eager = TreeSettings(**SMALL.model_dump(), checkpoint_seconds=0)
        train_extreme_text(towns, eager, tmp_path / "whole")
        train_part, calls = training._train_part, iter(range(10**6))

        def interrupted(*arguments: object) -> float:
            if next(calls) == stop:
                raise KeyboardInterrupt
            return train_part(*arguments)  # type: ignore[arg-type]

        monkeypatch.setattr(training, "_train_part", interrupted)
        with pytest.raises(KeyboardInterrupt):
            train_extreme_text(towns, eager, tmp_path / "killed")
        train_extreme_text(towns, eager, tmp_path / "killed")
        assert weights(tmp_path / "whole") == weights(tmp_path / "killed")

    def test_what_is_finished_is_not_trained_again(self, towns: KnowledgeBase, tmp_path: Path) -> None:
        train_extreme_text(towns, SMALL, tmp_path)
        before = {side: training.side_file(tmp_path, side).stat().st_mtime_ns for side in SIDES}
        again = train_extreme_text(towns, SMALL, tmp_path)[1]
        assert all(state.done and state.step == SMALL.epochs for state in again.values())
        assert before == {side: training.side_file(tmp_path, side).stat().st_mtime_ns for side in SIDES}

    def test_a_folder_of_other_settings_is_refused(self, towns: KnowledgeBase, tmp_path: Path) -> None:
        train_extreme_text(towns, SMALL, tmp_path)
        with pytest.raises(MismatchError, match="another configuration"):
            train_extreme_text(towns, SMALL.model_copy(update={"dim": 4}), tmp_path)

    @pytest.mark.usefixtures("small_parts")
    def test_out_of_time_it_goes_on_to_the_same_weights(self, towns: KnowledgeBase, tmp_path: Path) -> None:
        train_extreme_text(towns, SMALL, tmp_path / "whole")
        stops = 0
        while True:
            try:
                train_extreme_text(towns, SMALL, tmp_path / "cut", deadline=Deadline(at=0))
                break
            except OutOfTime:
                stops += 1
        parts = -(-len(towns.facts("train")) // 7)
        assert stops == len(SIDES) * (SMALL.epochs * parts - 1), "a part at a time; the last of a side ends it"
        assert weights(tmp_path / "whole") == weights(tmp_path / "cut")

    def test_no_facts_nothing_to_learn(self, towns: KnowledgeBase, tmp_path: Path) -> None:
        empty = KnowledgeBase("empty", towns.entities, towns.relations, {})
        with pytest.raises(DataError, match="'empty' has no training facts"):
            train_extreme_text(empty, SMALL, tmp_path)

    def test_other_test_facts_change_nothing(self, towns: KnowledgeBase, tmp_path: Path) -> None:
        poison = np.array([[i, i % 3, (7 * i + 3) % 30] for i in range(25)])
        other = KnowledgeBase(
            "p", towns.entities, towns.relations, {"train": towns.facts("train"), "valid": poison, "test": poison}
        )
        for kb in (towns, other):
            train_extreme_text(kb, SMALL, tmp_path / kb.name)
        one, two = (ExtremeText.load(tmp_path / name) for name in ("towns", "p"))
        queries = towns.queries("test")
        assert torch.equal(one.score_all(queries), two.score_all(queries))

    def test_two_threads_learn_as_well(self, towns: KnowledgeBase, tmp_path: Path) -> None:
        torch.set_num_threads(2)
        _, sides = train_extreme_text(towns, SMALL.model_copy(update={"epochs": 60}), tmp_path)
        assert all(state.losses[-1] < state.losses[0] / 2 for state in sides.values())


def test_a_tree_by_kmeans_is_built_on_as_many_threads_as_pytorch_has(
    towns: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[int] = []
    pool_all = searching.pool_all

    def watched(*arguments: Any) -> Any:
        threads.append(numba.get_num_threads())
        return pool_all(*arguments)

    monkeypatch.setattr(searching, "pool_all", watched)
    numba.set_num_threads(numba.config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined] # whoever ran before left this
    build_tree(Examples.of(towns, "tail", SMALL), TreeSettings(tree="kmeans"), [0])
    assert threads == [1, 1], "the queries, and the names"


class ScoresAlone:
    """Hides that a retriever can search by itself."""

    def __init__(self, model: ExtremeText) -> None:
        self.n_entities, self.score_all = model.n_entities, model.score_all


class TestTheRetriever:
    @pytest.fixture
    def model(self, towns: KnowledgeBase, tmp_path: Path) -> ExtremeText:
        return train_extreme_text(towns, SMALL, tmp_path)[0]

    def test_its_lists_are_those_of_its_scores(self, model: ExtremeText, towns: KnowledgeBase) -> None:
        queries, known = towns.queries("test"), towns.known("train")
        by_tree = model.top_k(queries, 7, drop=known)
        by_scores = top_k(ScoresAlone(model), queries, 7, drop=known)
        np.testing.assert_allclose(by_tree.scores, by_scores.scores, rtol=1e-4)

    def test_lists_are_made_by_the_tree_and_no_entity_is_scored_for_them(
        self, model: ExtremeText, towns: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        queries, known = towns.queries("test"), towns.known("train")
        monkeypatch.setattr(ExtremeText, "score_all", lambda *_: pytest.fail("all entities were scored"))
        found, by_tree = top_k(model, queries, 7, drop=known), model.top_k(queries, 7, drop=known)
        assert np.array_equal(found.entities, by_tree.entities)
        assert np.array_equal(found.scores, by_tree.scores)

    def test_a_model_that_diverged_is_refused(self, model: ExtremeText, towns: KnowledgeBase) -> None:
        model._sides[0].weights.features[:] = np.nan
        with pytest.raises(ScoreError, match="not finite"):
            top_k(model, towns.queries("test"), 3)

    def test_among_are_some_of_the_scores(self, model: ExtremeText, towns: KnowledgeBase) -> None:
        queries, among = towns.queries("test"), np.array([4, 0, 29])
        torch.testing.assert_close(model.score_all(queries, among), model.score_all(queries)[:, among])

    def test_heads_and_tails_in_any_order(self, model: ExtremeText, towns: KnowledgeBase) -> None:
        queries = towns.queries("test")
        mixed = np.random.default_rng(0).permutation(len(queries))
        assert np.array_equal(model.top_k(queries[mixed], 5).entities, model.top_k(queries, 5).entities[mixed])

    def test_no_queries_no_lists(self, model: ExtremeText) -> None:
        nothing = Queries(np.zeros(0, np.int64), np.zeros(0, np.int64))
        assert model.top_k(nothing, 4).entities.shape == (0, 4)
        assert model.score_all(nothing).shape == (0, model.n_entities)

    def test_loaded_it_is_the_same(self, model: ExtremeText, towns: KnowledgeBase, tmp_path: Path) -> None:
        queries = towns.queries("test")
        assert torch.equal(ExtremeText.load(tmp_path).score_all(queries), model.score_all(queries))

    @pytest.mark.parametrize("side", SIDES)
    def test_a_missing_side_is_named(self, model: ExtremeText, tmp_path: Path, side: Side) -> None:
        del model
        training.side_file(tmp_path, side).unlink()
        with pytest.raises(DataError, match=f"{side}.safetensors cannot be read"):
            ExtremeText.load(tmp_path)


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="only Linux tells what is mapped")
def test_files_are_mapped_not_read(towns: KnowledgeBase, tmp_path: Path) -> None:
    train_extreme_text(towns, SMALL, tmp_path)
    model = ExtremeText.load(tmp_path)
    assert str(tmp_path / "tail.safetensors") in Path("/proc/self/maps").read_text()
    del model


@pytest.mark.parametrize("wrong", [{"arity": 1}, {"dim": 0}, {"tree": "oak"}, {"learning_rate": 0.0}, {"leaves": 3}])
def test_settings_that_cannot_work_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        TreeSettings(**wrong)  # type: ignore[arg-type]
