"""The sequence of a query and its candidates, token by token, and what happens when it would be too long."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from cear.core.errors import ConfigError
from cear.core.types import NO_ENTITY, Queries, Ragged
from cear.reranking.sequence.sequences import Assembler, SequenceBatch
from cear.texts import SpecialTokens, SurfaceForms

CLS, SEP, PAD, SPC, TAIL, HEAD = 101, 102, 0, 103, 104, 105
SPECIAL = SpecialTokens(start=CLS, separator=SEP, pad=PAD, space=SPC, ask_tail=TAIL, ask_head=HEAD)
ENTITIES = [[10], [20, 21], [30, 31, 32]]
RELATIONS = [[50, 51], [60]]


def assembler(*, width: int = 10, positions: int = 512, entities: list[list[int]] | None = None) -> Assembler:
    forms = SurfaceForms(Ragged.of(entities or ENTITIES), Ragged.of(RELATIONS))
    return Assembler(forms, SPECIAL, width=width, positions=positions)


def slots(batch: SequenceBatch) -> list[list[int]]:
    """The candidate of each token, -1 for those of no candidate."""
    whose = torch.full((batch.tokens.numel(),), -1)
    whose[batch.token] = batch.owner % batch.k
    return whose.view(batch.tokens.shape).tolist()


def queries(*pairs: tuple[int, int]) -> Queries:
    return Queries(np.array([e for e, _ in pairs]), np.array([r for _, r in pairs]))


class TestAssembling:
    def test_written_out(self) -> None:
        batch = assembler().assemble(queries((1, 0), (0, 2 + 1)), np.array([[2, 0], [1, NO_ENTITY]]))
        assert batch.tokens.tolist() == [
            [CLS, 20, 21, SPC, TAIL, 50, 51, SEP, 30, 31, 32, SEP, 10, SEP],
            [CLS, 10, SPC, HEAD, 60, SEP, 20, 21, SEP, PAD, PAD, PAD, PAD, PAD],
        ]
        assert slots(batch) == [
            [-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, -1, 1, -1],
            [-1, -1, -1, -1, -1, -1, 0, 0, -1, -1, -1, -1, -1, -1],
        ]
        assert batch.mask.tolist() == [[True] * 14, [True] * 9 + [False] * 5]
        assert batch.k == 2
        assert batch.owner.tolist() == [0, 0, 0, 1, 2, 2], "candidates are counted through all sequences"
        assert batch.counts.tolist() == [3, 1, 2, 1], "a padded place counts 1, so that nothing is divided by 0"

    def test_a_padded_place_takes_no_token_wherever_it_stands(self) -> None:
        batch = assembler().assemble(queries((0, 0)), np.array([[NO_ENTITY, 0, NO_ENTITY, 1]]))
        assert batch.tokens[0].tolist()[7:] == [10, SEP, 20, 21, SEP]
        assert slots(batch)[0][7:] == [1, -1, 3, 3, -1]

    def test_an_entity_that_asks_may_be_its_own_candidate(self) -> None:
        batch = assembler().assemble(queries((0, 1)), np.array([[0]]))
        assert batch.tokens[0].tolist() == [CLS, 10, SPC, TAIL, 60, SEP, 10, SEP]

    def test_lengths_are_those_of_the_sequences(self) -> None:
        asked, entities = queries((1, 0), (0, 3)), np.array([[2, 0], [1, NO_ENTITY]])
        assert assembler().lengths(asked, entities).tolist() == [14, 9]


class TestTooLong:
    """`[CLS] s [SPC] [TAIL] r [SEP]` and three candidates with a separator each: 14 + 3 at full width."""

    ASKED, LIST = queries((2, 0)), np.array([[0, 1, 2]])

    def test_forms_are_shortened_all_alike_until_the_list_fits(self) -> None:
        whole = assembler(width=3, positions=18).assemble(self.ASKED, self.LIST)
        assert whole.tokens[0].tolist() == [
            *(CLS, 30, 31, 32, SPC, TAIL, 50, 51, SEP),
            *(10, SEP, 20, 21, SEP, 30, 31, 32, SEP),
        ]
        shorter = assembler(width=3, positions=17).assemble(self.ASKED, self.LIST)
        assert shorter.tokens[0].tolist() == [
            *(CLS, 30, 31, SPC, TAIL, 50, 51, SEP),
            *(10, SEP, 20, 21, SEP, 30, 31, SEP),
        ]
        shortest = assembler(width=3, positions=15).assemble(self.ASKED, self.LIST)
        assert shortest.tokens[0].tolist() == [CLS, 30, SPC, TAIL, 50, SEP, 10, SEP, 20, SEP, 30, SEP]
        assert set(slots(shortest)[0]) == {-1, 0, 1, 2}, "no candidate is lost"

    def test_it_says_which_lists_are_shortened(self) -> None:
        asked, entities = queries((2, 0), (0, 1)), np.array([[0, 1, 2], [0, 0, 0]])
        assert assembler(width=3, positions=17).widths(asked, entities).tolist() == [2, 3]
        assert assembler(width=3, positions=18).widths(asked, entities).tolist() == [3, 3]

    def test_a_list_is_shortened_for_itself_not_for_its_neighbours(self) -> None:
        entities = np.array([[0, 1, 2], [0, 0, 0]])
        both = assembler(width=3, positions=17).assemble(queries((2, 0), (1, 0)), entities)
        alone = assembler(width=3, positions=17).assemble(queries((1, 0)), entities[1:])
        length = alone.tokens.shape[1]
        assert both.tokens[1, :length].tolist() == alone.tokens[0].tolist()
        assert not both.mask[1, length:].any()

    def test_never_below_k_candidates(self) -> None:
        with pytest.raises(ConfigError, match=r"3 candidates do not fit into 11 positions.*smaller candidates\.k"):
            assembler(width=3, positions=11).assemble(self.ASKED, self.LIST)
        assert assembler(width=3, positions=12).lengths(self.ASKED, self.LIST).tolist() == [12]

    @given(
        st.lists(st.lists(st.integers(200, 300), min_size=1, max_size=9), min_size=1, max_size=8),
        st.integers(1, 6),
        st.data(),
    )
    def test_whatever_the_names_every_candidate_is_there_and_the_sequence_fits(
        self, names: list[list[int]], k: int, data: st.DataObject
    ) -> None:
        positions = data.draw(st.integers(6 + 2 * k, 80))
        entity = st.integers(0, len(names) - 1)
        rows = data.draw(
            st.lists(
                st.tuples(entity, st.integers(0, 3), st.lists(entity, min_size=k, max_size=k)), min_size=1, max_size=4
            )
        )
        asked, entities = queries(*((e, r) for e, r, _ in rows)), np.array([row[2] for row in rows])
        made = assembler(width=9, positions=positions, entities=names)
        batch, widths, lengths = (f(asked, entities) for f in (made.assemble, made.widths, made.lengths))
        assert (lengths <= positions).all()
        assert batch.mask.sum(1).tolist() == lengths.tolist()
        whose = torch.tensor(slots(batch))
        for row, (_, _, found) in enumerate(rows):
            for slot, candidate in enumerate(found):
                tokens = batch.tokens[row][whose[row] == slot].tolist()
                assert tokens == names[candidate][: widths[row]]
