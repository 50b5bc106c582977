"""Label trees in parts: subtrees searched apart give the lists of the whole tree, ties and all."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cear.candidates import Retrievers
from cear.completion import asked
from cear.core.errors import ConfigError
from cear.core.types import SIDES, Candidates
from cear.data import KnowledgeBase
from cear.ranking import Ranker
from cear.retrieval import (
    ExtremeText,
    SideInParts,
    SidePart,
    TreeSettings,
    closed_nodes,
    map_side,
    side_file,
    train_extreme_text,
)
from cear.retrieval.extreme_text.huffman import huffman_tree


@pytest.fixture(scope="module")
def folder(towns: KnowledgeBase, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Trees that have learned a few facts: labels that are no answer tie with each other."""
    place, few = tmp_path_factory.mktemp("trees"), towns.with_facts({"train": towns.facts("train")[:8]})
    train_extreme_text(few, TreeSettings(dim=8, epochs=1, buckets=100, pair_bits=0), place)
    return place


def in_parts(folder: Path, n: int) -> ExtremeText:
    def side(path: Path) -> SideInParts:
        model = map_side(path)
        numbers = range(len(closed_nodes(model.tree, n)))
        return SideInParts(model, [SidePart.mapped(path, number, n) for number in numbers])

    return ExtremeText(tail=side(side_file(folder, "tail")), head=side(side_file(folder, "head")))


def assert_same(one: Candidates, other: Candidates) -> None:
    assert np.array_equal(one.entities, other.entities)
    assert one.scores.tobytes() == other.scores.tobytes()


@pytest.mark.parametrize("n_parts", [1, 2, 3, 7])
@pytest.mark.parametrize("dropping", [False, True])
def test_it_is_the_search_of_one_tree_to_the_last_bit(
    folder: Path, towns: KnowledgeBase, n_parts: int, dropping: bool
) -> None:
    queries, drop = towns.known("train").queries, towns.known("train") if dropping else None
    one = ExtremeText.load(folder)
    several = in_parts(folder, n_parts)
    for k in (1, 10, towns.n_entities):
        assert_same(one.top_k(queries, k, drop=drop), several.top_k(queries, k, drop=drop))


def test_there_are_ties_to_be_broken(folder: Path, towns: KnowledgeBase) -> None:
    scores = ExtremeText.load(folder).top_k(towns.known("train").queries, towns.n_entities).scores
    assert (scores[:, 1:] == scores[:, :-1]).any()


def test_a_completion_that_streams_through_parts_is_the_same(folder: Path, towns: KnowledgeBase) -> None:
    queries = towns.known("train").queries
    one, several = (Ranker(Retrievers(towns, each), k=8) for each in (ExtremeText.load(folder), in_parts(folder, 3)))
    first, second = asked(one, queries, 5), asked(several, queries, 5)
    assert np.array_equal(first.answer, second.answer)
    assert first.features.tobytes() == second.features.tobytes()


@pytest.mark.parametrize("arity", [2, 3])
@pytest.mark.parametrize("n_parts", [1, 2, 5])
def test_every_label_is_in_one_part(arity: int, n_parts: int) -> None:
    tree = huffman_tree(np.random.default_rng(0).integers(0, 50, 400), arity=arity)
    reached = np.zeros(len(tree.parent), np.int64)
    sizes = []
    for closed in closed_nodes(tree, n_parts):
        shut = np.zeros(len(tree.parent), bool)
        shut[: len(closed)] = closed
        for node in range(1, len(tree.parent)):  # a parent comes before its children
            shut[node] |= shut[tree.parent[node]]
        reached += ~shut
        sizes.append(int((~shut)[tree.leaf].sum()))
    assert (reached[tree.leaf] == 1).all()
    assert max(sizes) - min(sizes) <= 100


def test_a_tree_of_few_labels_has_fewer_parts() -> None:
    assert len(closed_nodes(huffman_tree(np.array([3, 1, 2])), 10)) == 3
    assert len(closed_nodes(huffman_tree(np.array([3, 1])), 1)) == 1


def test_a_part_that_is_not_there_is_refused(folder: Path) -> None:
    with pytest.raises(ConfigError, match="has no part 99"):
        SidePart.mapped(side_file(folder, SIDES[0]), 99, 2)
