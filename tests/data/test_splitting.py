"""One file of facts, split by us."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cear.core.errors import ConfigError
from cear.data.draft import FACT, ReadOptions
from cear.data.splitting import split_facts

words = st.sampled_from("abcdefgh")
some_facts = st.lists(st.tuples(words, st.sampled_from("xyz"), words), min_size=1, max_size=80)


def _frame(rows: list[tuple[str, str, str]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=dict.fromkeys(FACT, pl.String), orient="row")


def _rows(splits: dict[str, pl.DataFrame]) -> dict[str, list[tuple[str, ...]]]:
    return {split: frame.rows() for split, frame in splits.items()}


@given(some_facts, st.integers(-5, 2**70))
def test_a_split_parts_the_facts_and_train_knows_everyone(rows: list[tuple[str, str, str]], seed: int) -> None:
    splits = _rows(split_facts(_frame(rows), ReadOptions(seed=seed, valid_share=0.2, test_share=0.3)))
    parted = [fact for facts in splits.values() for fact in facts]
    assert sorted(parted) == sorted(set(rows))
    seen = {word for s, _, o in splits["train"] for word in (s, o)}
    relations = {r for _, r, _ in splits["train"]}
    for s, r, o in splits["valid"] + splits["test"]:
        assert {s, o} <= seen
        assert r in relations


@given(some_facts, st.randoms(use_true_random=False))
def test_the_order_of_the_lines_does_not_matter(rows: list[tuple[str, str, str]], random) -> None:  # type: ignore[no-untyped-def]
    shuffled = random.sample(rows, len(rows))
    options = ReadOptions(valid_share=0.2, test_share=0.2)
    assert _rows(split_facts(_frame(rows), options)) == _rows(split_facts(_frame(shuffled), options))


@pytest.fixture
def dense() -> pl.DataFrame:
    return _frame([(f"e{i}", "r", f"e{j}") for i in range(20) for j in range(20)])


def test_the_shares_are_met_when_there_are_facts_enough(dense: pl.DataFrame) -> None:
    splits = split_facts(dense, ReadOptions(valid_share=0.1, test_share=0.2))
    assert [splits[split].height for split in ("train", "valid", "test")] == [280, 40, 80]


def test_another_seed_gives_another_split(dense: pl.DataFrame) -> None:
    one, same, other = (split_facts(dense, ReadOptions(seed=seed))["test"] for seed in (1, 1, 2))
    assert one.equals(same)
    assert not one.equals(other)


def test_a_split_stays_the_same_between_versions(dense: pl.DataFrame) -> None:
    first = split_facts(dense, ReadOptions(seed=0))["test"].rows()[:3]
    assert first == [("e0", "r", "e12"), ("e10", "r", "e17"), ("e10", "r", "e2")]


def test_without_facts_to_spare_all_go_to_train() -> None:
    splits = split_facts(_frame([("a", "x", "b"), ("c", "y", "d")]), ReadOptions(valid_share=0.4, test_share=0.4))
    assert [splits[split].height for split in ("train", "valid", "test")] == [2, 0, 0]


@pytest.mark.parametrize("shares", [(-0.1, 0.1), (0.5, 0.5), (0.9, 0.9)])
def test_shares_must_leave_something_to_train_on(shares: tuple[float, float]) -> None:
    with pytest.raises(ConfigError, match="leave some for train"):
        ReadOptions(valid_share=shares[0], test_share=shares[1])


def test_an_unknown_text_rule_is_refused() -> None:
    with pytest.raises(ConfigError, match="No text rule is called 'names'"):
        ReadOptions(text="names")  # type: ignore[arg-type]
