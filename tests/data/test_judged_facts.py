"""Facts that people judged: files of them, and those of a data folder."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from cear.core.errors import DataError
from cear.data import Judged, KnowledgeBase, Vocabulary, judged_of, read_judged


@pytest.fixture
def kb() -> KnowledgeBase:
    """Paris 0, Texas's Paris 1, France 2, Berlin 3; "capital of" 0, "in" 1."""
    entities = Vocabulary.from_ids(
        "entity", ["Q90", "Q830149", "Q142", "Q64"], names=["Paris", "Paris", "France", "Berlin"]
    )
    relations = Vocabulary.from_ids("relation", ["P1376", "P131"], names=["capital of", "in"])
    return KnowledgeBase("toy", entities, relations, {"train": np.array([[0, 1, 2]]), "test": np.array([[0, 0, 2]])})


def told(judged: Judged) -> list[tuple[int, int, int, bool]]:
    pairs = zip(judged.facts.tolist(), judged.truth.tolist(), strict=True)
    return [(s, r, o, truth) for (s, r, o), truth in pairs]


class TestAFile:
    @pytest.mark.parametrize(
        ("name", "content"),
        [
            ("j.tsv", "Q90\tP1376\tQ142\ttrue\nQ64\tP131\tQ142\tFALSE\n"),
            ("j.txt", "Q90\tcapital of\tfrance\tyes\n\nBerlin\tIn\tFrance\tno\n"),
            ("j.csv", 'truth,object,relation,subject\n1,"France",capital of,Q90\n0,Q142,in,Berlin\n'),
            ("j.tsv", "Head\tPredicate\tTail\tTruth\nQ90\tP1376\tQ142\t1\nQ64\tP131\tQ142\t-1\n"),
        ],
    )
    def test_has_ids_or_names_and_a_truth(
        self, write: Callable[..., Path], kb: KnowledgeBase, name: str, content: str
    ) -> None:
        judged = read_judged(write({name: content}) / name, kb)
        assert told(judged) == [(0, 0, 2, True), (3, 1, 2, False)]
        assert (len(judged), judged.skipped) == (2, 0)
        assert judged.truth.dtype == bool

    @pytest.mark.parametrize("content", ["Q64\tin\tQ142\n", "subject\trelation\tobject\nQ64\tin\tQ142\n"])
    def test_without_a_truth_is_told_it(self, write: Callable[..., Path], kb: KnowledgeBase, content: str) -> None:
        file = write({"j.tsv": content}) / "j.tsv"
        assert told(read_judged(file, kb, truth=False)) == [(3, 1, 2, False)]
        with pytest.raises(DataError, match=r"j\.tsv has no column 'truth'.*truth=True or False"):
            read_judged(file, kb)

    @pytest.mark.parametrize(
        ("second", "message"),
        [
            ("Berlim\tin\tFrance\tyes", r"j\.tsv:2: No entity is called 'Berlim'\. Did you mean 'Berlin'"),
            ("Paris\tin\tFrance\tyes", r"j\.tsv:2: 2 entities are called 'Paris'\. Say which by its id: Q90, Q830149"),
            ("Berlin\tof\tFrance\tyes", r"j\.tsv:2: No relation is called 'of'"),
            ("Berlin\tin\tFrance\tperhaps", r"j\.tsv:2: the truth is 'perhaps', expected one of true, yes, 1, false"),
            ("Berlin\tin\tFrance", r"j\.tsv:2: found 3 columns"),
        ],
    )
    def test_with_a_line_that_says_nothing_is_refused(
        self, write: Callable[..., Path], kb: KnowledgeBase, second: str, message: str
    ) -> None:
        file = write({"j.tsv": f"Berlin\tin\tFrance\tno\n{second}\n"}) / "j.tsv"
        with pytest.raises(DataError, match=message + r".*skip_bad_lines"):
            read_judged(file, kb)
        judged = read_judged(file, kb, skip_bad_lines=True)
        assert (told(judged), judged.skipped) == ([(3, 1, 2, False)], 1)

    def test_says_how_many_more_lines_are_unknown(self, write: Callable[..., Path], kb: KnowledgeBase) -> None:
        file = write({"j.tsv": "x\tin\tFrance\tno\ny\tin\tFrance\tno\nz\tin\tFrance\tno\n"}) / "j.tsv"
        with pytest.raises(DataError, match=r"j\.tsv:1: .*'x'.* 2 more lines have problems"):
            read_judged(file, kb)

    @pytest.mark.parametrize("name", ["j.parquet", "judged"])
    def test_of_another_kind_is_refused(self, tmp_path: Path, kb: KnowledgeBase, name: str) -> None:
        with pytest.raises(DataError, match=rf"{name} is not a file of judged facts that we read.*\.tsv"):
            read_judged(tmp_path / name, kb)


