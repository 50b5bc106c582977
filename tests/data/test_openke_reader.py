"""OpenKE's id files."""

from collections.abc import Callable
from pathlib import Path

import pytest

from cear.core.errors import DataError
from cear.data import load, read

FILES = {
    "entity2id.txt": "4\nFrance\t1\nParis\t0\nBerlin\t2\nNew Zealand\t3\n",
    "relation2id.txt": "2\ncapital of\t0\nin\t1\n",
    "train2id.txt": "2\n0 1 0\n2 1 1\n",
    "valid2id.txt": "1\n0\t1\t1\n",
    "test2id.txt": "0\n",
}


def test_the_row_order_is_head_tail_relation_and_integers_are_kept(write: Callable[..., Path]) -> None:
    reading = read(write(FILES))
    kb = reading.kb
    assert reading.report.layout == "openke"
    assert kb.entities.table["id"].to_list() == ["Paris", "France", "Berlin", "New Zealand"]
    assert kb.relations.table["id"].to_list() == ["capital of", "in"]
    assert kb.facts("train").tolist() == [[0, 0, 1], [2, 1, 1]]
    assert kb.facts("valid").tolist() == [[0, 1, 1]]
    assert kb.facts("test").tolist() == []


def test_spaces_at_the_end_of_a_line_do_no_harm(write: Callable[..., Path]) -> None:
    kb = load(write({**FILES, "train2id.txt": "2\n0 1 0 \n2  1 1\n"}))
    assert kb.facts("train").tolist() == [[0, 0, 1], [2, 1, 1]]


def test_texts_beside_the_ids_are_read(write: Callable[..., Path]) -> None:
    kb = load(write({**FILES, "entity2text.txt": "Paris\tthe city of Paris\n"}))
    assert kb.entities.name(0) == "the city of Paris"


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"train2id.txt": "3\n0 1 0\n2 1 1\n"}, r"train2id\.txt:1: the first line says 3, but 2 lines follow"),
        ({"train2id.txt": "0 1 0\n2 1 1\n"}, r"train2id\.txt:1: found '0 1 0', expected the number of lines"),
        (
            {"train2id.txt": "2\n0 1 0\n9 1 1\n"},
            r"train2id\.txt:3: the subject is '9', expected an id from 0 to 3 of entity2id",
        ),
        (
            {"test2id.txt": "1\n0 1 7\n"},
            r"test2id\.txt:2: the relation is '7', expected an id from 0 to 1 of relation2id",
        ),
        ({"test2id.txt": "1\n0 x 1\n"}, r"test2id\.txt:2: the object is 'x'"),
        ({"train2id.txt": "0\n"}, "has no training facts"),
        ({"train2id.txt": ""}, r"train2id\.txt:1: found '', expected the number"),
        ({"entity2id.txt": "4\na\t0\nb\t1\na\t2\nc\t3\n"}, r"entity2id\.txt:4: the name 'a' stands already on line 2"),
        (
            {"entity2id.txt": "4\na\t0\nb\t1\nc\t1\nd\t3\n"},
            r"entity2id\.txt:4: the number '1' stands already on line 3",
        ),
        ({"entity2id.txt": "2\na\t0\nb\t2\n"}, r"entity2id\.txt:3: the number is '2', expected an id from 0 to 1"),
    ],
)
def test_bad_id_files_are_refused(write: Callable[..., Path], files: dict[str, str], message: str) -> None:
    with pytest.raises(DataError, match=message):
        load(write({**FILES, **files}))


def test_bad_facts_can_be_skipped_but_bad_ids_cannot(write: Callable[..., Path]) -> None:
    folder = write({**FILES, "train2id.txt": "4\n0 1 0\n9 1 9\n2 1\n2 1 1\n"})
    reading = read(folder, skip_bad_lines=True)
    assert reading.kb.facts("train").tolist() == [[0, 0, 1], [2, 1, 1]]
    assert reading.report.skipped_lines == 2
    (folder / "entity2id.txt").write_text("2\na\t0\na\t1\n")
    with pytest.raises(DataError, match=r"stands already on line 2; expected each once\. Correct the file\.$"):
        read(folder, skip_bad_lines=True)
