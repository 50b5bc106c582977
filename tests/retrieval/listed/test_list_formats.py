"""Each format of lists: what is read of it, and what is refused, with file, line, value and what to do."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cear.candidates import Lists, Manifest, write_lists
from cear.core.errors import AmbiguousName, CearError, DataError, MismatchError, UnknownName
from cear.core.types import NO_ENTITY, Candidates, Queries
from cear.data import KnowledgeBase, Vocabulary
from cear.retrieval import Rankings, encoded_id, read_rankings

Read = Callable[..., Rankings]

TREC = """\
tail:t1:lies_in Q0 c1 1 2.5 mine
tail:t1:lies_in Q0 c0 2 0.5 mine
head:c1:lies_in Q0 t6 1 3e0 mine
"""
JSON = """\
{"subject": "t1", "relation": "lies_in", "candidates": [{"id": "c0", "score": 0.5}, {"id": "c1", "score": 2.5}]}
{"relation": "lies_in", "object": "c1", "candidates": ["t6"], "scores": [3]}
"""


@pytest.fixture
def read(towns: KnowledgeBase, tmp_path: Path) -> Read:
    """Reads a text, or bytes, as a file of lists of the towns."""

    def of(content: str | bytes, **settings: Any) -> Rankings:
        path = tmp_path / "mine.lists"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_rankings([path], towns, **settings)

    return of


def said(rankings: Rankings, kb: KnowledgeBase) -> dict[tuple[int, int], list[tuple[str, float]]]:
    """The lists by query, in the user's ids."""
    scores = np.split(rankings.scores, rankings.entities.offsets[1:-1])
    rows = [rankings.entities.row(row) for row in range(len(rankings))]
    queries = zip(rankings.queries.entity.tolist(), rankings.queries.relation.tolist(), strict=True)
    listed = [
        [(kb.entities.id(e), float(s)) for e, s in zip(row, of, strict=True)]
        for row, of in zip(rows, scores, strict=True)
    ]
    return dict(zip(queries, listed, strict=True))


EXPECTED = {(1, 0): [("c1", 2.5), ("c0", 0.5)], (26, 3): [("t6", 3.0)]}  # 3 is the reciprocal of relation 0


class TestWhatIsRead:
    @pytest.mark.parametrize("content", [TREC, JSON, "\n" + JSON, TREC.replace(" ", "\t"), "\ufeff" + TREC])
    def test_queries_and_candidates_best_first(self, read: Read, towns: KnowledgeBase, content: str) -> None:
        assert said(read(content), towns) == EXPECTED

    def test_several_files_are_one(self, towns: KnowledgeBase, tmp_path: Path) -> None:
        first, second = tmp_path / "a.jsonl", tmp_path / "b.run"
        first.write_text(JSON.splitlines()[0])
        second.write_text(TREC.splitlines()[2])
        assert said(read_rankings([first, second], towns), towns) == EXPECTED

    def test_a_query_of_two_files_has_what_both_list(self, towns: KnowledgeBase, tmp_path: Path) -> None:
        first, second = tmp_path / "valid.run", tmp_path / "test.run"
        first.write_text("tail:t1:lies_in Q0 c1 1 2.5 x")
        second.write_text("tail:t1:lies_in Q0 c2 1 3 x\ntail:t1:lies_in Q0 c1 2 2.4999999 x")
        assert said(read_rankings([first, second], towns), towns) == {(1, 0): [("c2", 3.0), ("c1", 2.5)]}

    def test_a_file_of_queries_explains_the_qids_of_a_run(
        self, read: Read, towns: KnowledgeBase, tmp_path: Path
    ) -> None:
        queries = tmp_path / "queries.tsv"
        queries.write_text("7\ttail\tt1\tlies_in\n8\thead\tc1\tlies_in\n")
        content = TREC.replace("tail:t1:lies_in", "7").replace("head:c1:lies_in", "8")
        assert said(read(content, queries=queries), towns) == EXPECTED

    def test_our_own_parquet_has_the_integers_of_the_knowledge_base(self, towns: KnowledgeBase, tmp_path: Path) -> None:
        self.write(tmp_path / "ours.parquet", towns, digest=towns.digest)
        assert said(read_rankings([tmp_path / "ours.parquet"], towns), towns) == EXPECTED

    def test_our_own_parquet_of_another_knowledge_base_is_refused(self, towns: KnowledgeBase, tmp_path: Path) -> None:
        self.write(tmp_path / "ours.parquet", towns, digest="0" * 64)
        with pytest.raises(MismatchError, match="make them again"):
            read_rankings([tmp_path / "ours.parquet"], towns)

    def write(self, path: Path, kb: KnowledgeBase, *, digest: str) -> None:
        queries = Queries(np.array([26, 1, 26]), np.array([3, 0, 3]))  # facts that share a query share its list
        entities = np.array([[6, NO_ENTITY], [26, 25], [6, NO_ENTITY]])
        scores = np.array([[3.0, -np.inf], [2.5, 0.5], [3.0, -np.inf]])
        write_lists(
            path, Lists(queries, Candidates(entities, scores), Manifest(kb.name, digest, "test", 2, "keep", "x"))
        )

    @given(id_=st.text(min_size=1).filter(lambda text: text.strip() == text and text.isprintable()))
    def test_any_id_survives_a_run(self, id_: str, tmp_path_factory: pytest.TempPathFactory) -> None:
        entities = Vocabulary.from_ids("entity", [id_, f"{id_}:"])
        kb = KnowledgeBase("odd", entities, Vocabulary.from_ids("relation", [f"{id_} of"]), {})
        path = tmp_path_factory.mktemp("run") / "odd.run"
        path.write_text(f"tail:{encoded_id(id_)}:{encoded_id(f'{id_} of')} Q0 {encoded_id(f'{id_}:')} 1 1.0 x")
        assert said(read_rankings([path], kb), kb) == {(0, 0): [(f"{id_}:", 1.0)]}


