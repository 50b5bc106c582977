"""Two records, query by query."""

import json
from dataclasses import replace
from io import StringIO

import numpy as np
import pytest
from rich.console import Console

from cear.core.errors import DataError, MismatchError
from cear.core.types import Ranks
from cear.evaluation import compare
from cear.reports import Record, compare_groups, comparison_table, open_ranks, write_record


def ranked(evaluation, ranks):
    above = np.asarray(ranks, np.int64) - 1
    return replace(evaluation, ranks=Ranks(above, np.zeros_like(above)))


@pytest.fixture
def worse(evaluation):
    """16 queries, all ranked second."""
    return ranked(evaluation, np.full(16, 2))


@pytest.fixture
def better(worse):
    """Tails of r0 ranked first; one query of r1, a head, ranked fourth."""
    ranks = np.where((worse.asked_relations == 0) & ~worse.asks_head, 1, 2)
    ranks[np.flatnonzero((worse.asked_relations == 1) & worse.asks_head)[0]] = 4
    return ranked(worse, ranks)


def test_every_group_is_the_paired_test_of_its_queries(worse, better):
    found = compare_groups(worse, better)
    sides = {group.name: group for group in found.sides}
    assert list(sides) == ["both", "head", "tail"]
    assert sides["both"].differences == compare(worse, better)
    assert sides["tail"].differences["mrr"].difference == pytest.approx(4 * 0.5 / 8)
    assert sides["head"].differences["mrr"].difference == pytest.approx(-0.25 / 8)
    assert sum(group.queries for group in found.cardinalities) == sides["both"].queries == 16
    assert sum(group.queries for group in found.inverses) == 16


def test_the_relation_with_the_largest_total_change_comes_first(worse, better):
    found = compare_groups(worse, better)
    assert [(group.name, group.queries) for group in found.relations] == [("r0", 8), ("r1", 8)]
    assert [group.differences["mrr"].difference for group in found.relations] == pytest.approx([2 / 8, -0.25 / 8])
    assert [group.name for group in compare_groups(worse, better, relations=1).relations] == ["r0"]


def test_a_loss_counts_as_much_as_a_gain(worse):
    lost = ranked(worse, np.where(worse.asked_relations == 1, 9, 1 + (np.arange(16) > 0)))
    assert [group.name for group in compare_groups(worse, lost).relations] == ["r1", "r0"]


def test_systems_that_were_asked_differently_are_refused(worse, better):
    with pytest.raises(MismatchError, match="different tie rules"):
        compare_groups(worse, replace(better, ties="optimistic"))
    with pytest.raises(MismatchError, match="different protocols, 'ours' and 'care'"):
        compare_groups(worse, replace(better, protocol="care"))


def drawn(table):
    console = Console(width=100, file=StringIO(), record=True)
    console.print(table)
    return console.export_text()


def test_the_table_shows_both_measures_and_takes_names_as_they_are(worse, better):
    named = replace(worse, relations={0: "[red]of[/red]"})
    lines = drawn(comparison_table(compare_groups(named, better), "[a].json", "b.json")).splitlines()
    assert any("A: [a].json" in line for line in lines)
    first = next(place for place, line in enumerate(lines) if "[red]of[/red]" in line)
    cells = [cell.strip() for cell in lines[first].strip("│").split("│")]
    assert cells[:6] == ["[red]of[/red]", "MRR", "8", "0.500", "0.750", "+0.250"]
    assert "H@1" in lines[first + 1]
    assert any("not corrected for the 7 comparisons" in " ".join(line.split()) for line in lines)


def test_it_is_json(worse, better):
    value = json.loads(json.dumps(compare_groups(worse, better).as_json()))
    assert value["sides"][0]["mrr"]["difference"] == compare(worse, better)["mrr"].difference
    assert value["relations"][0]["name"] == "r0"


class TestOpening:
    @pytest.fixture
    def record(self, worse, provenance, tmp_path):
        path = tmp_path / "run" / "test.json"
        write_record(path, Record.of(worse, provenance, model="complex"), worse)
        return path

    @pytest.mark.parametrize("name", ["test.json", "test.ranks.parquet", ""])
    def test_a_record_its_ranks_and_the_folder_of_a_run_are_the_same(self, record, worse, name):
        opened = open_ranks(record.parent / name)
        assert opened.ranks.above.tolist() == worse.ranks.above.tolist()

    def test_a_record_without_ranks_says_how_to_make_them(self, record):
        value = json.loads(record.read_text())
        del value["ranks"]
        record.write_text(json.dumps(value))
        with pytest.raises(DataError, match=r"does not hold the rank of every query.*cear evaluate runs/x"):
            open_ranks(record)

    def test_a_record_whose_ranks_are_gone(self, record):
        (record.parent / "test.ranks.parquet").unlink()
        with pytest.raises(DataError, match="There is no file of ranks"):
            open_ranks(record)

    def test_ranks_of_another_evaluation_are_not_the_records(self, record, better, provenance):
        other = record.with_name("other.json")
        write_record(other, Record.of(better, provenance, model="complex"), better)
        other.with_suffix(".ranks.parquet").replace(record.with_suffix(".ranks.parquet"))
        with pytest.raises(DataError, match="they are of another evaluation"):
            open_ranks(record)

    def test_a_folder_without_a_record(self, tmp_path):
        with pytest.raises(DataError, match=r"There is no record .*test\.json"):
            open_ranks(tmp_path)
