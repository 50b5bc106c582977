"""Sequences put together from pieces, and what is read of them in batches."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from cear.core.types import Ints, Ragged
from cear.texts import TokenBatch, read_in_batches

CPU = torch.device("cpu")


def test_pieces_stand_one_after_the_other_and_pads_are_masked() -> None:
    pieces = Ragged.of([[1, 2], [3], [4, 5], [6], [7, 8, 9], [10]])
    batch = TokenBatch.of(pieces, (0, 1, 0), pad=99, device=CPU)
    assert batch.tokens.tolist() == [[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]]
    assert batch.segments.tolist() == [[0, 0, 1, 0, 0], [0, 1, 1, 1, 0]]
    shorter = TokenBatch.of(Ragged.of([[1], [2], [3], [4, 5]]), (0, 1), pad=99, device=CPU)
    assert shorter.tokens.tolist() == [[1, 2, 99], [3, 4, 5]]
    assert shorter.mask.tolist() == [[1, 1, 0], [1, 1, 1]]


@given(st.lists(st.integers(1, 700), max_size=30))
def test_what_is_read_comes_back_in_the_order_of_the_sequences(lengths: list[int]) -> None:
    asked: list[Ints] = []

    def read(rows: Ints) -> torch.Tensor:
        asked.append(rows)
        return torch.from_numpy(rows * 2.0)

    found = read_in_batches(np.array(lengths, np.int64), read, device=CPU, precision="fp32")
    assert found.tolist() == [2.0 * i for i in range(len(lengths))]
    assert sorted(int(row) for rows in asked for row in rows) == [*range(len(lengths))]
