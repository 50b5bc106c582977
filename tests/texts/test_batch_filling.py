"""Batches by tokens: every list in exactly one, none too large, little padding."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cear.texts import pack_by_tokens, padding, shuffled_batches

lengths_of = st.lists(st.integers(1, 60), max_size=60).map(lambda values: np.array(values, np.int64))


class TestPackByTokens:
    def test_on_paper(self) -> None:
        lengths = np.array([5, 2, 9, 2, 4, 30])
        # Sorted 2 2 4 | 5 9 would be 18 … with 12 tokens: 3 × 4, then 5 and 9 apart, then one that is too long.
        assert [batch.tolist() for batch in pack_by_tokens(lengths, 12)] == [[1, 3, 4], [0], [2], [5]]

    @given(lengths_of, st.integers(1, 100))
    def test_every_row_is_in_exactly_one_batch_and_none_is_too_large(self, lengths: np.ndarray, most: int) -> None:
        batches = pack_by_tokens(lengths, most)
        assert sorted(row for batch in batches for row in batch.tolist()) == list(range(len(lengths)))
        for batch in batches:
            assert len(batch) == 1 or len(batch) * lengths[batch].max() <= most

    @given(lengths_of, st.integers(60, 100))
    def test_no_batch_could_take_the_first_row_of_the_next(self, lengths: np.ndarray, most: int) -> None:
        batches = pack_by_tokens(lengths, most)
        for batch, following in pairwise(batches):
            assert (len(batch) + 1) * lengths[following[0]] > most


class TestShuffledBatches:
    @given(lengths_of, st.integers(1, 100), st.integers(0, 3))
    def test_every_row_is_in_exactly_one_batch_and_none_is_too_large(
        self, lengths: np.ndarray, most: int, seed: int
    ) -> None:
        batches = shuffled_batches(lengths, most, np.random.default_rng(seed))
        assert sorted(row for batch in batches for row in batch.tolist()) == list(range(len(lengths)))
        for batch in batches:
            assert len(batch) == 1 or len(batch) * lengths[batch].max() <= most

    def test_another_draw_is_another_order(self) -> None:
        lengths = np.random.default_rng(0).integers(150, 500, 1000)
        first, again, other = (
            [batch.tolist() for batch in shuffled_batches(lengths, 5000, np.random.default_rng(seed))]
            for seed in (1, 1, 2)
        )
        assert first == again
        assert first != other
        assert [min(lengths[batch]) for batch in first] != sorted(min(lengths[batch]) for batch in first)


class TestPadding:
    def test_on_paper(self) -> None:
        assert padding(np.array([2, 4, 4]), [np.array([0, 1]), np.array([2])]) == pytest.approx(1 - 10 / 12)
        assert padding(np.zeros(0, np.int64), []) == 0.0

    @pytest.mark.parametrize("spread", [40, 120])
    def test_is_under_five_percent_for_lists_like_real_ones(self, spread: float) -> None:
        lengths = np.random.default_rng(0).normal(300, spread, 5000).clip(60, 512).astype(np.int64)
        assert padding(lengths, pack_by_tokens(lengths, 5000)) < 0.01
        assert padding(lengths, shuffled_batches(lengths, 5000, np.random.default_rng(1))) < 0.05
