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
from cear.core.errors import DataError, MismatchError, OutOfTime
from cear.core.progress import silent
from cear.core.types import SPLITS, Split
from cear.data import KnowledgeBase
from cear.reranking import SequenceConfig, SequenceReranker, train_stage2
from cear.reranking.features import stage1_features
from cear.reranking.losses import bce
from cear.reranking.training import Stage2Task
from cear.training import Deadline, State

MakeReranker = Callable[..., SequenceReranker]


def with_splits(kb: KnowledgeBase, **splits: Any) -> KnowledgeBase:
    facts: dict[Split, Any] = {split: kb.facts(split) for split in SPLITS}
    return KnowledgeBase(kb.name, kb.entities, kb.relations, facts | splits)


def task_of(reranker: SequenceReranker, lists: Lists, kb: KnowledgeBase, *, seed: int = 0) -> Stage2Task:
    return Stage2Task(reranker, lists, reranker.inputs(lists), kb.known("train"), lambda _: 0.0, seed=seed)


class TestTheTask:
    def test_every_training_answer_is_positive_and_nothing_else(
        self, reranker_of: MakeReranker, lists: Lists, towns: KnowledgeBase
    ) -> None:
        task = task_of(reranker_of(), lists, towns)
        train = {tuple(fact) for fact in towns.facts("train").tolist()}
        train |= {(o, r + 3, s) for s, r, o in train}
        for i in range(len(task._lists)):
            query = int(task._lists.queries.entity[i]), int(task._lists.queries.relation[i])
            found = [(*query, e) in train for e in task._lists.candidates.entities[i].tolist()]
            assert task._positive[i].tolist() == found

    def test_lists_without_an_answer_are_left_out(
        self, reranker_of: MakeReranker, lists: Lists, towns: KnowledgeBase
    ) -> None:
        useful = labels(lists, towns.known("train")).any(axis=1)
        task = task_of(reranker_of(), lists, towns)
        assert 0 < useful.sum() < len(lists)
        assert np.array_equal(task._lists.queries.entity, lists.queries.entity[useful])

    def test_with_none_left_it_says_so(self, reranker_of: MakeReranker, lists: Lists, towns: KnowledgeBase) -> None:
        useless = lists[~labels(lists, towns.known("train")).any(axis=1)]
        with pytest.raises(DataError, match=r"holds an answer.*Set a larger candidates\.k"):
            task_of(reranker_of(), useless, towns)

    def test_an_epoch_reads_every_list_once(
        self, reranker_of: MakeReranker, lists: Lists, towns: KnowledgeBase
    ) -> None:
        task = task_of(reranker_of(), lists, towns)
        for epoch in range(2):
            rows = np.concatenate(task._batches(epoch))
            assert sorted(rows.tolist()) == list(range(len(task._lists)))
        assert len(task) == len(task._batches(0)) > 3

    def test_or_a_sample_that_each_epoch_draws_anew(
        self, reranker_of: MakeReranker, lists: Lists, towns: KnowledgeBase
    ) -> None:
        task = task_of(reranker_of(lists=7), lists, towns)
        first, second = (set(np.concatenate(task._batches(epoch)).tolist()) for epoch in (0, 1))
        assert len(first) == len(second) == 7
        assert first != second

    def test_the_loss_of_a_step_is_that_of_its_lists(
        self, reranker_of: MakeReranker, lists: Lists, towns: KnowledgeBase
    ) -> None:
        reranker = reranker_of(dropout=0.0)
        task = task_of(reranker, lists, towns)
        for loss, rows in zip(task.losses(1, first=0), task._batches(1), strict=True):
            batch = task._lists[rows]
            scores = reranker.score(batch, stage1_features(batch.candidates))
            positive = torch.from_numpy(labels(batch, towns.known("train")))
            torch.testing.assert_close(loss, bce(scores, positive, torch.ones_like(positive)))

    def test_dropout_is_a_function_of_the_place_and_leaves_other_random_numbers_alone(
        self, reranker_of: MakeReranker, lists: Lists, towns: KnowledgeBase
    ) -> None:
        task = task_of(reranker_of(dropout=0.4), lists, towns)
        before = torch.get_rng_state()
        whole = [loss.item() for loss in task.losses(0, first=0)]
        torch.rand(3)
        assert [loss.item() for loss in task.losses(0, first=2)] == whole[2:]
        assert len(set(whole)) > 1
        torch.set_rng_state(before)
        next(task.losses(0, first=0))
        assert torch.equal(torch.get_rng_state(), before)

    def test_both_learning_rates_fall_to_zero(
        self, reranker_of: MakeReranker, lists: Lists, towns: KnowledgeBase
    ) -> None:
        task = task_of(reranker_of(epochs=2, learning_rate=0.1, head_learning_rate=0.4), lists, towns)
        rates = [[group["lr"] for group in task.optimizer.param_groups] for _ in task.losses(0, first=0)]
        rates += [[group["lr"] for group in task.optimizer.param_groups] for _ in task.losses(1, first=0)]
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


