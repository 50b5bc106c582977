"""Lists on disk: they come back as they were, belong to one knowledge base, and a bad file says what is bad."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from cear.candidates import Lists, Manifest, read_lists, write_lists
from cear.core.errors import DataError, MismatchError
from cear.core.types import NO_ENTITY, Candidates, Queries
from cear.data import KnowledgeBase, Vocabulary


@pytest.fixture
def lists(towns: KnowledgeBase) -> Lists:
    entities = np.array([[4, 0, 29], [7, NO_ENTITY, NO_ENTITY], [NO_ENTITY] * 3])
    scores = np.array([[1.5, 1.5, -2.0], [0.1, -np.inf, -np.inf], [-np.inf] * 3], np.float32)
    manifest = Manifest("towns", towns.digest, "train", 3, "drop", "mine")
    return Lists(Queries(np.array([1, 29, 0]), np.array([0, 5, 2])), Candidates(entities, scores), manifest)


def test_they_come_back_as_they_were(lists: Lists, towns: KnowledgeBase, tmp_path: Path) -> None:
    write_lists(tmp_path / "lists.parquet", lists)
    again = read_lists(tmp_path / "lists.parquet", towns)
    assert again.manifest == lists.manifest
    for mine, its in [(lists.queries, again.queries), (lists.candidates, again.candidates)]:
        for name in mine.__slots__:
            assert np.array_equal(getattr(mine, name), getattr(its, name)), name
            assert getattr(its, name).flags.writeable, "PyTorch warns of arrays that are not"
    assert again.candidates.entities.dtype == again.queries.entity.dtype == np.int64
    assert [path.name for path in tmp_path.iterdir()] == ["lists.parquet"]


def with_extra(lists: Lists) -> Lists:
    """The same lists with what two retrievers beside Stage 1 say."""
    extra = np.arange(18, dtype=np.float32).reshape(3, 3, 2)
    extra[lists.candidates.entities == NO_ENTITY] = -np.inf
    return Lists(lists.queries, lists.candidates, replace(lists.manifest, extra=["rules", "text"]), extra)


def test_extra_scores_come_back_candidate_by_candidate(lists: Lists, towns: KnowledgeBase, tmp_path: Path) -> None:
    for some in (with_extra(lists), with_extra(lists)[:0]):
        write_lists(tmp_path / "lists.parquet", some)
        again = read_lists(tmp_path / "lists.parquet", towns)
        assert again.manifest.extra == ["rules", "text"]
        assert np.array_equal(again.extra, some.extra)
        assert again.extra.flags.writeable


def test_no_lists_come_back_as_none(lists: Lists, towns: KnowledgeBase, tmp_path: Path) -> None:
    write_lists(tmp_path / "lists.parquet", lists[:0])
    again = read_lists(tmp_path / "lists.parquet", towns)
    assert (len(again), again.candidates.k, again.extra.shape) == (0, 3, (0, 3, 0))


class TestAnotherKnowledgeBase:
    def test_is_refused_with_both_names(self, lists: Lists, towns: KnowledgeBase, tmp_path: Path) -> None:
        write_lists(tmp_path / "lists.parquet", lists)
        splits: Any = {"train": towns.facts("train"), "valid": towns.facts("valid")}
        other = KnowledgeBase("villages", towns.entities, towns.relations, splits)
        with pytest.raises(MismatchError, match=r"made for 'towns'.*this is 'villages'.*Make them again"):
            read_lists(tmp_path / "lists.parquet", other)

    def test_is_one_with_other_names_too(self, lists: Lists, towns: KnowledgeBase, tmp_path: Path) -> None:
        write_lists(tmp_path / "lists.parquet", lists)
        ids = towns.entities.table["id"].to_list()
        renamed = Vocabulary.from_ids("entity", ids)
        other = KnowledgeBase("towns", renamed, towns.relations, {"train": towns.facts("train")})
        with pytest.raises(MismatchError):
            read_lists(tmp_path / "lists.parquet", other)


class TestFilesOfOthers:
    """Any model can fill a file; what it wrote is checked, never trusted."""

    @pytest.fixture
    def columns(self) -> dict[str, Any]:
        return {
            "entity": [3, 4],
            "relation": [0, 5],
            "candidates": [[1, 2], [29, -1]],
            "scores": [[2, 1], [1, -np.inf]],
        }

    @staticmethod
    def write(path: Path, columns: dict[str, Any], towns: KnowledgeBase, **manifest: Any) -> Path:
        said = asdict(Manifest("towns", towns.digest, "train", 2, "keep", "theirs")) | manifest
        pl.DataFrame(columns, strict=False).write_parquet(path, metadata={"cear": json.dumps(said)})
        return path

    def test_lists_of_any_integers_and_floats_are_welcome(
        self, columns: dict[str, Any], towns: KnowledgeBase, tmp_path: Path
    ) -> None:
        read = read_lists(self.write(tmp_path / "theirs.parquet", columns, towns), towns)
        assert read.candidates.entities.tolist() == [[1, 2], [29, -1]]
        assert read.candidates.scores.tolist() == [[2.0, 1.0], [1.0, -np.inf]]

    @pytest.mark.parametrize(
        ("wrong", "message"),
        [
            ({"entity": [3, 30]}, "list 1 asks about an unknown entity or relation"),
            ({"relation": [6, 0]}, "list 0 asks about an unknown entity or relation"),
            ({"relation": [0, -1]}, "list 1 asks about an unknown entity or relation"),
            ({"candidates": [[1, 2], [30, -1]]}, "list 1 names an unknown entity"),
            ({"candidates": [[1, -2], [29, -1]]}, "list 0 names an unknown entity"),
            ({"candidates": [[2, 2], [29, -1]]}, "list 0 has an entity twice"),
            ({"scores": [[1, 2], [1, -np.inf]]}, "list 0 is not in rank order"),
            ({"scores": [[2, np.nan], [1, -np.inf]]}, "list 0 has a score that is not finite"),
            ({"scores": [[2, -np.inf], [1, -np.inf]]}, "list 0 has a score that is not finite"),
            ({"scores": [[2, 1], [1, 0]]}, "list 1 has .* a place without entity above -inf"),
            ({"candidates": [[1, 2, 3], [29, -1, -1]]}, "candidates with 2, scores with 2 values in each row"),
            ({"candidates": [["a", "b"], ["c", "d"]]}, "lists need the columns entity, relation, candidates, scores"),
        ],
    )
    def test_what_is_wrong_is_said(
        self, columns: dict[str, Any], towns: KnowledgeBase, tmp_path: Path, wrong: dict[str, Any], message: str
    ) -> None:
        path = self.write(tmp_path / "theirs.parquet", columns | wrong, towns)
        with pytest.raises(DataError, match=message) as caught:
            read_lists(path, towns)
        assert str(path) in str(caught.value)

    @pytest.mark.parametrize(
        ("wrong", "message"),
        [
            (None, "lists need the columns entity, relation, candidates, scores, extra_scores"),
            ([[1, 2], [3, -np.inf]], "extra_scores with 4"),
            ([["a"] * 4] * 2, "extra_scores with 4"),
            ([[1, 2, np.nan, 4], [5, 6, -np.inf, -np.inf]], "list 0 has an extra score that is not finite"),
            ([[1, 2, 3, 4], [5, -np.inf, -np.inf, -np.inf]], "list 1 has an extra score that is not finite"),
            ([[1, 2, 3, 4], [5, 6, 7, -np.inf]], "list 1 has .* a place without entity above -inf"),
        ],
    )
    def test_extra_scores_are_as_many_as_the_manifest_says_and_can_be_ranked(
        self, columns: dict[str, Any], towns: KnowledgeBase, tmp_path: Path, wrong: Any, message: str
    ) -> None:
        extra = {} if wrong is None else {"extra_scores": wrong}
        path = self.write(tmp_path / "theirs.parquet", columns | extra, towns, extra=["rules", "text"])
        with pytest.raises(DataError, match=message):
            read_lists(path, towns)

    def test_a_missing_column(self, columns: dict[str, Any], towns: KnowledgeBase, tmp_path: Path) -> None:
        del columns["scores"]
        with pytest.raises(DataError, match="lists need the columns"):
            read_lists(self.write(tmp_path / "theirs.parquet", columns, towns), towns)

    def test_a_manifest_with_another_key(self, columns: dict[str, Any], towns: KnowledgeBase, tmp_path: Path) -> None:
        with pytest.raises(DataError, match=r"The manifest of .* cannot be read: no field .* called colour"):
            read_lists(self.write(tmp_path / "theirs.parquet", columns, towns, colour="red"), towns)

    def test_no_manifest(self, columns: dict[str, Any], towns: KnowledgeBase, tmp_path: Path) -> None:
        pl.DataFrame(columns, strict=False).write_parquet(tmp_path / "theirs.parquet")
        with pytest.raises(DataError, match=r"has no manifest.*cear\.candidates\.write_lists"):
            read_lists(tmp_path / "theirs.parquet", towns)

    @pytest.mark.parametrize("content", [None, b"", b"a letter"])
    def test_no_parquet_file(self, towns: KnowledgeBase, tmp_path: Path, content: bytes | None) -> None:
        if content is not None:
            (tmp_path / "theirs.parquet").write_bytes(content)
        with pytest.raises(DataError, match=r"theirs\.parquet cannot be read"):
            read_lists(tmp_path / "theirs.parquet", towns)


def test_an_older_manifest_belongs_to_its_own_digest(lists: Lists, towns: KnowledgeBase, tmp_path: Path) -> None:
    stale = Lists(lists.queries, lists.candidates, replace(lists.manifest, digest="0" * 64))
    write_lists(tmp_path / "lists.parquet", stale)
    with pytest.raises(MismatchError, match="digest 000000000000"):
        read_lists(tmp_path / "lists.parquet", towns)
