"""Surface forms: the tokens of names, and tables of rows that are cut, surrounded and put together."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cear.core.types import Ragged
from cear.data import KnowledgeBase, Vocabulary
from cear.texts import cut, load_encoder, surface_forms, surround

rows_of_tokens = st.lists(st.lists(st.integers(0, 99), max_size=6), max_size=6)


def plain(table: Ragged) -> list[list[int]]:
    return [table.row(i).tolist() for i in range(len(table))]


class TestTables:
    def test_on_paper(self) -> None:
        table = Ragged.of([[1, 2, 3], [], [4]])
        assert plain(cut(table, 2)) == [[1, 2], [], [4]]
        assert plain(surround(table, np.array([8]), np.array([9, 9]))) == [[8, 1, 2, 3, 9, 9], [8, 9, 9], [8, 4, 9, 9]]

    @given(rows_of_tokens, st.integers(0, 7))
    def test_cut_keeps_the_first_tokens_of_each_row(self, rows: list[list[int]], width: int) -> None:
        assert plain(cut(Ragged.of(rows), width)) == [row[:width] for row in rows]

    @given(rows_of_tokens, st.lists(st.integers(0, 9), max_size=2), st.lists(st.integers(0, 9), max_size=2))
    def test_surround_puts_every_row_between_two_pieces(
        self, rows: list[list[int]], before: list[int], after: list[int]
    ) -> None:
        woven = surround(Ragged.of(rows), np.array(before, np.int64), np.array(after, np.int64))
        assert plain(woven) == [before + row + after for row in rows]


class TestSurfaceForms:
    @pytest.fixture
    def kb(self) -> KnowledgeBase:
        names = ["Town 7", "Country A", "Köln ☃", "☃"]
        described = ["in country b", None, None, "town"]
        entities = Vocabulary.from_ids("entity", list("wxyz"), names=names, descriptions=described)  # type: ignore[arg-type]
        relations = Vocabulary.from_ids("relation", ["r"], names=["lies in country to road"])
        return KnowledgeBase("few", entities, relations, {"train": np.array([[0, 0, 1]])})

    def test_are_the_first_tokens_of_names(self, kb: KnowledgeBase, encoder_of: Callable[..., str]) -> None:
        _, tokenizer = load_encoder(encoder_of())
        forms = surface_forms(kb, tokenizer, width=3, text="name")
        words = [tokenizer.convert_ids_to_tokens(row) for row in plain(forms.entities)]
        assert words == [["town", "7"], ["country", "a"], ["[UNK]", "[UNK]"], ["[UNK]"]]
        relation = tokenizer.convert_ids_to_tokens(plain(forms.relations)[0])
        assert relation == ["lies", "in", "country"], "cut, and without special tokens"

    def test_are_the_same_in_blocks(
        self, kb: KnowledgeBase, encoder_of: Callable[..., str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        _, tokenizer = load_encoder(encoder_of())
        whole = surface_forms(kb, tokenizer, width=3, text="description")
        monkeypatch.setattr("cear.texts.surface.AT_A_TIME", 3)
        assert plain(surface_forms(kb, tokenizer, width=3, text="description").entities) == plain(whole.entities)

    def test_a_description_follows_its_name(self, kb: KnowledgeBase, encoder_of: Callable[..., str]) -> None:
        _, tokenizer = load_encoder(encoder_of())
        forms = surface_forms(kb, tokenizer, width=10, text="description")
        assert tokenizer.decode(forms.entities.row(0)) == "town 7 [UNK] in country b"

    def test_a_name_without_any_token_still_has_one(self, encoder_of: Callable[..., str]) -> None:
        entities = Vocabulary.from_ids("entity", ["a", "b"], names=["\u200b", "town"])  # a space of no width
        relations = Vocabulary.from_ids("relation", ["lies in"])
        kb = KnowledgeBase("blank", entities, relations, {})
        _, tokenizer = load_encoder(encoder_of())
        forms = surface_forms(kb, tokenizer, width=10, text="name")
        assert plain(forms.entities)[0] == [tokenizer.unk_token_id]
        assert (forms.entities.counts > 0).all()
