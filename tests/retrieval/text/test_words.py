"""Pieces of words: who has which, what they weigh, and vectors that add up."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from cear.core.types import Queries
from cear.data import Vocabulary
from cear.retrieval import TextConfig
from cear.retrieval.text.pieces import Pieces
from cear.retrieval.text.words import Directions, WordVectors

NAMES = ["position", "positional", "dog", "puppy", "?!"]
DESCRIPTIONS = ["a place", "of or in a position", None, "a young dog", "a mark"]


def vocabulary() -> Vocabulary:
    ids = [f"e{i}" for i in range(len(NAMES))]
    return Vocabulary.from_ids("entity", ids, names=NAMES, descriptions=DESCRIPTIONS)


def vectors_of(pieces: Pieces, n_relations: int, width: int) -> WordVectors:
    return WordVectors(pieces, n_relations, 3, TextConfig(words=width, hidden=4, dropout=0))


@pytest.fixture
def pieces() -> Pieces:
    return Pieces.of(vocabulary(), words=20)


class TestPieces:
    def test_a_name_and_a_word_derived_from_it_share_their_letters(self, pieces: Pieces) -> None:
        alike = (pieces.parts[0] @ pieces.parts[0].T).toarray()
        assert alike[0, 1] > 0.9, "all that position has and another text has, positional has"
        assert alike[0, 2] == alike[0, 3] == 0

    def test_a_definition_that_names_the_answer_shares_its_word(self, pieces: Pieces) -> None:
        named = (pieces.parts[1] @ pieces.parts[0].T).toarray()  # (whose definition, whose name)
        assert named[3].argmax() == 2
        assert named[1].argmax() == 0
        assert named[0].max() == 0

    def test_a_piece_that_one_text_alone_has_is_none(self) -> None:
        alone = Vocabulary.from_ids("entity", ["a", "b"], names=["dog", "cat"], descriptions=[None, None])
        assert Pieces.of(alone, words=5).count == 0

    def test_rare_pieces_weigh_more_and_rows_have_unit_length(self, pieces: Pieces) -> None:
        lengths = np.sqrt((pieces.parts[1] * pieces.parts[1]).sum(axis=1))
        assert lengths.tolist() == pytest.approx([1, 1, 0, 1, 1]), "what is not written has no length"
        of_puppy = pieces.parts[1][[3]]
        assert of_puppy.nnz == 2, "'a', which four have, and 'dog', which two have"
        a, dog = sorted(of_puppy.data)
        assert dog / a == pytest.approx(np.log(5 / 2) / np.log(5 / 4))

    def test_the_first_words_of_a_description_stand_apart(self) -> None:
        texts = ["a genus of palms found in China", "of China", "else"]
        long = Vocabulary.from_ids("entity", ["a", "b", "c"], names=["x", "y", "z"], descriptions=texts)
        _, whole, opening = Pieces.of(long, words=20).parts
        assert (whole[[0]].nnz, opening[[0]].nnz) == (4, 1), "of, and china with its two beginnings; of"

    def test_a_description_is_cut(self) -> None:
        assert Pieces.of(vocabulary(), words=2).parts[1][[3]].nnz == 1, "'a', and no more 'dog'"


class TestVectors:
    def test_untrained_they_say_who_shares_pieces(self, pieces: Pieces) -> None:
        vectors = vectors_of(pieces, 1, 4096)
        query = vectors.queries(Queries(np.array([3]), np.array([0])), torch.ones(1, 3))
        scores = (query @ vectors.entities(np.arange(5)).T)[0]
        assert scores[[0, 1, 2, 4]].argmax() == 2, "its definition names the dog"
        assert scores[3].item() == pytest.approx(WordVectors.start, rel=1e-4), "nobody is like oneself"

    def test_every_part_of_a_query_and_of_an_entity_learns(self, pieces: Pieces) -> None:
        vectors = vectors_of(pieces, 2, 8)
        torch.nn.init.ones_(vectors.correction[-1].weight)  # at zero, those before it learn nothing
        queries = Queries(np.array([0, 1, 3]), np.array([0, 1, 3]))
        scores = vectors.queries(queries, torch.ones(3, 3)) @ vectors.entities(np.array([1, 2, 4])).T
        scores.square().sum().backward()  # type: ignore[no-untyped-call]
        for name, weight in vectors.named_parameters():
            assert weight.grad is not None, name
            assert weight.grad.abs().sum() > 0, name

    def test_a_text_without_pieces_is_no_trouble(self, pieces: Pieces) -> None:
        vectors = vectors_of(pieces, 1, 8)
        name, description, opening = (part[[4]] * 0 for part in pieces.parts)
        nobody = vectors_of(Pieces((name, description, opening)), 1, 8)
        assert torch.equal(nobody.entities(np.array([0])), torch.zeros(1, 8))
        assert vectors.entities(np.array([4])).isfinite().all()


def test_a_relation_and_its_reciprocal_start_alike_and_may_part() -> None:
    numbers = Directions(torch.tensor([[1.0], [5.0]]), torch.tensor([[0.0], [2.0]]))
    assert numbers(torch.tensor([0, 1, 2, 3])).squeeze(-1).tolist() == [1, 7, 1, 3]
