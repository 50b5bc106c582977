"""OLPBENCH: surface forms, and the mentions beside held-out facts."""

from collections.abc import Callable
from pathlib import Path

import pytest

from cear.core.errors import ConfigError, DataError
from cear.data import load, read

TRAIN = "nyc\tis the seat of\tthe un\tnyc\tthe un\nobama\tlives in\tnyc\tobama\tnyc\n"
FILES = {
    "train_data_thorough.txt": TRAIN,
    "train_data_simple.txt": TRAIN + "obama\thas:impl_poss-clause\twife\tobama\twife\n",
    "validation_data_linked.txt": "barack\tlives in\tparis\tobama|||barack||| mr. o\tparis|||the city\n",
    "test_data.txt": "barack\tlives now in\tparis\tobama\tparis|||nyc\n",
}


def test_facts_and_integers(write: Callable[..., Path]) -> None:
    reading = read(write(FILES))
    kb = reading.kb
    assert reading.report.layout == "olpbench"
    assert kb.entities.table["id"].to_list() == ["nyc", "the un", "obama", "barack", "paris"]
    assert kb.facts("train").tolist() == [[0, 0, 1], [2, 1, 0]]
    assert kb.facts("valid").tolist() == [[3, 1, 4]]
    assert kb.relations.find("lives now in") == 2  # unseen in training, and welcome


def test_the_mentions_are_those_of_the_fact_with_its_own_form_among_them(write: Callable[..., Path]) -> None:
    kb = load(write(FILES))
    valid, test = kb.gold_mentions("valid"), kb.gold_mentions("test")
    assert (valid.row(0).tolist(), valid.row(1).tolist()) == ([4], [2, 3])
    assert (test.row(0).tolist(), test.row(1).tolist()) == ([0, 4], [2, 3])  # "paris" means something else here
    assert kb.gold_mentions("train").row(0).tolist() == [1]


def test_mentions_that_no_fact_names_are_left_out_and_counted(write: Callable[..., Path]) -> None:
    assert read(write(FILES)).report.left_out == {"mentions that no fact names": 2}  # mr. o, the city


def test_the_variant_chooses_the_training_file(write: Callable[..., Path]) -> None:
    folder = write(FILES)
    assert [len(load(folder, variant=each).facts("train")) for each in ("thorough", "simple")] == [2, 3]  # type: ignore[arg-type]
    with pytest.raises(DataError, match=r"no train_data_basic\.txt\. It has thorough and simple: .*variant='thorough'"):
        load(folder, variant="basic")
    with pytest.raises(ConfigError, match="No training file of OLPBENCH is called 'easy'"):
        load(folder, variant="easy")  # type: ignore[arg-type]


def test_a_note_of_the_extractor_is_part_of_the_id_and_not_of_the_name(write: Callable[..., Path]) -> None:
    relations = load(write(FILES), variant="simple").relations
    assert (relations.id(2), relations.name(2)) == ("has:impl_poss-clause", "has")
    assert relations.name(1) == "lives in"


@pytest.mark.parametrize("train", ["a\tr\tb\nc\tr\td\n", "a\tr\tb\t\t\nc\tr\td\t\t\n", "a\tr\tb\ta\tb\nc\tr\td\n"])
def test_training_facts_may_leave_the_last_columns_empty_or_out(write: Callable[..., Path], train: str) -> None:
    kb = load(write({"train_data_thorough.txt": train}))
    assert kb.facts("train").tolist() == [[0, 0, 1], [2, 0, 3]]
    assert kb.mentions is None


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"train_data_thorough.txt": TRAIN + "a\tr\n"}, r"train_data_thorough\.txt:3: found 2 columns"),
        ({"train_data_thorough.txt": TRAIN + "a\tr\tb\ta\tb\tc\n"}, r"train_data_thorough\.txt:3: found 6 columns"),
        ({"train_data_thorough.txt": TRAIN + "a\t \tb\ta\tb\n"}, r"train_data_thorough\.txt:3: the relation is empty"),
        ({"train_data_thorough.txt": TRAIN + "\tr\tb\ta\tb\n"}, r"train_data_thorough\.txt:3: the subject is empty"),
        ({"test_data.txt": "a\tr\tb\n"}, r"test_data\.txt:1: found 3 columns .*subject mentions, object mentions"),
        ({"test_data.txt": "a\tr\tb\ta\t\n"}, r"test_data\.txt:1: the object mentions is empty"),
        ({"test_data.txt": "a\tr\tb\ta|||\tb\n"}, r"test_data\.txt:1: one of the subject mentions is empty"),
        ({"test_data.txt": "a\tr\tb\ta\tb||| |||c\n"}, r"test_data\.txt:1: one of the object mentions is empty"),
    ],
)
def test_bad_lines_are_refused_or_skipped(write: Callable[..., Path], files: dict[str, str], message: str) -> None:
    folder = write({**FILES, **files})
    with pytest.raises(DataError, match=message):
        load(folder)
    reading = read(folder, skip_bad_lines=True)
    assert reading.report.skipped_lines == 1
    assert reading.kb.facts("train").tolist() == [[0, 0, 1], [2, 1, 0]]


def test_a_repeated_held_out_fact_keeps_its_first_mentions(write: Callable[..., Path]) -> None:
    again = "barack\tlives now in\tparis\tobama\tparis|||the un\n"
    kb = load(write({**FILES, "test_data.txt": FILES["test_data.txt"] + again}))
    assert len(kb.facts("test")) == 1
    assert kb.gold_mentions("test").row(0).tolist() == [0, 4]
