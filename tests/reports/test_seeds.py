"""The spread of figures over seeds."""

from dataclasses import asdict, replace
from io import StringIO

import pytest
from rich.console import Console

from cear.core.errors import MismatchError
from cear.reports import Record, seeds_table, spread


@pytest.fixture
def records(evaluation, provenance):
    """Three seeds with an MRR of .2, .3 and .7 after the last stage."""
    record = Record.of(evaluation, provenance, model="complex")

    def of(seed, mrr):
        both = dict.fromkeys(record.stage1["both"], 0.5) | {"mrr": mrr}
        made = replace(provenance, config={"rank": 8, "seed": seed})
        return replace(record, provenance=made, stage2={"both": both})

    return [of(0, 0.2), of(1, 0.3), of(2, 0.7)]


def test_a_golden_case(records):
    """Mean .4; deviations -.2, -.1, .3, squares .04 + .01 + .09 = .14; std is the root of .14 / 2."""
    found = spread(records)
    assert asdict(found["mrr"]) == pytest.approx({"mean": 0.4, "std": 0.07**0.5, "min": 0.2, "max": 0.7, "n": 3})
    assert (found["hits@1"].mean, found["hits@1"].std) == (0.5, 0.0)
    assert list(found) == list(records[0].stage1["both"])


def test_without_a_second_stage_the_first_counts(records):
    alone = [replace(record, stage2=None) for record in records]
    assert spread(alone)["mrr"].mean == pytest.approx(records[0].stage1["both"]["mrr"])


def test_the_table_rounds(records):
    console = Console(width=80, file=StringIO(), record=True)
    console.print(seeds_table(records))
    text = console.export_text()
    assert "toy, test, seeds 0, 1, 2" in text
    row = next(line for line in text.splitlines() if "MRR" in line)
    assert [cell.strip() for cell in row.strip("│").split("│")] == ["MRR", "0.400", "0.265", "0.200", "0.700"]


def test_one_seed_has_no_spread(records):
    with pytest.raises(MismatchError, match="at least two seeds, but there is 1"):
        spread(records[:1])


def test_the_same_seed_twice_is_not_two_trainings(records):
    with pytest.raises(MismatchError, match=r"different seeds, but these have \[0, 0\]"):
        spread([records[0], records[0]])


@pytest.mark.parametrize("change", ["settings", "split", "data", "protocol"])
def test_records_that_differ_in_more_than_their_seed_are_refused(records, change):
    first, second, _ = records
    settings = replace(second.provenance, config={"rank": 9, "seed": 1})
    data = replace(second.provenance, digest="other")
    others = {"settings": {"provenance": settings}, "split": {"split": "valid"}, "data": {"provenance": data}}
    others["protocol"] = {"protocol": "care"}
    with pytest.raises(MismatchError, match="more than their seed"):
        spread([first, replace(second, **others[change])])
