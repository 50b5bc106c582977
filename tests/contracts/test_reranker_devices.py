"""Re-rankers where there is no CPU to fall back on: a step of training and a score on the meta device, and bfloat16.

Tensors of the meta device have shapes and no values, so that waiting for one fails; `one_device` refuses operations
whose tensors stand on two devices.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from cear.candidates import Lists, Manifest, Retrievers, make_lists
from cear.core.context import Context
from cear.core.types import NO_ENTITY, Candidates, Ragged
from cear.data import KnowledgeBase
from cear.reranking import RERANKERS, Examples, RerankerConfig, Stage2Task, Trainable, Upstream
from cear.reranking.wide.shared import SharedOnDevice
from cear.retrieval import ComplExConfig, RowsConfig, RuleRetriever, RuleSettings, learn_rules
from cear.texts import load_encoder

SMALL: dict[str, dict[str, Any]] = {
    "sequence": {"hidden": 8, "text": "name"},
    "wide": {"width": 8, "heads": 2},
    "kg_bert": {"form_tokens": 8},
    "cross_encoder": {"form_tokens": 8},
}
END_TO_END = {"layers": None, "candidates": 2}
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "sequence": ("sequence", {}),
    "sequence, independent": ("sequence", {"attention": "independent"}),
    "sequence, scores, shuffled": ("sequence", {"features": "scores", "order": "shuffled", "loss": "softmax"}),
    "wide": ("wide", {}),
    "wide, independent": ("wide", {"attention": "independent", "loss": "bce"}),
    "wide, no text": ("wide", {"text": False}),
    "wide, vectors": ("wide", {"vectors": True}),
    "wide, vectors, no text": ("wide", {"vectors": True, "text": False}),
    "wide, end to end": ("wide", {"vectors": True, "end_to_end": END_TO_END}),
    "kg_bert": ("kg_bert", {}),
    "cross_encoder": ("cross_encoder", {}),
}
META = Context(device="meta")


def test_every_kind_is_covered_here() -> None:
    assert {kind for kind, _ in VARIANTS.values()} == {*RERANKERS} == {*SMALL}


class LookUp(nn.Module):
    """An encoder whose state of a token is a vector of that token; those of transformers look at their masks."""

    config = SimpleNamespace(hidden_size=32, max_position_embeddings=64)

    def __init__(self) -> None:
        super().__init__()
        self.vectors = nn.Embedding(100, 32)

    def forward(self, input_ids: Tensor, attention_mask: Tensor, **_: Tensor) -> SimpleNamespace:
        return SimpleNamespace(last_hidden_state=self.vectors(input_ids) * attention_mask.unsqueeze(-1))


class LookUpClassifier(LookUp):
    """A classifier that sums up what an encoder looks up."""

    @property
    def base_model(self) -> LookUp:
        return self

    def forward(self, input_ids: Tensor, attention_mask: Tensor, **_: Tensor) -> SimpleNamespace:
        states = super().forward(input_ids, attention_mask).last_hidden_state
        return SimpleNamespace(logits=states.sum((1, 2)).unsqueeze(-1))


@pytest.fixture
def looking_up(encoder_of: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Every encoder is one that runs on the meta device; vectors of texts are read elsewhere, and drawn here."""
    _, tokenizer = load_encoder(encoder_of())
    for place in ("reranking.sequence.reranker", "retrieval.kg_bert.reader", "texts.tuned"):
        monkeypatch.setattr(f"cear.{place}.load_encoder", lambda *_, **__: (LookUp(), tokenizer))
    place = "cear.reranking.cross_encoder.reranker.load_cross_encoder"
    monkeypatch.setattr(place, lambda *_, **__: (LookUpClassifier(), tokenizer))
    monkeypatch.setattr(
        "cear.reranking.wide.reranker.text_vectors", lambda *_, **__: (torch.randn(30, 32), torch.randn(3, 32))
    )


@pytest.fixture(scope="module")
def lists(towns: KnowledgeBase) -> Lists:
    """Six candidates for each training query, with rules beside Stage 1."""
    stage1 = ComplExConfig(rank=4, embedding=RowsConfig(scale=0.5)).build(towns, Context(seed=5))
    rules = RuleRetriever(learn_rules(towns.facts("train"), 30, 3, RuleSettings()))
    manifest = Manifest("towns", towns.digest, "train", 6, "keep", "random")
    return make_lists(Retrievers(towns, stage1, {"rules": rules}), towns.known("train").queries, manifest)


def padded(lists: Lists) -> Lists:
    """Every second list loses its last two candidates."""
    entities, scores, extra = (a.copy() for a in (lists.candidates.entities, lists.candidates.scores, lists.extra))
    entities[::2, -2:], scores[::2, -2:], extra[::2, -2:] = NO_ENTITY, -np.inf, -np.inf
    return Lists(lists.queries, Candidates(entities, scores), lists.manifest, extra)