class TestTraining:
    @pytest.fixture
    def train(
        self, towns: KnowledgeBase, lists: Lists, encoder_of: Callable[..., str], tmp_path: Path
    ) -> Callable[..., tuple[SequenceReranker, State]]:
        def go(name: str, kb: KnowledgeBase = towns, **other: Any) -> tuple[SequenceReranker, State]:
            settings = {"encoder": encoder_of(), "hidden": 8, "max_tokens": 200, "epochs": 2, "lists": 24}
            settings |= {"checkpoint_seconds": 0, "learning_rate": 1e-3, "text": "name"} | other.pop("settings", {})
            config = SequenceConfig.model_validate(settings)
            validate = other.pop("validate", lambda _: 0.0)
            reranker = SequenceReranker(kb, config, seed=4)
            return reranker, train_stage2(reranker, lists, kb, tmp_path / name, validate=validate, seed=4, **other)

        return go

    def weights(self, folder: Path) -> bytes:
        return (folder / "best.safetensors").read_bytes()

    @pytest.mark.parametrize("stop", [1, 2, 4, 5])
    def test_stopped_in_the_middle_of_an_epoch_it_ends_the_same(
        self,
        train: Callable[..., tuple[SequenceReranker, State]],
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

    def test_out_of_time_after_every_step_it_ends_the_same(
        self, train: Callable[..., tuple[SequenceReranker, State]], tmp_path: Path
    ) -> None:
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

    def test_it_keeps_the_epoch_that_was_best_on_validation(
        self, train: Callable[..., tuple[SequenceReranker, State]], lists: Lists
    ) -> None:
        seen: list[Any] = []

        def validate(reranker: SequenceReranker) -> float:
            seen.append(reranker.rerank(lists[:3]))
            return -float(len(seen))

        reranker, state = train("run", validate=validate)
        assert (state.best_epoch, len(seen)) == (1, 2)
        np.testing.assert_array_equal(reranker.rerank(lists[:3]), seen[0])
        assert not np.array_equal(seen[0], seen[1])

    def test_valid_and_test_facts_change_no_label_and_no_weight(
        self, train: Callable[..., tuple[SequenceReranker, State]], towns: KnowledgeBase, tmp_path: Path
    ) -> None:
        poison = np.array([[i, (i + 1) % 3, (7 * i + 3) % 30] for i in range(25)])
        poisoned = with_splits(towns, valid=poison[:12], test=poison[12:])
        assert poisoned.digest != towns.digest
        for name, kb in (("clean", towns), ("poisoned", poisoned)):
            train(name, kb)
        assert self.weights(tmp_path / "clean") == self.weights(tmp_path / "poisoned")

    def test_training_facts_do_change_them(
        self, train: Callable[..., tuple[SequenceReranker, State]], towns: KnowledgeBase, lists: Lists, tmp_path: Path
    ) -> None:
        """So that the test above is able to fail: a candidate of the first list becomes an answer."""
        useful = np.flatnonzero(labels(lists, towns.known("train")).any(axis=1))
        query = lists[useful[:1]]
        entity, relation = int(query.queries.entity[0]), int(query.queries.relation[0])
        other = int(query.candidates.entities[0, np.argmin(labels(query, towns.known("train"))[0])])
        fact = [entity, relation, other] if relation < 3 else [other, relation - 3, entity]
        more = with_splits(towns, train=np.concatenate([towns.facts("train"), [fact]]))
        every = {"settings": {"lists": None}}
        train("clean", **every)
        train("more", more, **every)
        assert self.weights(tmp_path / "clean") != self.weights(tmp_path / "more")

    def test_it_learns_the_lists_it_reads(self, train: Callable[..., tuple[SequenceReranker, State]]) -> None:
        settings = {"epochs": 6, "lists": None, "loss": "softmax", "dropout": 0.0, "patience": 9}
        settings |= {"learning_rate": 3e-3, "head_learning_rate": 1e-2}
        _, state = train("run", settings=settings, progress=silent)
        losses = [entry["loss"] for entry in state.history]
        assert losses[-1] < 0.8 * losses[0]

    def test_another_configuration_or_knowledge_base_is_refused(
        self, train: Callable[..., tuple[SequenceReranker, State]], towns: KnowledgeBase
    ) -> None:
        train("run", settings={"epochs": 1})
        fewer = with_splits(towns, test=towns.facts("test")[1:])
        for kb, settings in ((towns, {"epochs": 1, "dropout": 0.2}), (fewer, {"epochs": 1})):
            with pytest.raises(MismatchError, match="another configuration or knowledge base"):
                train("run", kb, settings=settings)
