"""Outside truth: on the same weights, PyKEEN gives the same scores."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from pykeen.nn.modules import ComplExInteraction, DistMultInteraction, RotatEInteraction, TransEInteraction
from pykeen.utils import negative_norm

from cear.retrieval import Scorer, Stage1Config, build_scorer

N_ENTITIES, N_RELATIONS, RANK = 40, 5, 16


@pytest.fixture
def facts() -> torch.Tensor:
    rng = np.random.default_rng(5)
    s, o = rng.integers(N_ENTITIES, size=(2, 300))
    return torch.from_numpy(np.stack([s, rng.integers(2 * N_RELATIONS, size=300), o], axis=1))


def ours(model: str, norm: int = 2) -> Scorer:
    config = Stage1Config.model_validate({"model": model, "norm": norm, "rank": RANK, "init_scale": 0.8})
    return build_scorer(config, N_ENTITIES, N_RELATIONS, seed=2)


def as_complex(x: torch.Tensor) -> torch.Tensor:
    real, imaginary = x.chunk(2, -1)
    return torch.complex(real, imaginary)


def assert_same(scores: torch.Tensor, reference: torch.Tensor) -> None:
    torch.testing.assert_close(scores, reference.reshape(-1), atol=1e-5, rtol=1e-5)


def test_distmult(facts: torch.Tensor) -> None:
    scorer = ours("distmult")
    s, r, o = facts.T
    reference = DistMultInteraction()(scorer.entity(s), scorer.relation(r), scorer.entity(o))
    assert_same(scorer.score(facts), reference)


def test_complex(facts: torch.Tensor) -> None:
    scorer = ours("complex")
    s, r, o = facts.T
    embedded = (as_complex(scorer.entity(s)), as_complex(scorer.relation(r)), as_complex(scorer.entity(o)))
    assert_same(scorer.score(facts), ComplExInteraction()(*embedded))


@pytest.mark.parametrize("norm", [1, 2])
def test_transe(facts: torch.Tensor, norm: int) -> None:
    scorer = ours("transe", norm)
    s, r, o = facts.T
    reference = TransEInteraction(p=norm)(scorer.entity(s), scorer.relation(r), scorer.entity(o))
    assert_same(scorer.score(facts), reference)


def test_rotate(facts: torch.Tensor) -> None:
    scorer = ours("rotate")
    assert_same(scorer.score(facts), RotatEInteraction()(*rotate_parts(scorer, facts)))


def test_rotate_with_the_sum_of_moduli(facts: torch.Tensor) -> None:
    # PyKEEN's RotatE ignores its own p, so we take its norm, and the sum of moduli of the original code.
    scorer = ours("rotate", norm=1)
    s, rotation, o = rotate_parts(scorer, facts)
    assert_same(scorer.score(facts), negative_norm(s * rotation - o, p=1))


def rotate_parts(scorer: Scorer, facts: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    s, r, o = facts.T
    rotation = torch.polar(torch.ones_like(scorer.phase), scorer.phase)[r]
    return as_complex(scorer.entity(s)), rotation, as_complex(scorer.entity(o))