@pytest.fixture(params=VARIANTS.values(), ids=[*VARIANTS])
def config(
    request: pytest.FixtureRequest, encoder_of: Callable[..., str], cross_encoder_of: Callable[..., str]
) -> RerankerConfig:
    kind, settings = request.param
    encoder = cross_encoder_of() if kind == "cross_encoder" else encoder_of()
    return RERANKERS[kind].model_validate(SMALL[kind] | {"encoder": encoder} | settings)


def build(config: RerankerConfig, kb: KnowledgeBase, context: Context) -> list[Trainable]:
    """The re-ranker of each phase of its training, as it is when the phase begins."""
    stage1 = ComplExConfig(rank=4).build(kb, context)
    fresh = config.build(Upstream(kb, ["rules"], stage1), context)
    return [phase.open(fresh) for phase in fresh.phases()]


@pytest.mark.usefixtures("looking_up")
@pytest.mark.parametrize("pads", [False, True], ids=["whole lists", "padded lists"])
class TestOnADevice:
    def test_a_step_of_training_stays_there(
        self,
        config: RerankerConfig,
        lists: Lists,
        towns: KnowledgeBase,
        one_device: Callable[[], AbstractContextManager[Any]],
        pads: bool,
    ) -> None:
        some = padded(lists) if pads else lists
        examples = Examples.of(some, config.features_of(some, towns), towns)
        for reranker in build(config, towns, META):
            with one_device():
                reranker.fit_normalizer(examples.features)
                task = Stage2Task(reranker, examples, lambda _: 0.0, META)
                for part in next(task.steps(0, first=0, parts=2)):
                    part().backward()  # type: ignore[no-untyped-call]
                task.optimizer.step()
                reranker.refresh_cache()
            weights = [weight for weight in reranker.model.parameters() if weight.requires_grad]
            assert {weight.device.type for weight in reranker.model.state_dict().values()} == {"meta"}
            assert all(weight.grad is not None and weight.grad.device.type == "meta" for weight in weights)

    def test_scores_are_there(
        self,
        config: RerankerConfig,
        lists: Lists,
        towns: KnowledgeBase,
        one_device: Callable[[], AbstractContextManager[Any]],
        pads: bool,
    ) -> None:
        some = padded(lists) if pads else lists
        features = config.features_of(some, towns)
        for reranker in build(config, towns, META):
            with one_device(), torch.inference_mode():
                scores = reranker.score(some, features)
            assert (scores.shape, scores.device.type) == ((len(some), 6), "meta")


def test_shared_neighbours_are_counted_there(
    one_device: Callable[[], AbstractContextManager[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    brought: list[str] = []

    def array(values: Tensor) -> Any:
        brought.append(values.device.type)
        return np.zeros(values.shape)

    monkeypatch.setattr("cear.reranking.wide.shared.array", array)
    near = Ragged.of([[1, 2], [0], [0], []])
    with one_device():
        found = SharedOnDevice(near, "meta")(np.array([0, 3]), np.array([[1, 2, 3], [0, 1, 2]]))
    assert found.shape == (3, 2, 3)
    assert set(brought) == {"meta"}, "nothing but the counts comes back"


@pytest.mark.usefixtures("own_cache")
class TestInBfloat16:
    """Products in bfloat16 have 8 bits: everything else is as it was."""

    def reranker(self, config: RerankerConfig, kb: KnowledgeBase, context: Context) -> Trainable:
        reranker = build(config, kb, context)[0]
        generator = torch.Generator().manual_seed(3)
        with torch.no_grad():
            for weight in reranker.model.parameters():
                weight += 0.1 * torch.randn(weight.shape, generator=generator)
        return reranker

    def test_scores_are_nearly_those_of_float32(
        self, config: RerankerConfig, lists: Lists, towns: KnowledgeBase
    ) -> None:
        some = padded(lists)
        exact, rough = (
            self.reranker(config, towns, Context(precision=precision)).rerank(some)
            for precision in ("fp32", "bf16")  # type: ignore[arg-type]
        )
        real = some.candidates.entities != NO_ENTITY
        assert rough.dtype == exact.dtype
        assert np.array_equal(np.isfinite(rough), real)
        assert not np.array_equal(exact, rough)
        spread = np.ptp(exact[real])
        np.testing.assert_allclose(rough[real], exact[real], atol=0.05 * spread)

    def test_a_loss_is_nearly_that_of_float32_and_gradients_are_float32(
        self, config: RerankerConfig, lists: Lists, towns: KnowledgeBase
    ) -> None:
        config = config.model_copy(update={"dropout": 0.0})
        examples = Examples.of(padded(lists), config.features_of(padded(lists), towns), towns)
        found = []
        for context in (Context(), replace(Context(), precision="bf16")):
            reranker = self.reranker(config, towns, context)
            (part,) = next(Stage2Task(reranker, examples, lambda _: 0.0, context).steps(0, first=0, parts=1))
            loss = part()
            loss.backward()  # type: ignore[no-untyped-call]
            found.append(loss.item())
            kinds = {weight.grad.dtype for weight in reranker.model.parameters() if weight.grad is not None}
            assert {loss.dtype, *kinds} == {torch.float32}
        assert found[1] == pytest.approx(found[0], rel=0.03)
        assert found[0] != found[1]
