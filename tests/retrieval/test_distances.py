"""Distances without the cube of queries x entities x width: the values and gradients of those with it."""

from __future__ import annotations

import os
import subprocess
import sys

import numba
import pytest
import torch
from torch import Tensor

from cear.retrieval import distances
from cear.retrieval.distances import Distance, plain_sum_of_moduli, sum_of_moduli

KINDS = ["euclidean", "real moduli", "complex moduli"]


def ours(kind: str, queries: Tensor, entities: Tensor) -> Tensor:
    norm = 2 if kind == "euclidean" else 1
    return Distance(norm, squared=False, complex_pairs=kind == "complex moduli").of_all(queries, entities)


def reference(kind: str, queries: Tensor, entities: Tensor) -> Tensor:
    """The definition, with (query, entity, width) in memory."""
    rest = queries[:, None] - entities[None]
    if kind == "euclidean":
        return rest.square().sum(-1).sqrt()
    if kind == "real moduli":
        return rest.abs().sum(-1)
    real, imaginary = rest.chunk(2, -1)
    return (real.square() + imaginary.square()).sqrt().sum(-1)


def points(rows: int, seed: int, width: int = 6) -> Tensor:
    return torch.randn(rows, width, generator=torch.Generator().manual_seed(seed))


def test_golden_cases() -> None:
    query, entity = torch.tensor([[3.0, 0.0, 4.0, 0.0]]), torch.zeros(1, 4)
    assert ours("euclidean", query, entity).item() == 5.0
    assert ours("real moduli", query, entity).item() == 7.0
    assert ours("complex moduli", query, entity).item() == 5.0, "|3 + 4i| + |0 + 0i|"


@pytest.mark.parametrize("kind", KINDS)
class TestEveryDistance:
    @pytest.mark.parametrize(("rows", "columns"), [(1, 1), (5, 9), (9, 5)])
    def test_values_are_those_of_the_definition(self, kind: str, rows: int, columns: int) -> None:
        queries, entities = points(rows, 0), points(columns, 1)
        torch.testing.assert_close(ours(kind, queries, entities), reference(kind, queries, entities))

    def test_gradients_are_those_of_autograd(self, kind: str) -> None:
        queries, entities = points(5, 2).requires_grad_(), points(9, 3).requires_grad_()
        weight = points(5, 4, width=9)
        found = torch.autograd.grad((ours(kind, queries, entities) * weight).sum(), (queries, entities))
        expected = torch.autograd.grad((reference(kind, queries, entities) * weight).sum(), (queries, entities))
        for mine, its in zip(found, expected, strict=True):
            torch.testing.assert_close(mine, its, atol=1e-5, rtol=1e-4)

    def test_points_that_coincide_have_distance_zero_and_finite_gradients(self, kind: str) -> None:
        queries = points(3, 5).requires_grad_()
        entities = queries.detach().clone().requires_grad_()
        distances = ours(kind, queries, entities)
        assert distances.diagonal().abs().max() < 2e-3  # |q|² + |e|² - 2 q·e loses half of the digits
        gradients = torch.autograd.grad(distances.sum(), (queries, entities))
        assert all(torch.isfinite(gradient).all() for gradient in gradients)

    def test_only_coinciding_points_pull_on_nobody(self, kind: str) -> None:
        queries = torch.zeros(2, 4, requires_grad=True)
        entities = torch.zeros(3, 4, requires_grad=True)
        gradients = torch.autograd.grad(ours(kind, queries, entities).sum(), (queries, entities))
        assert all((gradient == 0).all() for gradient in gradients)

    def test_transposed_and_strided_points_are_read_right(self, kind: str) -> None:
        queries, entities = points(6, 6, width=5).T, points(8, 7).repeat(1, 2)[:, ::2]
        assert not queries.is_contiguous()
        assert not entities.is_contiguous()
        torch.testing.assert_close(ours(kind, queries, entities), reference(kind, queries, entities))

    def test_the_result_is_the_same_to_the_last_bit_each_time(self, kind: str) -> None:
        queries, entities = points(20, 8).requires_grad_(), points(30, 9).requires_grad_()
        runs = []
        for _ in range(3):
            distances = ours(kind, queries, entities)
            runs.append([distances, *torch.autograd.grad(distances.square().sum(), (queries, entities))])
        for again in runs[1:]:
            assert all(torch.equal(a, b) for a, b in zip(runs[0], again, strict=True))


@pytest.mark.parametrize("complex_pairs", [False, True], ids=["real", "complex"])
class TestPlain:
    """What other devices compute is what the kernels compute."""

    @pytest.fixture(autouse=True, params=[1, 4, 10**9], ids=["a query a block", "some", "all"])
    def block(self, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(distances, "rows_within", lambda _: request.param)

    def test_forward_and_backward(self, complex_pairs: bool) -> None:
        weight, found = points(7, 4, width=11), []
        for compute in (sum_of_moduli, plain_sum_of_moduli):
            x, y = points(7, 2).requires_grad_(), points(11, 3).requires_grad_()
            computed = compute(x, y, complex_pairs=complex_pairs)
            found.append([computed, *torch.autograd.grad((computed * weight).sum(), (x, y))])
        for kernel, plain in zip(*found, strict=True):
            torch.testing.assert_close(plain, kernel, atol=1e-5, rtol=1e-5)

    def test_points_that_coincide_pull_on_nobody(self, complex_pairs: bool) -> None:
        x, y = torch.zeros(2, 4, requires_grad=True), torch.zeros(3, 4, requires_grad=True)
        computed = plain_sum_of_moduli(x, y, complex_pairs=complex_pairs)
        assert computed.abs().max() < 1e-9
        assert all((gradient == 0).all() for gradient in torch.autograd.grad(computed.sum(), (x, y)))


class TestThreads:
    """numba and PyTorch share OpenMP: whichever starts later would set the number of threads for both."""

    def test_a_kernel_uses_as_many_as_pytorch(self) -> None:
        before = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            ours("real moduli", points(2, 0), points(2, 1))
            assert numba.get_num_threads() == 1
            assert torch.get_num_threads() == 1
        finally:
            torch.set_num_threads(before)

    def test_the_first_kernel_of_a_process_leaves_pytorchs_number_alone(self) -> None:
        script = (
            "import torch; from cear.retrieval.distances import sum_of_moduli\n"
            "torch.set_num_threads(1); x = torch.ones(3, 4, requires_grad=True)\n"
            "sum_of_moduli(x, x, complex_pairs=True).sum().backward()\n"
            "raise SystemExit(torch.get_num_threads())"
        )
        environment = os.environ | {"NUMBA_NUM_THREADS": "2"}
        assert subprocess.run([sys.executable, "-c", script], env=environment, check=False).returncode == 1
