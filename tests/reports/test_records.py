"""Records: what is in the JSON file, and how they are found again."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from cear.core.errors import DataError
from cear.core.files import write_json
from cear.evaluation import read_ranks
from cear.reports import Record, read_record, read_records, write_record


def test_the_json_of_an_evaluation(evaluation, provenance, tmp_path):
    path = tmp_path / "results" / "toy.json"
    write_record(
        path, Record.of(evaluation, provenance, model="complex", details={"rank": 8}, target={"mrr": 0.3}), evaluation
    )
    value = json.loads(path.read_text())
    assert list(value)[:4] == ["data", "split", "queries", "stage1"]
    assert (value["data"], value["split"], value["queries"]) == ("toy", "test", 16)
    assert value["stage1"] == evaluation.summary(), "unrounded: the very same numbers"
    assert set(value["stage1"]["both"]) == {"mrr", "hits@1", "hits@3", "hits@10", "hits@50"}
    assert value["intervals"]["head"]["mrr"] == list(evaluation.intervals()["head"]["mrr"])
    assert value["recall"] == evaluation.recall()
    assert value["cardinality"] == evaluation.by_cardinality()
    assert value["inverse"] == evaluation.by_inverse()
    assert value["leak"] == {"checked": 0, "marked": 0, "share": 0.0}
    assert (value["ties"], value["model"]) == ("expected", "complex")
    assert value["provenance"]["digest"] == "abc"


def test_an_interrupted_write_leaves_the_old_record(evaluation, provenance, tmp_path, monkeypatch):
    path = tmp_path / "toy.json"
    record = Record.of(evaluation, provenance, model="complex")
    write_record(path, record, evaluation)
    before = path.read_bytes()

    def full_disk(*_, **__):
        raise OSError("No space left on device")

    monkeypatch.setattr("pathlib.Path.write_text", full_disk)
    with pytest.raises(OSError, match="No space left"):
        write_record(path, record, evaluation)
    assert path.read_bytes() == before
    assert sorted(each.name for each in tmp_path.iterdir()) == ["toy.json", "toy.ranks.parquet"]


def test_records_are_found_in_order_and_other_json_is_passed_over(evaluation, provenance, tmp_path):
    for name in ("b/two.json", "a/one.json"):
        write_record(tmp_path / name, Record.of(evaluation, provenance, model=name), evaluation)
    (tmp_path / "benchmark.json").write_text('{"seconds": 3}')
    (tmp_path / "list.json").write_text("[1]")
    assert [record["model"] for _, record in read_records(tmp_path)] == ["a/one.json", "b/two.json"]


def test_a_broken_record_is_an_error_with_its_path(tmp_path):
    (tmp_path / "broken.json").write_text('{"stage1": ')
    with pytest.raises(DataError, match=r"broken\.json cannot be read"):
        list(read_records(tmp_path))


class TestRanksBesideARecord:
    def test_the_rank_of_every_query_is_kept_and_the_record_says_where(self, evaluation, provenance, tmp_path):
        path = tmp_path / "toy.json"
        write_record(path, Record.of(evaluation, provenance, model="complex"), evaluation)
        assert read_record(path)["ranks"] == "toy.ranks.parquet"
        kept = read_ranks(tmp_path / "toy.ranks.parquet")
        assert kept.ranks.above.tolist() == evaluation.ranks.above.tolist()
        assert kept.relations == {0: "r0", 1: "r1"}, "so that nobody needs the data to tell them apart"

    def test_they_hold_no_path_of_this_machine(self, evaluation, provenance, tmp_path):
        evaluation = replace(evaluation, data=str(tmp_path / "kb"))
        write_record(tmp_path / "x.json", Record.of(evaluation, provenance, model="complex"), evaluation)
        assert read_ranks(tmp_path / "x.ranks.parquet").data == "kb"


@pytest.mark.parametrize("text", ["[1]", '{"seconds": 3}'])
def test_a_file_that_is_no_record_is_refused(tmp_path, text):
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(DataError, match=r"x\.json is not a record"):
        read_record(tmp_path / "x.json")


def test_a_record_that_is_not_there_is_an_error_that_says_who_writes_them(tmp_path):
    with pytest.raises(DataError, match=r"There is no record .*`cear run`"):
        read_record(tmp_path / "none.json")


def test_a_benchmark_that_speaks_of_stages_is_no_evaluation(tmp_path: Path) -> None:
    write_json(tmp_path / "benchmark.json", {"what": "two re-rankers", "stage1": {"both": {"mrr": 0.5}}})
    assert list(read_records(tmp_path)) == []
    with pytest.raises(DataError, match="not a record of an evaluation"):
        read_record(tmp_path / "benchmark.json")
