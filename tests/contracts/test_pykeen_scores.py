"""Outside truth: on the same weights, PyKEEN gives the same scores."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from pykeen.nn.modules import (
    ComplExInteraction,
    ConvEInteraction,
    DistMultInteraction,
    RotatEInteraction,
    TransEInteraction,
)
from pykeen.utils import negative_norm

from cear.core.types import Ints
from cear.retrieval import ComplEx, ConvE, ConvEConfig, Distance, DistMult, RotatE, RowsEmbeddings, TransE

N_ENTITIES, N_RELATIONS, RANK = 40, 5, 16


@pytest.fixture
def facts() -> Ints:
    rng = np.random.default_rng(5)
    s, o = rng.integers(N_ENTITIES, size=(2, 300))
    return np.stack([s, rng.integers(2 * N_RELATIONS, size=300), o], axis=1)


def rows() -> RowsEmbeddings:
    return RowsEmbeddings(N_ENTITIES, N_RELATIONS, scale=0.8, seed=2)


def distance(norm: int, *, complex_pairs: bool) -> Distance:
    return Distance(norm, squared=False, complex_pairs=complex_pairs)


def as_complex(x: torch.Tensor) -> torch.Tensor:
    real, imaginary = x.chunk(2, -1)
    return torch.complex(real, imaginary)


def assert_same(scores: torch.Tensor, reference: torch.Tensor) -> None:
    torch.testing.assert_close(scores, reference.reshape(-1), atol=1e-5, rtol=1e-5)


def test_distmult(facts: Ints) -> None:
    scorer = DistMult(rows(), RANK)
    s, r, o = facts.T
    reference = DistMultInteraction()(scorer.entity(s), scorer.relation(r), scorer.entity(o))
    assert_same(scorer.score(facts), reference)


def test_complex(facts: Ints) -> None:
    scorer = ComplEx(rows(), RANK)
    s, r, o = facts.T
    embedded = (as_complex(scorer.entity(s)), as_complex(scorer.relation(r)), as_complex(scorer.entity(o)))
    assert_same(scorer.score(facts), ComplExInteraction()(*embedded))


@pytest.mark.parametrize("norm", [1, 2])
def test_transe(facts: Ints, norm: int) -> None:
    scorer = TransE(rows(), RANK, distance(norm, complex_pairs=False))
    s, r, o = facts.T
    reference = TransEInteraction(p=norm)(scorer.entity(s), scorer.relation(r), scorer.entity(o))
    assert_same(scorer.score(facts), reference)


def test_rotate(facts: Ints) -> None:
    scorer = RotatE(rows(), RANK, distance(2, complex_pairs=True))
    assert_same(scorer.score(facts), RotatEInteraction()(*rotate_parts(scorer, facts)))


def test_rotate_with_the_sum_of_moduli(facts: Ints) -> None:
    # PyKEEN's RotatE ignores its own p, so we take its norm, and the sum of moduli of the original code.
    scorer = RotatE(rows(), RANK, distance(1, complex_pairs=True))
    s, rotation, o = rotate_parts(scorer, facts)
    assert_same(scorer.score(facts), negative_norm(s * rotation - o, p=1))


def rotate_parts(scorer: RotatE, facts: Ints) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    s, r, o = facts.T
    phase = scorer.phase(r)
    rotation = torch.polar(torch.ones_like(phase), phase)
    return as_complex(scorer.entity(s)), rotation, as_complex(scorer.entity(o))


def test_conve(facts: Ints) -> None:
    config = ConvEConfig(rank=RANK, image_width=8, channels=5, kernel=2)
    scorer = ConvE(rows(), config).eval()
    theirs = ConvEInteraction(
        embedding_dim=RANK, input_channels=1, embedding_width=8, output_channels=5, kernel_width=2
    ).eval()
    with torch.no_grad():
        for weight in scorer.parameters():  # biases and scales that start at 0 and 1 would hide a swap
            weight += 0.1 * torch.randn(weight.shape, generator=torch.Generator().manual_seed(4))
        theirs.hr2d.load_state_dict(scorer.convolution.state_dict())
        theirs.hr1d.load_state_dict(scorer.projection.state_dict())
    s, r, o = facts.T
    reference = theirs(scorer.entity(s), scorer.relation(r), (scorer.entity(o), scorer.bias[torch.from_numpy(o)]))
    assert_same(scorer.score(facts), reference)
