"""Stage 1 as a task: its regulariser, its auxiliary loss, its optimisers, and that it learns."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from cear.core.types import Queries, Ragged
from cear.data import KnowledgeBase
from cear.evaluation import evaluate
from cear.retrieval import Scorer, Stage1Config, build_scorer, scorer_for, train_stage1
from cear.retrieval.batches import Batch, TrainingQueries
from cear.retrieval.config import OptimizerConfig
from cear.retrieval.losses import softmax
from cear.retrieval.optimizers import LazyAdam, build_optimizer
from cear.retrieval.scorer import Embedding
from cear.retrieval.training import Stage1Task, lp_norm, relation_loss


def set_weights(scorer: Scorer, **weights: list[list[float]]) -> Scorer:
    with torch.no_grad():
        for name, values in weights.items():
            scorer.get_parameter(f"{name}.weight").copy_(torch.tensor(values))
    return scorer


def batch_of(facts: list[list[int]]) -> Batch:
    """A batch with one answer a query."""
    s, r, o = np.array(facts).T
    return Batch(Queries(s, r), Ragged(np.arange(len(facts) + 1), o), None)


class TestLpNorm:
    def test_n3_of_complex_numbers_on_paper(self) -> None:
        # One complex coordinate, real part then imaginary part: |3 + 4i| = 5, |i| = 1, |2| = 2.
        scorer = set_weights(
            build_scorer(Stage1Config(rank=1), 2, 1), entity=[[3, 4], [0, 1]], relation=[[2, 0], [0, 0]]
        )
        assert lp_norm(scorer, batch_of([[0, 0, 1], [1, 0, 1]]), 3).item() == pytest.approx(
            ((125 + 8 + 1) + (1 + 8 + 1)) / 2
        )

    @pytest.mark.parametrize(("p", "expected"), [(2, 9 + 4 + 1), (3, 27 + 8 + 1), (1, 3 + 2 + 1)])
    def test_other_powers_of_real_numbers(self, p: float, expected: float) -> None:
        config = Stage1Config(model="distmult", rank=1)
        scorer = set_weights(build_scorer(config, 2, 1), entity=[[-3], [1]], relation=[[2], [0]])
        assert lp_norm(scorer, batch_of([[0, 0, 1]]), p).item() == pytest.approx(expected)

    def test_an_embedding_counts_as_often_as_facts_use_it_in_value_and_gradient(self, towns: KnowledgeBase) -> None:
        config = Stage1Config(rank=4, init_scale=0.5)
        scorer = build_scorer(config, towns.n_entities, towns.n_relations)
        batches = TrainingQueries(towns.known("train"), towns.n_entities, size=40, negatives=None, seed=0)
        batch = next(batches.epoch(0))
        s, r, o = batch.facts.T
        every = [scorer.entity_moduli(s), scorer.relation_moduli(r), scorer.entity_moduli(o)]
        literal = torch.stack([moduli.pow(3).sum() for moduli in every]).sum() / len(batch.facts)
        parameters = list(scorer.parameters())
        torch.testing.assert_close(lp_norm(scorer, batch, 3), literal)
        ours, its = (torch.autograd.grad(loss, parameters) for loss in (lp_norm(scorer, batch, 3), literal))
        for mine, other in zip(ours, its, strict=True):
            torch.testing.assert_close(mine, other)

    @pytest.mark.parametrize("p", [1, 2, 3])
    def test_embeddings_at_zero_have_finite_gradients(self, p: float) -> None:
        scorer = build_scorer(Stage1Config(rank=1), 2, 1)
        with torch.no_grad():
            for parameter in scorer.parameters():
                parameter.zero_()
        gradients = torch.autograd.grad(lp_norm(scorer, batch_of([[0, 0, 1]]), p), list(scorer.parameters()))
        assert all(torch.isfinite(gradient).all() for gradient in gradients)

    def test_a_rotation_has_modulus_one(self) -> None:
        scorer = set_weights(build_scorer(Stage1Config(model="rotate", rank=1), 2, 1), entity=[[3, 4], [0, 2]])
        assert lp_norm(scorer, batch_of([[0, 0, 1]]), 3).item() == pytest.approx(125 + 1 + 8)


def test_relation_loss_on_paper() -> None:
    # Σ s o r over relations r is 0, log 2, log 3, 0 (two relations and their reciprocals): P = 1, 2, 3, 1 over 7.
    scorer = set_weights(
        build_scorer(Stage1Config(model="distmult", rank=1), 2, 2),
        entity=[[1], [1]],
        relation=[[0], [math.log(2)], [math.log(3)], [0]],
    )
    facts = torch.tensor([[0, 1, 1], [0, 2, 1]])
    assert relation_loss(scorer, facts).item() == pytest.approx((math.log(7 / 2) + math.log(7 / 3)) / 2)


class TestOptimizers:
    @pytest.mark.parametrize(("kind", "cls"), [("adagrad", torch.optim.Adagrad), ("adam", torch.optim.Adam)])
    def test_they_are_pytorchs_over_all_parameters(self, kind: Any, cls: type) -> None:
        scorer = build_scorer(Stage1Config(rank=2), 3, 1)
        optimizer = build_optimizer(scorer, OptimizerConfig(kind=kind, learning_rate=0.25))
        assert type(optimizer) is cls
        assert optimizer.param_groups[0]["params"] == list(scorer.parameters())
        assert optimizer.param_groups[0]["lr"] == 0.25

    @pytest.mark.parametrize("kind", ["adagrad", "adam", "lazy_adam"])
    def test_their_first_step_is_the_learning_rate_against_the_sign_of_the_gradient(self, kind: Any) -> None:
        layer = torch.nn.Linear(2, 1, bias=False)
        before = layer.weight.detach().clone()
        optimizer = build_optimizer(layer, OptimizerConfig(kind=kind, learning_rate=0.5))
        layer(torch.tensor([3.0, -0.2])).sum().backward()
        optimizer.step()
        torch.testing.assert_close(layer.weight.detach() - before, torch.tensor([[-0.5, 0.5]]))

    def test_lazy_adam_is_pytorchs_sparse_adam_on_rows_and_its_adam_on_dense_tables(self) -> None:
        ours, rows, dense = (Embedding(6, 3, scale=1.0, generator=torch.Generator().manual_seed(0)) for _ in range(3))
        ours.sparse = rows.sparse = True
        bias = [torch.nn.Parameter(torch.ones(4)) for _ in range(2)]
        lazy = LazyAdam([ours.weight, bias[0]], lr=0.1)
        yardsticks = [torch.optim.SparseAdam([rows.weight], lr=0.1), torch.optim.Adam([bias[1]], lr=0.1)]
        for step in range(5):
            looked_up = torch.tensor([[0, 1, 1], [4, 2, 0], [2, 2, 2], [5, 1, 4], [0, 0, 4]][step])
            for optimizer in (lazy, *yardsticks):
                optimizer.zero_grad()
            ours(looked_up).pow(3).sum().backward()
            rows(looked_up).pow(3).sum().backward()
            for each in bias:
                (each * torch.arange(4)).pow(2).sum().backward()
            for optimizer in (lazy, *yardsticks):
                optimizer.step()
        torch.testing.assert_close(ours.weight, rows.weight)
        torch.testing.assert_close(bias[0], bias[1])
        assert torch.equal(ours.weight[3], dense.weight[3])  # never looked up

    def test_lazy_adam_gets_gradients_of_the_looked_up_rows_alone(self, towns: KnowledgeBase) -> None:
        config = Stage1Config.model_validate(
            {
                "model": "rotate",
                "rank": 2,
                "norm": 1,
                "batch": 2,
                "loss": {"kind": "self_adversarial", "negatives": 2},
                "regularizer": {"weight": 0},
                "optimizer": {"kind": "lazy_adam"},
            }
        )
        task = Stage1Task(
            build_scorer(config, towns.n_entities, towns.n_relations), towns, config, lambda _: 0.0, seed=0
        )
        next(task.losses(0, first=0)).backward()  # type: ignore[no-untyped-call]
        gradient = task.model.get_parameter("entity.weight").grad
        assert gradient is not None
        assert gradient.is_sparse
        assert len(gradient.coalesce().indices()[0]) < towns.n_entities


class TestTask:
    def test_the_loss_of_a_step_is_loss_plus_weighted_regulariser_plus_weighted_relation_loss(
        self, towns: KnowledgeBase
    ) -> None:
        config = Stage1Config.model_validate(
            {"rank": 3, "init_scale": 0.5, "batch": 16, "regularizer": {"weight": 0.3}, "relation_prediction": 0.7}
        )
        scorer = build_scorer(config, towns.n_entities, towns.n_relations, seed=1)
        task = Stage1Task(scorer, towns, config, lambda _: 0.0, seed=4)
        batches = TrainingQueries(towns.known("train"), towns.n_entities, size=16, negatives=None, seed=4)
        assert len(task) == len(batches) > 1
        for loss, batch in zip(task.losses(2, first=0), batches.epoch(2), strict=True):
            expected = softmax(scorer.score_all(batch.queries), batch, config.loss)
            expected = expected + 0.3 * lp_norm(scorer, batch, 3) + 0.7 * relation_loss(scorer, batch.facts)
            torch.testing.assert_close(loss, expected)

    def test_it_learns_from_training_facts_alone(self, towns: KnowledgeBase) -> None:
        task = Stage1Task(build_scorer(Stage1Config(rank=2), 30, 3), towns, Stage1Config(), lambda _: 0.0, seed=0)
        facts = {tuple(fact) for batch in task._queries.epoch(0) for fact in batch.facts.tolist()}
        train = {tuple(fact) for fact in towns.facts("train").tolist()}
        assert facts == train | {(o, r + 3, s) for s, r, o in train}


LEARNERS: dict[str, dict[str, Any]] = {
    "complex, softmax": {},
    "complex, sampled softmax": {"loss": {"negatives": 12}},
    "complex, relation prediction": {"relation_prediction": 0.5},
    "complex, bce": {"loss": {"kind": "bce", "label_smoothing": 0.1}},
    "complex of names, sampled softmax": {
        "model": "complex_lstm",
        "init_scale": 0.3,
        "loss": {"negatives": 12},
        "optimizer": {"kind": "adam", "learning_rate": 0.02},
    },
    "distmult, softmax": {"model": "distmult"},
    "transe, softmax": {"model": "transe", "norm": 1, "init_scale": 0.3},
    "rotate, self-adversarial": {
        "model": "rotate",
        "norm": 1,
        "init_scale": 0.3,
        "loss": {"kind": "self_adversarial", "margin": 3.0, "negatives": 20},
        "optimizer": {"kind": "adam", "learning_rate": 0.05},
    },
}


@pytest.mark.parametrize("settings", LEARNERS.values(), ids=LEARNERS)
def test_every_kind_of_training_learns_the_training_facts(
    towns: KnowledgeBase, tmp_path: Path, settings: dict[str, Any]
) -> None:
    plain: dict[str, Any] = {"rank": 12, "batch": 20, "epochs": 30, "validate_every": 30, "regularizer": {"weight": 0}}
    config = Stage1Config.model_validate(plain | settings)
    fresh = scorer_for(towns, config)
    trained, state = train_stage1(towns, config, tmp_path, validate=lambda _: 1.0)
    before, after = (evaluate(s, towns, "train").summary()["both"]["mrr"] for s in (fresh, trained))
    assert before < 0.35
    assert after > 0.8
    assert state.epoch == 30


class TestDecay:
    def rates(self, towns: KnowledgeBase, decay: str, *, first: int = 0) -> list[float]:
        """The step size before each step of two epochs, from step `first` of the second on."""
        optimizer = {"learning_rate": 0.4, "decay": decay}
        config = Stage1Config.model_validate({"rank": 2, "batch": 50, "epochs": 2, "optimizer": optimizer})
        scorer = build_scorer(config, towns.n_entities, towns.n_relations)
        task = Stage1Task(scorer, towns, config, lambda _: 0.0, seed=0)
        assert len(task) == 2
        return [task.optimizer.param_groups[0]["lr"] for _ in task.losses(1, first=first)]

    def test_linear_falls_to_zero_over_all_epochs(self, towns: KnowledgeBase) -> None:
        assert self.rates(towns, "linear") == pytest.approx([0.2, 0.1])

    def test_a_training_that_goes_on_has_the_same_step_size(self, towns: KnowledgeBase) -> None:
        assert self.rates(towns, "linear", first=1) == pytest.approx([0.1])

    def test_none_keeps_it(self, towns: KnowledgeBase) -> None:
        assert self.rates(towns, "none") == [0.4, 0.4]