class TestSimKGC:
    """Entities by name, the backward file by `inverse`, the lists of a query put together."""

    def prediction(self, head: str, relation: str, **listed: float) -> dict[str, Any]:
        names = {name.replace("_", " "): score for name, score in listed.items()}
        return {"head": head, "relation": relation, "tail": "?", "topk_score_info": json.dumps(names), "rank": 1}

    def test_forward_and_backward(self, read: Read, towns: KnowledgeBase) -> None:
        made = [
            self.prediction("Town 1", "lies in", Country_B=2.5, Country_A=0.5),
            self.prediction("Country B", "inverse lies in", Town_6=3.0),
        ]
        assert said(read(json.dumps(made, indent=4)), towns) == EXPECTED

    def test_facts_of_a_query_each_leave_out_the_golds_of_the_others(self, read: Read, towns: KnowledgeBase) -> None:
        made = [
            self.prediction("Country B", "inverse lies in", Town_6=0.9, Town_2=0.5, Town_11=-1.0),
            self.prediction("Country B", "inverse lies in", Town_11=0.7, Town_2=0.5, Town_6=-1.0),
        ]
        assert said(read(json.dumps(made)), towns) == {(26, 3): [("t6", 0.9), ("t11", 0.7), ("t2", 0.5)]}

    def test_a_name_that_several_share_is_refused(self, tmp_path: Path) -> None:
        entities = Vocabulary.from_ids("entity", ["e1", "e2", "e3"], names=["Paris", "Paris", "France"])
        kb = KnowledgeBase("twins", entities, Vocabulary.from_ids("relation", ["in"]), {})
        (tmp_path / "p.json").write_text(json.dumps([self.prediction("Paris", "in", France=1.0)]))
        with pytest.raises(AmbiguousName, match=r"prediction 1: the entity 'Paris' .*\(e1, e2\).* Give lists with ids"):
            read_rankings([tmp_path / "p.json"], kb)

    def test_another_json_is_refused(self, read: Read) -> None:
        with pytest.raises(DataError, match="prediction 1: no prediction of SimKGC"):
            read('[{"query": 1}]')


