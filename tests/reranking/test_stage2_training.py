"""Stage 2 as a task: labels from training facts alone, and stopped anywhere it ends where it would have ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from cear.candidates import Lists, labels
from cear.core.context import Context, Deadline
from cear.core.errors import DataError, MismatchError, OutOfTime
from cear.core.types import NO_ENTITY, SPLITS, Candidates, Split
from cear.data import KnowledgeBase
from cear.reranking import Examples, SequenceConfig, SequenceReranker, Stage2Task, Upstream, train_phases
from cear.training import State

MakeReranker = Callable[..., SequenceReranker]


def with_splits(kb: KnowledgeBase, **splits: Any) -> KnowledgeBase:
    facts: dict[Split, Any] = {split: kb.facts(split) for split in SPLITS}
    return KnowledgeBase(kb.name, kb.entities, kb.relations, facts | splits)


def examples_of(lists: Lists, kb: KnowledgeBase) -> Examples:
    return Examples.of(lists, SequenceConfig().features_of(lists, kb), kb)


def task_of(reranker: SequenceReranker, lists: Lists, kb: KnowledgeBase) -> Stage2Task:
    return Stage2Task(reranker, examples_of(lists, kb), lambda _: 0.0, Context())


def losses(task: Stage2Task, epoch: int, *, first: int = 0, parts: int = 1) -> list[torch.Tensor]:
    """The loss of each step of an epoch, the sum of those of its parts."""
    return [sum((part() for part in step), torch.zeros(())) for step in task.steps(epoch, first=first, parts=parts)]


class Watching:
    """A re-ranker that remembers which lists it was asked to score."""

    def __init__(self, reranker: SequenceReranker) -> None:
        self._reranker, self.read = reranker, list[Lists]()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._reranker, name)

    def score(self, lists: Lists, features: Any) -> torch.Tensor:
        self.read.append(lists)
        return self._reranker.score(lists, features)

    def queries(self) -> list[tuple[int, int]]:
        pairs = [zip(part.queries.entity.tolist(), part.queries.relation.tolist(), strict=True) for part in self.read]
        self.read = []
        return sorted(pair for part in pairs for pair in part)


class TestTheTask:
    def test_every_training_answer_is_positive_and_nothing_else(self, lists: Lists, towns: KnowledgeBase) -> None:
        examples = examples_of(lists, towns)
        train = {tuple(fact) for fact in towns.facts("train").tolist()}
        train |= {(o, r + 3, s) for s, r, o in train}
        for i in range(len(examples)):
            query = int(examples.lists.queries.entity[i]), int(examples.lists.queries.relation[i])
            found = [(*query, e) in train for e in examples.lists.candidates.entities[i].tolist()]
            assert examples.positive[i].tolist() == found

    def test_lists_without_an_answer_are_left_out(self, lists: Lists, towns: KnowledgeBase) -> None:
        useful = labels(lists, towns.known("train")).any(axis=1)
        examples = examples_of(lists, towns)
        assert 0 < useful.sum() < len(lists)
        assert np.array_equal(examples.lists.queries.entity, lists.queries.entity[useful])
        assert np.array_equal(examples.features, SequenceConfig().features_of(lists, towns)[useful])

    def test_with_none_left_it_says_so(self, lists: Lists, towns: KnowledgeBase) -> None:
        useless = lists[~labels(lists, towns.known("train")).any(axis=1)]
        with pytest.raises(DataError, match=r"holds an answer.*Set a larger candidates\.k"):
            examples_of(useless, towns)

    def test_an_epoch_reads_every_list_once(
        self, reranker_of: MakeReranker, lists: Lists, towns: KnowledgeBase
    ) -> None:
        watching: Any = Watching(reranker_of())
        task, examples = task_of(watching, lists, towns), examples_of(lists, towns)
        every = sorted(zip(examples.lists.queries.entity, examples.lists.queries.relation, strict=True))
        for epoch in range(2):
            steps = len(losses(task, epoch))
            assert watching.queries() == every
            assert steps == len(task) > 3

    def test_or_a_sample_that_each_epoch_draws_anew(
        self, reranker_of: MakeReranker, lists: Lists, towns: KnowledgeBase
    ) -> None:
        watching: Any = Watching(reranker_of(lists_per_epoch=7))
        task = task_of(watching, lists, towns)
        drawn = []
        for epoch in (0, 1):
            losses(task, epoch)
            drawn.append(watching.queries())
        assert len(drawn[0]) == len(drawn[1]) == 7
        assert drawn[0] != drawn[1]

    def test_the_loss_of_a_step_is_that_of_its_lists(
        self, reranker_of: MakeReranker, lists: Lists, towns: KnowledgeBase
    ) -> None:
        watching: Any = Watching(reranker_of(dropout=0.0))
        for loss in losses(task_of(watching, lists, towns), 1):
            batch = watching.read.pop(0)
            scores = watching._reranker.score(batch, SequenceConfig().features_of(batch, towns))
            positive = torch.from_numpy(labels(batch, towns.known("train"))).float()
            torch.testing.assert_close(loss, torch.nn.functional.binary_cross_entropy_with_logits(scores, positive))

    @pytest.mark.parametrize("loss", ["bce", "softmax"])
    def test_in_parts_it_is_the_same(
        self, reranker_of: MakeReranker, lists: Lists, towns: KnowledgeBase, loss: str
    ) -> None:
        """Lists of different lengths too: a part with little padding counts for no more than its share."""
        entities, scores = lists.candidates.entities.copy(), lists.candidates.scores.copy()
        shorter = ~labels(lists, towns.known("train"))[:, 1:].any(axis=1)
        entities[shorter, 1:], scores[shorter, 1:] = NO_ENTITY, -np.inf
        padded = Lists(lists.queries, Candidates(entities, scores), lists.manifest)
        task = task_of(reranker_of(dropout=0.0, loss=loss, max_tokens=5000), padded, towns)
        assert len(task) == 1, "short and long lists in one batch"
        for parts in (2, 3, 99):
            torch.testing.assert_close(losses(task, 0, parts=parts), losses(task, 0))

    def test_dropout_is_a_function_of_the_place_and_leaves_other_random_numbers_alone(
        self, reranker_of: MakeReranker, lists: Lists, towns: KnowledgeBase
    ) -> None:
        task = task_of(reranker_of(dropout=0.4), lists, towns)
        before = torch.get_rng_state()
        whole = [loss.item() for loss in losses(task, 0)]
        torch.rand(3)
        assert [loss.item() for loss in losses(task, 0, first=2)] == whole[2:]
        assert len(set(whole)) > 1
        torch.set_rng_state(before)
        next(task.steps(0, first=0, parts=1))[0]()
        assert torch.equal(torch.get_rng_state(), before)

    def test_both_learning_rates_fall_to_zero(
        self, reranker_of: MakeReranker, lists: Lists, towns: KnowledgeBase
    ) -> None:
        task = task_of(reranker_of(epochs=2, learning_rate=0.1, head_learning_rate=0.4), lists, towns)
        rates = [[group["lr"] for group in task.optimizer.param_groups] for _ in task.steps(0, first=0, parts=1)]
        rates += [[group["lr"] for group in task.optimizer.param_groups] for _ in task.steps(1, first=0, parts=1)]
        assert rates[0] == pytest.approx([0.1, 0.4])
        assert rates[len(task)] == pytest.approx([0.05, 0.2]), "half of the training is done"
        assert all(later[0] < earlier[0] for earlier, later in pairwise(rates))

    def test_encoder_and_head_have_their_own(self, reranker_of: MakeReranker) -> None:
        reranker = reranker_of(features="scores")
        encoder, head = reranker.parameter_groups()
        assert [p.shape for p in head["params"]] == [
            p.shape for p in [reranker.model.scale, *reranker.model.head.parameters()]
        ]
        assert len(encoder["params"]) == len(list(reranker.model.encoder.parameters()))


Train = Callable[..., tuple[SequenceReranker, State]]


class TestTraining:
    @pytest.fixture
    def train(self, towns: KnowledgeBase, lists: Lists, encoder_of: Callable[..., str], tmp_path: Path) -> Train:
        def go(
            name: str, kb: KnowledgeBase = towns, *, validate: Any = lambda _: 0.0, settings: Any = None, **context: Any
        ) -> tuple[SequenceReranker, State]:
            small = {"encoder": encoder_of(), "hidden": 8, "max_tokens": 200, "epochs": 2, "lists_per_epoch": 24}
            small |= {"checkpoint_seconds": 0, "learning_rate": 1e-3, "text": "name"}
            config, told = SequenceConfig.model_validate(small | (settings or {})), Context(seed=4, **context)
            reranker, features = config.build(Upstream(kb), told), config.features_of(lists, kb)
            key = [config.settings_key(), kb.digest]
            trained = train_phases(
                reranker, lists, features, kb, tmp_path / name, validate=validate, key=key, context=told
            )
            assert trained.reranker is reranker
            return reranker, trained.phases["learning"]

        return go

    def weights(self, folder: Path) -> bytes:
        return (folder / "learning" / "best.safetensors").read_bytes()

    @pytest.mark.parametrize("stop", [1, 2, 4, 5])
    def test_stopped_in_the_middle_of_an_epoch_it_ends_the_same(
        self,
        train: Train,
        tmp_path: Path,
        stopping: Callable[[int], Any],
        stop: int,
    ) -> None:
        whole, state = train("whole")
        assert len(state.history) == 2
        with pytest.raises(KeyboardInterrupt):
            train("cut", progress=stopping(stop))
        again, its = train("cut")
        assert asdict(its) | {"seconds": None} == asdict(state) | {"seconds": None}
        for (name, mine), (_, other) in zip(
            whole.model.state_dict().items(), again.model.state_dict().items(), strict=True
        ):
            assert torch.equal(mine, other), name
        assert self.weights(tmp_path / "whole") == self.weights(tmp_path / "cut")

    def test_out_of_time_after_every_step_it_ends_the_same(self, train: Train, tmp_path: Path) -> None:
        _, state = train("whole")
        stops = 0
        while True:
            try:
                _, its = train("cut", deadline=Deadline(at=0))
                break
            except OutOfTime:
                stops += 1
        assert stops >= 4
        assert asdict(its) | {"seconds": None} == asdict(state) | {"seconds": None}
        assert self.weights(tmp_path / "whole") == self.weights(tmp_path / "cut")

    def test_it_keeps_the_epoch_that_was_best_on_validation(self, train: Train, lists: Lists) -> None:
        seen: list[Any] = []

        def validate(reranker: SequenceReranker) -> float:
            seen.append(reranker.rerank(lists[:3]))
            return -float(len(seen))

        reranker, state = train("run", validate=validate)
        assert (state.best_epoch, len(seen)) == (1, 2)
        np.testing.assert_array_equal(reranker.rerank(lists[:3]), seen[0])
        assert not np.array_equal(seen[0], seen[1])

    def test_valid_and_test_facts_change_no_label_and_no_weight(
        self, train: Train, towns: KnowledgeBase, tmp_path: Path
    ) -> None:
        poison = np.array([[i, (i + 1) % 3, (7 * i + 3) % 30] for i in range(25)])
        poisoned = with_splits(towns, valid=poison[:12], test=poison[12:])
        assert poisoned.digest != towns.digest
        for name, kb in (("clean", towns), ("poisoned", poisoned)):
            train(name, kb)
        assert self.weights(tmp_path / "clean") == self.weights(tmp_path / "poisoned")

    def test_training_facts_do_change_them(
        self, train: Train, towns: KnowledgeBase, lists: Lists, tmp_path: Path
    ) -> None:
        """So that the test above is able to fail: a candidate of the first list becomes an answer."""
        useful = np.flatnonzero(labels(lists, towns.known("train")).any(axis=1))
        query = lists[useful[:1]]
        entity, relation = int(query.queries.entity[0]), int(query.queries.relation[0])
        other = int(query.candidates.entities[0, np.argmin(labels(query, towns.known("train"))[0])])
        fact = [entity, relation, other] if relation < 3 else [other, relation - 3, entity]
        more = with_splits(towns, train=np.concatenate([towns.facts("train"), [fact]]))
        every = {"settings": {"lists_per_epoch": None}}
        train("clean", **every)
        train("more", more, **every)
        assert self.weights(tmp_path / "clean") != self.weights(tmp_path / "more")

    def test_it_learns_the_lists_it_reads(self, train: Train) -> None:
        settings = {"epochs": 6, "lists_per_epoch": None, "loss": "softmax", "dropout": 0.0, "patience": 9}
        settings |= {"learning_rate": 3e-3, "head_learning_rate": 1e-2}
        _, state = train("run", settings=settings)
        losses = [entry["loss"] for entry in state.history]
        assert losses[-1] < 0.8 * losses[0]

    def test_another_configuration_or_knowledge_base_is_refused(self, train: Train, towns: KnowledgeBase) -> None:
        train("run", settings={"epochs": 1})
        fewer = with_splits(towns, test=towns.facts("test")[1:])
        for kb, settings in ((towns, {"epochs": 1, "dropout": 0.2}), (fewer, {"epochs": 1})):
            with pytest.raises(MismatchError, match="another configuration or knowledge base"):
                train("run", kb, settings=settings)
