"""Stage 1 as a task: its regulariser, its auxiliary loss, its optimisers, and that it learns."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from cear.core.context import HERE, Context
from cear.core.types import Ints
from cear.data import KnowledgeBase
from cear.evaluation import evaluate
from cear.retrieval import (
    LOSSES,
    RETRIEVERS,
    ComplEx,
    ComplExConfig,
    Distance,
    DistMult,
    GradientConfig,
    RotatE,
    RotatEConfig,
    RowsEmbeddings,
    Scorer,
    SoftmaxLoss,
)
from cear.retrieval.batches import TrainingQueries
from cear.retrieval.embeddings import Rows
from cear.retrieval.optimizers import LazyAdam, OptimizerConfig, build_optimizer
from cear.retrieval.training import Stage1Task, lp_norm, relation_loss


def set_weights(scorer: Scorer, **weights: list[list[float]]) -> Scorer:
    with torch.no_grad():
        for name, values in weights.items():
            scorer.get_parameter(f"{name}.weight").copy_(torch.tensor(values))
    return scorer


def gradient_config(settings: dict[str, Any]) -> GradientConfig:
    config = RETRIEVERS[settings.get("model", "complex")].model_validate(settings)
    assert isinstance(config, GradientConfig)
    return config


def task_of(kb: KnowledgeBase, config: GradientConfig, *, seed: int = 0) -> Stage1Task:
    context = HERE.with_seed(seed)
    return Stage1Task(config.build(kb, context), kb, config, lambda _: 0.0, context)


def losses_of(task: Stage1Task, epoch: int, *, first: int = 0) -> Iterator[torch.Tensor]:
    """The loss of each step of an epoch, in one part."""
    for parts in task.steps(epoch, first=first, parts=1):
        (part,) = parts
        yield part()


class TestLpNorm:
    def test_n3_of_complex_numbers_on_paper(self) -> None:
        # One complex coordinate, real part then imaginary part: |3 + 4i| = 5, |i| = 1, |2| = 2.
        scorer = set_weights(ComplEx(RowsEmbeddings(2, 1), 1), entity=[[3, 4], [0, 1]], relation=[[2, 0], [0, 0]])
        assert lp_norm(scorer, np.array([[0, 0, 1], [1, 0, 1]]), 3).item() == pytest.approx(
            ((125 + 8 + 1) + (1 + 8 + 1)) / 2
        )

    @pytest.mark.parametrize(("p", "expected"), [(2, 9 + 4 + 1), (3, 27 + 8 + 1), (1, 3 + 2 + 1)])
    def test_other_powers_of_real_numbers(self, p: float, expected: float) -> None:
        scorer = set_weights(DistMult(RowsEmbeddings(2, 1), 1), entity=[[-3], [1]], relation=[[2], [0]])
        assert lp_norm(scorer, np.array([[0, 0, 1]]), p).item() == pytest.approx(expected)

    def test_an_embedding_counts_as_often_as_facts_use_it_in_value_and_gradient(self, towns: KnowledgeBase) -> None:
        scorer = ComplEx(RowsEmbeddings(towns.n_entities, towns.n_relations, scale=0.5), 4)
        batches = TrainingQueries(towns.known("train"), towns.n_entities, size=40, negatives=None, seed=0)
        facts: Ints = next(batches.epoch(0)).facts
        s, r, o = facts.T
        every = [scorer.entity_moduli(s), scorer.relation_moduli(r), scorer.entity_moduli(o)]
        literal = torch.stack([moduli.pow(3).sum() for moduli in every]).sum() / len(facts)
        parameters = list(scorer.parameters())
        torch.testing.assert_close(lp_norm(scorer, facts, 3), literal)
        ours, its = (torch.autograd.grad(loss, parameters) for loss in (lp_norm(scorer, facts, 3), literal))
        for mine, other in zip(ours, its, strict=True):
            torch.testing.assert_close(mine, other)

    @pytest.mark.parametrize("p", [1, 2, 3])
    def test_embeddings_at_zero_have_finite_gradients(self, p: float) -> None:
        scorer = ComplEx(RowsEmbeddings(2, 1), 1)
        with torch.no_grad():
            for parameter in scorer.parameters():
                parameter.zero_()
        gradients = torch.autograd.grad(lp_norm(scorer, np.array([[0, 0, 1]]), p), list(scorer.parameters()))
        assert all(torch.isfinite(gradient).all() for gradient in gradients)

    def test_a_rotation_has_modulus_one(self) -> None:
        distance = Distance(2, squared=False, complex_pairs=True)
        scorer = set_weights(RotatE(RowsEmbeddings(2, 1), 1, distance), entity=[[3, 4], [0, 2]])
        assert lp_norm(scorer, np.array([[0, 0, 1]]), 3).item() == pytest.approx(125 + 1 + 8)


def test_relation_loss_on_paper() -> None:
    # Σ s o r over relations r is 0, log 2, log 3, 0 (two relations and their reciprocals): P = 1, 2, 3, 1 over 7.
    scorer = set_weights(
        DistMult(RowsEmbeddings(2, 2), 1),
        entity=[[1], [1]],
        relation=[[0], [math.log(2)], [math.log(3)], [0]],
    )
    facts = np.array([[0, 1, 1], [0, 2, 1]])
    assert relation_loss(scorer, facts).item() == pytest.approx((math.log(7 / 2) + math.log(7 / 3)) / 2)


class TestOptimizers:
    @pytest.mark.parametrize(("kind", "cls"), [("adagrad", torch.optim.Adagrad), ("adam", torch.optim.Adam)])
    def test_they_are_pytorchs_over_all_parameters(self, kind: Any, cls: type) -> None:
        scorer = ComplEx(RowsEmbeddings(3, 1), 2)
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
        ours, rows, dense = (Rows.normal(6, 3, scale=1.0, generator=torch.Generator().manual_seed(0)) for _ in range(3))
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
        config = RotatEConfig.model_validate(
            {
                "rank": 2,
                "norm": 1,
                "batch": 2,
                "loss": {"kind": "self_adversarial", "negatives": 2},
                "regularizer": {"weight": 0},
                "optimizer": {"kind": "lazy_adam"},
            }
        )
        task = task_of(towns, config)
        next(losses_of(task, 0)).backward()  # type: ignore[no-untyped-call]
        gradient = task.model.get_parameter("entity.weight").grad
        assert gradient is not None
        assert gradient.is_sparse
        assert len(gradient.coalesce().indices()[0]) < towns.n_entities


class TestTask:
    def test_the_loss_of_a_step_is_loss_plus_weighted_regulariser_plus_weighted_relation_loss(
        self, towns: KnowledgeBase
    ) -> None:
        config = ComplExConfig.model_validate(
            {
                "rank": 3,
                "embedding": {"kind": "rows", "scale": 0.5},
                "batch": 16,
                "regularizer": {"weight": 0.3},
                "relation_prediction": 0.7,
            }
        )
        task = task_of(towns, config, seed=4)
        scorer = task.model
        batches = TrainingQueries(towns.known("train"), towns.n_entities, size=16, negatives=None, seed=4)
        assert len(task) == len(batches) > 1
        for loss, batch in zip(losses_of(task, 2), batches.epoch(2), strict=True):
            expected = SoftmaxLoss()(scorer.score_all(batch.queries), batch)
            expected = expected + 0.3 * lp_norm(scorer, batch.facts, 3) + 0.7 * relation_loss(scorer, batch.facts)
            torch.testing.assert_close(loss, expected)

    def test_it_learns_from_training_facts_alone(self, towns: KnowledgeBase) -> None:
        task = task_of(towns, ComplExConfig(rank=2))
        facts = {tuple(fact) for batch in task.training_queries().epoch(0) for fact in batch.facts.tolist()}
        train = {tuple(fact) for fact in towns.facts("train").tolist()}
        assert facts == train | {(o, r + 3, s) for s, r, o in train}


class TestAccumulation:
    """A batch in parts has the gradient of the batch."""

    @pytest.mark.parametrize(
        "settings",
        [
            *({"loss": {"kind": kind, "negatives": negatives}} for kind in LOSSES for negatives in (None, 9)),
            {"loss": {"kind": "self_adversarial", "subsampling": True, "negatives": 9}},
        ],
        ids=str,
    )
    @pytest.mark.parametrize("parts", [3, 1000], ids=["3 parts", "a part for each query"])
    def test_parts_add_up_to_loss_and_gradient(
        self, towns: KnowledgeBase, settings: dict[str, Any], parts: int
    ) -> None:
        config = ComplExConfig.model_validate(
            {"rank": 4, "batch": 20, "regularizer": {"weight": 0.3}, "relation_prediction": 0.5}
            | {"embedding": {"kind": "rows", "scale": 0.5}}
            | settings
        )
        found = []
        for count in (1, parts):
            task = task_of(towns, config)
            computed = [part() for part in next(task.steps(0, first=0, parts=count))]
            assert len(computed) == min(count, 20)
            for loss in computed:
                loss.backward()  # type: ignore[no-untyped-call]
            total = torch.stack([loss.detach() for loss in computed]).sum()
            found.append([total, *(weight.grad for weight in task.model.parameters())])
        for whole, added in zip(*found, strict=True):
            torch.testing.assert_close(added, whole, atol=1e-6, rtol=1e-4)

    @pytest.mark.parametrize("kind", LOSSES)
    def test_a_training_in_parts_is_the_training(self, towns: KnowledgeBase, tmp_path: Path, kind: str) -> None:
        config = ComplExConfig.model_validate({"rank": 4, "batch": 20, "epochs": 2, "loss": {"kind": kind}})
        whole, parts = (config.fit(towns, tmp_path / str(n), Context(accumulate=n)).training.history for n in (1, 3))
        assert [look["loss"] for look in parts] == pytest.approx([look["loss"] for look in whole], rel=1e-5)


LEARNERS: dict[str, dict[str, Any]] = {
    "complex, softmax": {},
    "complex, sampled softmax": {"loss": {"negatives": 12}},
    "complex, relation prediction": {"relation_prediction": 0.5},
    "complex, bce": {"loss": {"kind": "bce", "label_smoothing": 0.1}},
    "complex of names, sampled softmax": {
        "embedding": {"kind": "lstm", "scale": 0.3},
        "loss": {"negatives": 12},
        "optimizer": {"kind": "adam", "learning_rate": 0.02},
    },
    "distmult, softmax": {"model": "distmult"},
    "transe, softmax": {"model": "transe", "norm": 1, "embedding": {"kind": "rows", "scale": 0.3}},
    "rotate, self-adversarial": {
        "model": "rotate",
        "norm": 1,
        "embedding": {"kind": "rows", "scale": 0.3},
        "loss": {"kind": "self_adversarial", "margin": 3.0, "negatives": 20},
        "optimizer": {"kind": "adam", "learning_rate": 0.05},
    },
}


@pytest.mark.parametrize("settings", LEARNERS.values(), ids=LEARNERS)
def test_every_kind_of_training_learns_the_training_facts(
    towns: KnowledgeBase, tmp_path: Path, settings: dict[str, Any]
) -> None:
    plain: dict[str, Any] = {"rank": 12, "batch": 20, "epochs": 30, "validate_every": 30, "regularizer": {"weight": 0}}
    config = gradient_config(plain | settings)
    fresh, fitted = config.build(towns, HERE), config.fit(towns, tmp_path, HERE)
    before, after = (evaluate(s, towns, "train").summary()["both"]["mrr"] for s in (fresh, fitted.retriever))
    assert before < 0.35
    assert after > 0.8
    assert fitted.training.epoch == 30


class TestDecay:
    def rates(self, towns: KnowledgeBase, decay: str, *, first: int = 0) -> list[float]:
        """The step size before each step of two epochs, from step `first` of the second on."""
        optimizer = {"learning_rate": 0.4, "decay": decay}
        task = task_of(towns, gradient_config({"rank": 2, "batch": 50, "epochs": 2, "optimizer": optimizer}))
        assert len(task) == 2
        return [task.optimizer.param_groups[0]["lr"] for _ in task.steps(1, first=first, parts=1)]

    def test_linear_falls_to_zero_over_all_epochs(self, towns: KnowledgeBase) -> None:
        assert self.rates(towns, "linear") == pytest.approx([0.2, 0.1])

    def test_a_training_that_goes_on_has_the_same_step_size(self, towns: KnowledgeBase) -> None:
        assert self.rates(towns, "linear", first=1) == pytest.approx([0.1])

    def test_none_keeps_it(self, towns: KnowledgeBase) -> None:
        assert self.rates(towns, "none") == [0.4, 0.4]
