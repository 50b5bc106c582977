"""What every retriever that computes with tensors promises to an accelerator: all of it happens on one device.

There is none here. So models stand on the `meta` device, which has shapes and no values: who asks for a value fails,
and who mixes it with the CPU is refused by the mode of `device_mode.py`. Numbers are compared in bf16 on the CPU.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import pytest
import torch

from cear.core.context import Context
from cear.core.devices import computing, has_bf16
from cear.core.types import Queries
from cear.data import KnowledgeBase
from cear.retrieval import LOSSES, RETRIEVERS, GradientConfig, Scorer, TextConfig, TextScorer
from cear.retrieval.embeddings import TextEmbeddings
from cear.retrieval.optimizers import OptimizerConfig, build_optimizer
from cear.retrieval.text.pieces import Pieces
from cear.retrieval.text.training import TextTask
from cear.retrieval.training import QueryTask, Stage1Task
from cear.texts import KeptVectors

OneDevice = Callable[[], AbstractContextManager[Any]]

MEANING = 12  # the width of the vectors that stand for what texts mean
GRADIENT: dict[str, dict[str, Any]] = {
    "complex": {"relation_prediction": 0.5},
    "distmult": {"relation_prediction": 0.5},
    "conve": {"image_width": 2, "kernel": 2, "channels": 3},
    "coper_conve": {"image_width": 2, "kernel": 2, "channels": 3, "generators": 2},
    "transe, norm 1": {"model": "transe", "norm": 1},
    "transe, norm 2": {"model": "transe", "norm": 2},
    "rotate, norm 1": {"model": "rotate", "norm": 1},
    "rotate, squared": {"model": "rotate", "squared": True},
}
KINDS = ("rows", "lstm", "text")
VARIANTS = [*((name, kind) for name in GRADIENT for kind in KINDS), ("text", "kept"), ("text", "words")]


def test_every_scorer_is_covered_here() -> None:
    named = {settings.get("model", name) for name, settings in GRADIENT.items()} | {"text"}
    looked_up = {"rules", "paths", "extreme_text", "lists"}  # their look-ups need values, not shapes
    covered = {"imported", "kg_bert"}  # what is imported is one of these; KG-BERT's network is that of its re-ranker
    assert named == set(RETRIEVERS) - looked_up - covered


def meanings(things: int, seed: int) -> torch.Tensor:
    """Unit vectors that stand for what an encoder would say of texts."""
    drawn = torch.randn(things, MEANING, generator=torch.Generator().manual_seed(seed))
    return torch.nn.functional.normalize(drawn, dim=-1)


def task_of(name: str, kind: str, kb: KnowledgeBase, context: Context, **settings: Any) -> QueryTask:
    """A training of a fresh scorer, on the device of the context."""
    if name == "text":
        return text_task(kind, kb, context)
    values: dict[str, Any] = (
        {"model": name, "rank": 4, "batch": 20, "loss": {"negatives": 9}} | GRADIENT[name] | settings
    )
    embedding: dict[str, Any] = {"kind": kind, "scale": 0.5} | ({"dropout": 0} if kind == "lstm" else {})
    config = RETRIEVERS[values["model"]].model_validate(values | {"embedding": embedding})
    assert isinstance(config, GradientConfig)
    texts = TextEmbeddings(meanings(kb.n_entities, 0), meanings(kb.n_relations, 1), scale=0.5, seed=0)
    scorer = config.scorer(texts if kind == "text" else config.embedding.build(kb, context))
    return Stage1Task(scorer.to(context.device), kb, config, lambda _: 0.0, context)


def text_task(kind: str, kb: KnowledgeBase, context: Context) -> TextTask:
    config = TextConfig(hidden=8, words=8 if kind == "words" else 0, negatives=5, dropout=0)
    pieces = Pieces.of(kb.entities, words=8) if config.words else None
    entities, relations = meanings(kb.n_entities, 0), meanings(kb.n_relations, 1)
    scorer = TextScorer(KeptVectors(entities), kb.n_entities, relations, config, pieces=pieces).to(context.device)
    near = np.arange(kb.n_entities)[:, None]
    return TextTask(scorer, kb, config, lambda _: 0.0, context, near=near, batch=20, epochs=2)


def take_steps(task: QueryTask, steps: int) -> Iterator[torch.Tensor]:
    """The loss of each of the first steps, which are taken."""
    for parts, _ in zip(task.steps(0, first=0, parts=2), range(steps), strict=False):
        task.optimizer.zero_grad()
        losses = [part() for part in parts]
        for loss in losses:
            loss.backward()  # type: ignore[no-untyped-call]
        task.optimizer.step()
        yield torch.stack([loss.detach() for loss in losses]).sum()


def scores_of(scorer: Scorer, queries: Queries, among: Any = None) -> torch.Tensor:
    with torch.inference_mode():
        return scorer.eval().score_all(queries, among)


class TestOneDevice:
    """A step of training and both ways to score touch one device, and look at no value."""

    @pytest.mark.parametrize(("name", "kind"), VARIANTS)
    def test_a_training_step(self, name: str, kind: str, towns: KnowledgeBase, one_device: OneDevice) -> None:
        task = task_of(name, kind, towns, Context(device="meta"))
        with one_device():
            losses = list(take_steps(task, 2))
        assert [loss.device.type for loss in losses] == ["meta", "meta"]
        assert all(weight.grad is not None for weight in task.model.parameters() if weight.requires_grad)

    @pytest.mark.parametrize("negatives", [None, 9])
    @pytest.mark.parametrize(
        "loss", [*({"kind": kind} for kind in LOSSES), {"kind": "self_adversarial", "subsampling": True}], ids=str
    )
    def test_every_loss(
        self, loss: dict[str, Any], negatives: int | None, towns: KnowledgeBase, one_device: OneDevice
    ) -> None:
        settings = {"loss": loss | {"negatives": negatives}}
        task = task_of("complex", "rows", towns, Context(device="meta"), **settings)
        with one_device():
            assert len(list(take_steps(task, 1))) == 1

    @pytest.mark.parametrize("kind", ["adagrad", "adam", "lazy_adam"])
    def test_every_optimizer(self, kind: Any, one_device: OneDevice) -> None:
        layer = torch.nn.Linear(3, 2, device="meta")  # `meta` has no sparse gradients, which lazy_adam takes as well
        optimizer = build_optimizer(layer, OptimizerConfig(kind=kind))
        with one_device():
            for _ in range(2):
                optimizer.zero_grad()
                layer(torch.zeros(4, 3, device="meta")).sum().backward()
                optimizer.step()
        slots = optimizer.state[layer.weight]
        assert {value.device.type for name, value in slots.items() if name != "step"} == {"meta"}

    @pytest.mark.parametrize(("name", "kind"), VARIANTS)
    def test_scores(self, name: str, kind: str, towns: KnowledgeBase, one_device: OneDevice) -> None:
        scorer, queries = task_of(name, kind, towns, Context(device="meta")).model, towns.queries("test")
        with one_device():
            every = scores_of(scorer, queries)
            some = scores_of(scorer, queries, np.array([3, 5]))
            with torch.inference_mode():
                few = scorer.score_candidates(queries, np.zeros((len(queries), 4), np.int64))
        assert [found.device.type for found in (every, some, few)] == ["meta"] * 3
        assert [found.shape[1] for found in (every, some, few)] == [towns.n_entities, 2, 4]

    def test_the_mode_refuses_what_an_accelerator_would(self, one_device: OneDevice) -> None:
        here, there = torch.zeros(3), torch.zeros(3, device="meta")
        with one_device():
            assert (there * torch.tensor(2.0) + here.to("meta")).device.type == "meta"
            with pytest.raises(AssertionError, match=r"\(3,\) on cpu"):
                there.index_add_(0, torch.arange(3), there)
            with pytest.raises(AssertionError, match=r"\(3,\) on cpu"):
                there + here


class TestPrecision:
    """In bf16 products are coarser: losses and scores are near those of fp32."""

    @pytest.mark.parametrize(("name", "kind"), VARIANTS)
    def test_losses_and_scores_are_near(self, name: str, kind: str, towns: KnowledgeBase) -> None:
        exact, coarse = (task_of(name, kind, towns, Context(precision=precision)) for precision in ("fp32", "bf16"))
        found = [[float(loss) for loss in take_steps(task, 4)] for task in (exact, coarse)]
        assert found[1] == pytest.approx(found[0], rel=0.05)
        no_product = kind == "rows" or (kind == "lstm" and not has_bf16("cpu"))  # then names are read in fp32
        assert (found[1] == found[0]) == ("norm 1" in name and no_product), "where there is no matrix product"
        queries = towns.queries("test")
        scores = scores_of(exact.model, queries)
        with computing("cpu", "bf16"):
            rough = scores_of(exact.model, queries).float()
        spread = float(scores.std())
        assert float((rough - scores).abs().max()) < 0.1 * max(spread, 1e-3)

    def test_weights_stay_in_float32(self, towns: KnowledgeBase) -> None:
        task = task_of("complex", "rows", towns, Context(precision="bf16"))
        list(take_steps(task, 1))
        assert {weight.dtype for weight in task.model.parameters()} == {torch.float32}
