"""Lists of entities, a row each: how they are put together, and who is in them."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cear.core.counting import starts_run
from cear.core.types import NO_ENTITY, Ints, Ragged

tables = st.lists(st.lists(st.integers(0, 99), max_size=6), max_size=6)


def plain(table: Ragged) -> list[list[int]]:
    return [table.row(i).tolist() for i in range(len(table))]


class TestMaking:
    def test_on_paper(self) -> None:
        table = Ragged.of([[1, 2, 3], [], [4]])
        assert (table.offsets.tolist(), table.values.tolist()) == ([0, 3, 3, 4], [1, 2, 3, 4])

    @given(tables)
    def test_rows_come_back(self, rows: list[list[int]]) -> None:
        assert plain(Ragged.of(rows)) == rows

    def test_empty_rows(self) -> None:
        assert plain(Ragged.empty(3)) == [[], [], []]
        assert plain(Ragged.empty(0)) == []

    @given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 99)), max_size=20))
    def test_grouped_keeps_the_order_in_which_values_come(self, pairs: list[tuple[int, int]]) -> None:
        row, value = np.array(pairs, np.int64).reshape(-1, 2).T
        assert plain(Ragged.grouped(row, value, 6)) == [[v for r, v in pairs if r == i] for i in range(6)]

    @given(st.lists(tables, max_size=3))
    def test_concat_is_one_table_after_the_other(self, parts: list[list[list[int]]]) -> None:
        assert plain(Ragged.concat([Ragged.of(rows) for rows in parts])) == [row for rows in parts for row in rows]

    def test_all_are_64_bit_integers_even_where_there_is_nothing(self) -> None:
        none = np.zeros(0, np.int64)
        for table in (Ragged.of([]), Ragged.empty(2), Ragged.grouped(none, none, 2), Ragged.concat([])):
            assert table.offsets.dtype == table.values.dtype == np.int64


@st.composite
def rows_with_answers(draw: st.DrawFn) -> tuple[Ints, list[list[int]]]:
    n, k = draw(st.integers(1, 5)), draw(st.integers(1, 6))
    entity = st.integers(NO_ENTITY, 8)
    entities = draw(st.lists(st.lists(entity, min_size=k, max_size=k), min_size=n, max_size=n))
    answers = draw(st.lists(st.lists(st.integers(0, 8), max_size=5), min_size=n, max_size=n))
    return np.array(entities), answers


@given(rows_with_answers())
def test_contains_looks_in_the_same_row_and_never_finds_a_pad(case: tuple[Ints, list[list[int]]]) -> None:
    entities, answers = case
    expected = [[e != NO_ENTITY and e in row for e in line] for line, row in zip(entities, answers, strict=True)]
    assert Ragged.of(answers).contains(entities).tolist() == expected


@given(st.lists(st.integers(0, 2)))
def test_a_run_starts_where_a_value_differs_from_the_one_before(values: list[int]) -> None:
    expected = [i == 0 or value != values[i - 1] for i, value in enumerate(values)]
    assert starts_run(np.array(values, np.int64)).tolist() == expected
