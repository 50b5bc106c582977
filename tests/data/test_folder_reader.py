"""A folder of train, valid and test facts with texts beside them."""

from collections.abc import Callable
from pathlib import Path

import pytest

from cear.core.errors import DataError
from cear.data import load, read

TRAIN = "q2\tcapital of\tq1\nq3\tcapital of\tq4\nq2\tin\tq1\n"
TEXTS = "q1\tFrance, a country\nq2\tParis, Texas, not this one\nq4\tGermany\nq9\tnobody\n"


def test_integers_follow_the_first_appearance(write: Callable[..., Path]) -> None:
    folder = write({"train.txt": TRAIN, "valid.txt": "q5\tnear\tq2\n", "test.txt": "q6\tin\tq5\n"})
    kb = load(folder)
    assert kb.entities.table["id"].to_list() == ["q2", "q1", "q3", "q4", "q5", "q6"]
    assert kb.relations.table["id"].to_list() == ["capital of", "in", "near"]
    assert kb.facts("train").tolist() == [[0, 0, 1], [2, 0, 3], [0, 1, 1]]
    assert kb.facts("valid").tolist() == [[4, 2, 0]]
    assert kb.facts("test").tolist() == [[5, 1, 4]]
    assert kb.name == "kb"


def test_a_text_is_a_name_unless_told_otherwise(write: Callable[..., Path]) -> None:
    kb = load(write({"train.txt": TRAIN, "entity2text.txt": TEXTS, "relation2text.txt": "in\tis located in\n"}))
    assert kb.entities.table["name"].to_list() == ["Paris, Texas, not this one", "France, a country", "q3", "Germany"]
    assert kb.entities.description(0) is None
    assert kb.relations.table["name"].to_list() == ["capital of", "is located in"]


def test_a_text_with_a_description_is_parted_at_the_first_comma(write: Callable[..., Path]) -> None:
    kb = load(write({"train.txt": TRAIN, "entity2text.txt": TEXTS}), text="name, description")
    assert kb.entities.table["name"].to_list() == ["Paris", "France", "q3", "Germany"]
    assert kb.entities.table["description"].to_list() == ["Texas, not this one", "a country", None, None]


def test_a_long_text_is_the_description(write: Callable[..., Path]) -> None:
    files = {"train.txt": TRAIN, "entity2text.txt": "q2\tParis\n", "entity2textlong.txt": "q2\tIt has\nq3\tIt is\n"}
    kb = load(write({**files, "entity2textlong.txt": "q2\tA city.\nq3\tAnother city.\n"}))
    assert kb.entities.table["name"].to_list() == ["Paris", "q1", "q3", "q4"]
    assert kb.entities.table["description"].to_list() == ["A city.", None, "Another city.", None]


def test_texts_of_strangers_and_repeated_facts_are_counted(write: Callable[..., Path]) -> None:
    folder = write({"train.txt": TRAIN + "q2\tin\tq1\n" * 2, "entity2text.txt": TEXTS})
    reading = read(folder)
    assert len(reading.kb.facts("train")) == 3
    assert (reading.report.duplicate_facts, reading.report.unused_texts) == (2, 1)
    assert reading.report.layout == "folder"


def test_the_files_may_be_called_tsv_and_dev(write: Callable[..., Path]) -> None:
    kb = load(write({"train.tsv": TRAIN, "dev.tsv": "q2\tin\tq4\n", "entity2text": "q2\tParis\n"}))
    assert [len(kb.facts(split)) for split in ("train", "valid", "test")] == [3, 1, 0]
    assert kb.entities.name(0) == "Paris"


def test_ids_of_digits_keep_their_zeros(write: Callable[..., Path]) -> None:
    kb = load(write({"train.txt": "00260881\t_hypernym\t00260622\n"}))
    assert kb.entities.id(0) == "00260881"


def test_entities_that_only_valid_names_are_kept(write: Callable[..., Path]) -> None:
    kb = load(write({"train.txt": TRAIN, "valid.txt": "new\tin\tq1\n"}))
    assert kb.entities.find("new") == 4


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"train.txt": ""}, r"train\.txt holds no facts"),
        ({"train.txt": TRAIN, "test.txt": "\n\n"}, r"test\.txt holds no facts"),
        ({"train.txt": TRAIN, "valid.txt": "q1 in q2\n"}, r"valid\.txt:1: found 1 columns"),
        ({"train.txt": TRAIN, "train.tsv": TRAIN}, r"train\.txt and train\.tsv, both for train; keep one"),
        (
            {"train.txt": TRAIN, "entity2text.txt": "q1\tA\nq2\tB\nq1\tC\n"},
            r"entity2text\.txt:3: the id 'q1' stands already on line 1; expected each once",
        ),
        (
            {"train.txt": TRAIN, "relation2text.txt": "in\n"},
            r"relation2text\.txt:1: found 1 columns \['in'\], expected 2",
        ),
    ],
)
def test_bad_folders_are_refused(write: Callable[..., Path], files: dict[str, str], message: str) -> None:
    with pytest.raises(DataError, match=message):
        load(write(files))


def test_bad_lines_are_skipped_counted_and_logged_on_request(
    write: Callable[..., Path], caplog: pytest.LogCaptureFixture
) -> None:
    folder = write({"train.txt": TRAIN + "broken\n", "entity2text.txt": "q1\tA\nq2\tB\nq1\tC\n"})
    reading = read(folder, skip_bad_lines=True)
    assert reading.report.skipped_lines == 2
    assert [example.split("kb/")[1].split(": ")[0] for example in reading.report.skipped_examples] == [
        "train.txt:4",
        "entity2text.txt:3",
    ]
    assert reading.kb.entities.name(1) == "A"  # the first text of q1 counts
    assert "2 bad lines were skipped" in caplog.text
