"""CaRe's open knowledge bases: phrases with ids, and gold clusters."""

from collections.abc import Callable
from pathlib import Path

import pytest

from cear.core.errors import DataError
from cear.data import check, load, read

FILES = {
    "ent2id.txt": "5\nnyc\t0\nnew york\t1\nthe un\t2\nobama\t3\nbarack obama\t4",
    "rel2id.txt": "2\nis the seat of\t0\nlives in\t1\n",
    "train_trip.txt": "2\n0\t0\t2\n3\t1\t0\n",
    "valid_trip.txt": "1\n4\t1\t1\n",
    "test_trip.txt": "1\n1\t0\t2\n",
    "gold_npclust.txt": "0\t2\t0\t1\n1\t2\t1\t0\n2\t1\t2\n3\t2\t3\t4\n4\t2\t3\t4\n",
}


def _mentions(folder: Path, split: str = "test") -> list[list[int]]:
    golds = load(folder).gold_mentions(split)  # type: ignore[arg-type]
    return [golds.row(index).tolist() for index in range(len(golds))]


def test_integers_are_kept_and_clusters_are_mentions(write: Callable[..., Path]) -> None:
    reading = read(write(FILES))
    kb = reading.kb
    assert reading.report.layout == "care"
    assert kb.entities.table["name"].to_list() == ["nyc", "new york", "the un", "obama", "barack obama"]
    assert [kb.facts(split).tolist() for split in ("train", "valid", "test")] == [
        [[0, 0, 2], [3, 1, 0]],
        [[4, 1, 1]],
        [[1, 0, 2]],
    ]
    assert _mentions(write(FILES)) == [[2], [0, 1]]
    assert _mentions(write(FILES), "valid") == [[0, 1], [3, 4]]


def test_without_clusters_there_are_no_mentions(write: Callable[..., Path]) -> None:
    kb = load(write({name: text for name, text in FILES.items() if name != "gold_npclust.txt"}))
    assert kb.mentions is None


def test_a_phrase_without_a_cluster_has_no_other_mention(write: Callable[..., Path]) -> None:
    assert _mentions(write({**FILES, "gold_npclust.txt": "3\t2\t3\t4\n"})) == [[2], [1]]


@pytest.mark.parametrize(
    ("clusters", "message"),
    [
        ("0\t2\t0\n", r"gold_npclust\.txt:1: found '0\\t2\\t0', expected the id of a mention, the number"),
        ("0\t1\t1\n", r"gold_npclust\.txt:1: found .*its own among them"),
        ("0\t2\t0\t5\n", r"gold_npclust\.txt:1: .*from 0 to 4 of ent2id\.txt"),
        ("2\t1\t2\nx\t1\tx\n", r"gold_npclust\.txt:2: "),
        ("0\n", r"gold_npclust\.txt:1: "),
        (
            "0\t2\t0\t1\n1\t2\t1\t2\n",
            r"gold_npclust\.txt:2: the mention 1 \('new york'\) is in another cluster on line 1; expected each in one",
        ),
    ],
)
def test_bad_clusters_are_refused(write: Callable[..., Path], clusters: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        load(write({**FILES, "gold_npclust.txt": clusters}))


def test_of_two_clusters_the_first_counts_when_bad_lines_are_skipped(write: Callable[..., Path]) -> None:
    folder = write({**FILES, "gold_npclust.txt": "0\t2\t0\t1\n1\t2\t1\t2\n2\t2\t1\t2\n"})
    reading = read(folder, skip_bad_lines=True)
    assert reading.report.skipped_lines == 2
    assert reading.kb.gold_mentions("test").row(0).tolist() == [2]
    assert reading.kb.gold_mentions("test").row(1).tolist() == [0, 1]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"train_trip.txt": "2\n0\t0\t2\n"}, r"train_trip\.txt:1: the first line says 2, but 1 lines follow"),
        ({"test_trip.txt": "1\n0\t0\n"}, r"test_trip\.txt:2: found 2 columns"),
        ({"test_trip.txt": "1\n0\t2\t1\n"}, r"test_trip\.txt:2: the relation is '2', expected an id from 0 to 1"),
        ({"ent2id.txt": "2\nnyc\t0\n \t1\n"}, r"ent2id\.txt:3: the name is empty"),
    ],
)
def test_bad_facts_and_ids_are_refused(write: Callable[..., Path], files: dict[str, str], message: str) -> None:
    with pytest.raises(DataError, match=message):
        load(write({**FILES, **files}))


def test_the_check_counts_mentions_and_takes_unseen_phrases_lightly(write: Callable[..., Path]) -> None:
    findings = check(load(write(FILES)))
    (mentions,) = findings.about("mentions")
    assert (mentions.count, mentions.severity) == (2, "info")
    assert "nyc = new york" in mentions.examples
    assert [(f.count, f.severity) for f in findings.about("unseen-entities")] == [(2, "info"), (1, "info")]