class TestAFolder:
    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        folder = tmp_path / "data" / "codex-m"
        (folder / "judged").mkdir(parents=True)
        (folder / "judged" / "test_false.txt").write_text("Q64\tP1376\tQ142\n")
        return folder

    def test_with_both_files_has_the_true_ones_first(self, folder: Path, kb: KnowledgeBase) -> None:
        (folder / "judged" / "test_true.txt").write_text("Q64\tP131\tQ142\nQ830149\tP131\tQ142\n")
        judged = judged_of(folder, kb, "test")
        assert told(judged) == [(3, 1, 2, True), (1, 1, 2, True), (3, 0, 2, False)]

    def test_with_false_ones_only_takes_the_split_for_true(self, folder: Path, kb: KnowledgeBase) -> None:
        assert told(judged_of(folder, kb, "test")) == [(0, 0, 2, True), (3, 0, 2, False)]

    def test_with_true_ones_only_has_no_false_ones(self, folder: Path, kb: KnowledgeBase) -> None:
        (folder / "judged" / "test_false.txt").rename(folder / "judged" / "valid_true.txt")
        assert told(judged_of(folder, kb, "valid")) == [(3, 0, 2, True)]

    def test_is_found_by_its_name(self, folder: Path, kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("CEAR_DATA", str(folder.parent))
        assert len(judged_of("codex-m", kb, "test")) == 2

    def test_without_judged_facts_says_what_is_looked_for(self, folder: Path, kb: KnowledgeBase) -> None:
        with pytest.raises(DataError, match=r"judged has no valid_true\.txt and no valid_false\.txt"):
            judged_of(folder, kb, "valid")

    def test_counts_what_it_skips(self, folder: Path, kb: KnowledgeBase) -> None:
        with (folder / "judged" / "test_false.txt").open("a") as file:
            file.write("Q1\tP1376\tQ142\n")
        assert judged_of(folder, kb, "test", skip_bad_lines=True).skipped == 1


class TestTheLogOfAReview:
    def read(self, kb: KnowledgeBase, tmp_path: Path, *verdicts: tuple[str, str, str, str]) -> Judged:
        lines = [
            json.dumps(dict(zip(("subject", "relation", "object", "verdict"), each, strict=True))) for each in verdicts
        ]
        (tmp_path / "log.jsonl").write_text("\n".join(lines) + "\n")
        return read_judged(tmp_path / "log.jsonl", kb)

    def test_what_was_accepted_is_true_and_what_was_rejected_false(self, kb: KnowledgeBase, tmp_path: Path) -> None:
        yes, no = ("Q64", "P131", "Q142", "accepted"), ("Q830149", "P131", "Q142", "rejected")
        assert told(self.read(kb, tmp_path, yes, no)) == [(3, 1, 2, True), (1, 1, 2, False)]

    def test_the_last_decision_about_a_fact_counts(self, kb: KnowledgeBase, tmp_path: Path) -> None:
        fact = ("Q64", "P131", "Q142")
        assert told(self.read(kb, tmp_path, (*fact, "accepted"), (*fact, "rejected"))) == [(3, 1, 2, False)]
        assert told(self.read(kb, tmp_path, (*fact, "accepted"), (*fact, "undone"))) == []
        assert told(self.read(kb, tmp_path, (*fact, "skipped"))) == []

    def test_a_line_that_is_no_decision_is_told(self, kb: KnowledgeBase, tmp_path: Path) -> None:
        with pytest.raises(DataError, match=r"log\.jsonl, line 1 is no decision: expected texts and a verdict"):
            self.read(kb, tmp_path, ("Q64", "P131", "Q142", "perhaps"))