LINE = '{"subject": "t1", "relation": "lies_in", "candidates": ["c0", "c1"], "scores": [2, 1]}'
REFUSED: dict[str, tuple[str | bytes, type[CearError], str]] = {
    "an unknown entity": (TREC.replace("c0", "c9").replace("t6", "c8"), UnknownName, r"lists:1: no entity has the id "
                          r"'c9'. The closest is '\w+'. There are 2 such ids: c9, c8"),
    "an unknown relation": (JSON.replace("lies_in", "lies_inn"), UnknownName, r"lists:1: no relation has the id "
                            r"'lies_inn'. The closest is 'lies_in'"),
    "an unknown name": ('[{"head": "Town 99", "relation": "lies in", "topk_score_info": "{}"}]', UnknownName,
                        r"no entity has the name 'Town 99'. The closest is 'Town 9'"),
    "an entity twice": (LINE.replace("c1", "c0"), DataError, r"lists:1: the entity 'c0' stands twice in one list"),
    "a rank twice": (TREC.replace(" 2 0.5", " 1 0.5"), DataError, r"lists:1: rank 1 of the qid 'tail:t1:lies_in' "
                     "stands twice"),
    "ranks that contradict the scores": (TREC.replace("0.5", "9"), DataError, r"lists:1: rank 2 .* has the score 9, "
                                         r"above the 2.5 of rank 1"),
    "a score that is not finite": (TREC.replace("0.5", "nan"), DataError, r"lists:1: the score nan of 'c0' is not "
                                   "finite"),
    "an infinite score": (LINE.replace("2, 1", "Infinity, 1"), DataError, r"lists:1: the score inf of 'c0'"),
    "a score that is no number": (TREC.replace("0.5", "much"), DataError, r"lists:2: rank '2' and score 'much'"),
    "a line with too few columns": (TREC.replace(" mine", "", 1), DataError, r"lists:1: found 5 columns .* expected 6"),
    "an empty file": ("\n", DataError, "holds no list"),
    "a query twice": (TREC + TREC.splitlines()[0], DataError, r"lists:4: the query ⟨t1, lies_in, \?⟩ stands twice, "
                      r"first in .*lists:1"),
    "a query twice in JSON": (f"{LINE}\n{LINE}", DataError, r"lists:2: the query .* first in .*lists:1"),
    "bytes that are not UTF-8": (TREC.encode() + b"tail:t\xff", DataError, r"lists:4: byte 7 .* is not UTF-8"),
    "predictions that are not UTF-8": (b'[{"head": "\xff"}]', DataError, "is not UTF-8"),
    "predictions that are cut off": ('[{"head": "Town 1",', DataError, "Is it cut off"),
    "a qid that means nothing": ("7 Q0 c1 1 2.5 mine", DataError, r"lists:1: the qid '7' is not .*queries:"),
    "a run that is judged": ("tail:t1:lies_in:c1 Q0 c1 1 2.5 x", DataError, "filtered for each gold"),
    "a line that is not JSON": ('{"subject": ', DataError, r"lists:1: not JSON"),
    "a line without a query": ('{"candidates": []}', DataError, r"lists:1: a query has a relation and a subject"),
    "two ends": (LINE.replace('"relation"', '"object": "c1", "relation"'), DataError, r"a subject or an object"),
    "scores of another length": (LINE.replace("2, 1", "2"), DataError, r"lists:1: candidates that cannot be read"),
    "candidates without scores": ('{"subject": "t1", "relation": "lies_in", "candidates": ["c0"]}', DataError,
                                  r"lists:1: candidates that cannot be read"),
    "an id that is a number": (LINE.replace('"t1"', "1"), DataError, r"the id 1 is no text"),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_it_is_refused_with_a_sentence(read: Read, what: str) -> None:
    content, error, message = REFUSED[what]
    with pytest.raises(error, match=message):
        read(content)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("7\ttail\tt1\n", r"queries.tsv:1: found \['7', 'tail', 't1'\], expected the columns qid, side"),
        ("7\tleft\tt1\tlies_in\n", r"queries.tsv:1: .* side \(head or tail"),
        ("7\ttail\tt1\tlies_in\n" * 2, r"queries.tsv:2: the qid '7' stands twice"),
        ("8\ttail\tt1\tlies_in\n", r"does not explain the qid '7'"),
    ],
)
def test_a_file_of_queries_that_does_not_fit_is_refused(read: Read, tmp_path: Path, content: str, message: str) -> None:
    queries = tmp_path / "queries.tsv"
    queries.write_text(content)
    with pytest.raises(DataError, match=message):
        read("7 Q0 c1 1 2.5 mine", queries=queries)


def test_a_file_that_is_not_there_is_named(towns: KnowledgeBase, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nowhere.run cannot be read"):
        read_rankings([tmp_path / "nowhere.run"], towns)
