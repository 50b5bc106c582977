"""An evaluation as a table: a row per query, nothing lost on the way to a file and back."""

from dataclasses import fields, replace

import numpy as np
import polars as pl
import pytest

from cear.core.errors import DataError, MismatchError
from cear.core.types import Queries, Ragged, Ranks
from cear.evaluation import about, compare, evaluate, from_frame, read_ranks, to_frame, write_ranks


@pytest.fixture
def stage1(random_kb, scorer_for):
    kb = random_kb()
    return evaluate(scorer_for(kb, values=6), kb, "test", ties="pessimistic")


@pytest.fixture
def both_stages(stage1):
    rng = np.random.default_rng(3)
    above, tied = rng.integers(0, 9, (2, len(stage1.queries)))
    return replace(
        stage1,
        ranks=Ranks(above, tied),
        before=stage1,
        listed=above < 5,
        seconds=stage1.seconds + 1.5,
        golds=stage1.golds,
    )


def parts(value):
    """Everything an evaluation holds, as values that can be compared."""
    if isinstance(value, Queries | Ranks | Ragged):
        return [getattr(value, each.name).tolist() for each in fields(value)]
    return value.tolist() if isinstance(value, np.ndarray) else value


def assert_equal(one, other):
    assert (one.before is None) == (other.before is None)
    for each in fields(one):
        if each.name != "before":
            assert parts(getattr(one, each.name)) == parts(getattr(other, each.name)), each.name
    if one.before is not None:
        assert_equal(one.before, other.before)


@pytest.mark.parametrize("name", ["stage1", "both_stages"])
def test_a_file_gives_back_an_equal_evaluation(name, request, tmp_path):
    evaluation = request.getfixturevalue(name)
    write_ranks(tmp_path / "deep" / "x.parquet", evaluation)
    again = read_ranks(tmp_path / "deep" / "x.parquet")
    assert_equal(again, evaluation)
    assert again.summary() == evaluation.summary()
    assert again.by_cardinality() == evaluation.by_cardinality()
    assert compare(evaluation, again)["mrr"].difference == 0.0
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["x.parquet"], "nothing is left beside it"


def test_a_row_can_be_read_on_paper(kb_of, table_scorer):
    import torch

    kb = kb_of({"train": np.array([[0, 0, 1]]), "test": np.array([[0, 0, 2]])}, n_entities=3, n_relations=1)
    scores = torch.tensor([[0.1, 0.9, 0.5]]).repeat(2, 3, 1)
    frame = to_frame(evaluate(table_scorer(scores), kb, "test"))
    # ⟨0, r0, ?⟩ = 2: 1 is above it, and a training answer.
    assert frame.row(0, named=True) == {
        "entity": 0,
        "relation": 0,
        "relation_name": "r0",
        "gold": 2,
        "asks_head": False,
        "cardinality": "1-1",
        "above": 0,
        "tied": 0,
        "retrieved_above": 1,
        "retrieved_tied": 0,
        "fresh_above": 0,
        "fresh_tied": 0,
        "golds": [2],
        "inverse_known": False,
    }
    assert frame.row(1, named=True)["relation_name"] == "r0", "the head of r0 is asked for with another number"
    assert frame["relation"].to_list() == [0, 1]


def test_a_file_of_before_says_nothing_about_inverses(stage1, tmp_path):
    write_ranks(tmp_path / "x.parquet", replace(stage1, inverse_known=None))
    again = read_ranks(tmp_path / "x.parquet")
    assert again.inverse_known is None
    assert again.by_inverse() == {}


def test_a_second_stage_has_columns_of_its_own(stage1, both_stages):
    first, second = to_frame(stage1), to_frame(both_stages)
    assert set(second.columns) - set(first.columns) == {"stage1_above", "stage1_tied", "listed"}
    assert second["stage1_above"].to_list() == first["above"].to_list() == stage1.ranks.above.tolist()


def test_mentions_of_the_gold_are_kept(stage1, tmp_path):
    rows = [[int(gold), *range(100, 100 + place % 3)] for place, gold in enumerate(stage1.gold)]
    golds = Ragged(np.cumsum([0, *map(len, rows)]), np.concatenate(rows))
    write_ranks(tmp_path / "x.parquet", replace(stage1, golds=golds))
    again = read_ranks(tmp_path / "x.parquet").golds
    assert [again.row(i).tolist() for i in range(len(rows))] == rows


def test_relations_without_names_have_none(stage1):
    nameless = replace(stage1, relations={})
    assert from_frame(to_frame(nameless), about(nameless)).relations == {}


def test_ranks_of_another_first_stage_are_refused(stage1, both_stages):
    other = replace(stage1, fresh=both_stages.ranks)
    with pytest.raises(MismatchError, match="not those of the Stage 1"):
        to_frame(replace(both_stages, before=other))


class TestFilesThatCannotBeRead:
    def refused(self, path, match):
        with pytest.raises(DataError, match=match):
            read_ranks(path)

    def test_no_file(self, tmp_path):
        self.refused(tmp_path / "none.parquet", "There is no file of ranks .*none")

    def test_no_parquet(self, tmp_path):
        (tmp_path / "x.parquet").write_text("PAR1 or not")
        self.refused(tmp_path / "x.parquet", r"x\.parquet cannot be read: .*It is damaged")

    def test_a_file_cut_short(self, stage1, tmp_path):
        write_ranks(tmp_path / "x.parquet", stage1)
        whole = (tmp_path / "x.parquet").read_bytes()
        (tmp_path / "x.parquet").write_bytes(whole[: len(whole) // 2])
        self.refused(tmp_path / "x.parquet", r"x\.parquet cannot be read: .*It is damaged")

    def test_somebody_elses_parquet(self, tmp_path):
        pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "x.parquet")
        self.refused(tmp_path / "x.parquet", "says nothing about an evaluation")

    @pytest.mark.parametrize("change", ["lost column", "lost rows"])
    def test_a_table_that_lost_something(self, stage1, tmp_path, change):
        write_ranks(tmp_path / "x.parquet", stage1)
        metadata, frame = pl.read_parquet_metadata(tmp_path / "x.parquet"), pl.read_parquet(tmp_path / "x.parquet")
        frame = frame.drop("tied") if change == "lost column" else frame.head(7)
        ours = {key: value for key, value in metadata.items() if key.startswith("cear")}
        frame.write_parquet(tmp_path / "x.parquet", metadata=ours)
        self.refused(tmp_path / "x.parquet", r"x\.parquet cannot be read: .*It is damaged")
