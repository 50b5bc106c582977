"""Line ends of all ages, very long lines, gzip and zstd; whole files are read and damaged ones told."""

import gzip
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from cear.core.errors import DataError
from cear.data import KnowledgeBase, check_source, load, read
from cear.data.lines import LINE, Shape
from cear.data.packed import kind_of
from cear.data.tables import read_table

SHAPE = Shape(("subject", "relation", "object"))
FACTS = "Paris\tin\tFrance\nLyon\tin\tFrance\nKraków\tin\tPoland\n"
# FACTS as `zstd --check` packs it
ZSTD = bytes.fromhex(
    "28b52ffd24316501002402506172697309696e094672616e63650a4c796f6e4b72616bc3b377506f6c616e640a0200358321c664023e5c8a15"
)


def _names(kb: KnowledgeBase) -> set[str]:
    return set(kb.entities.table["name"])


def _rows(path: Path) -> list[tuple[str, ...]]:
    return read_table(path, SHAPE).rows.rows()


class TestLineEnds:
    @pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r", b"\r\r\n"])
    @pytest.mark.parametrize("last", [True, False])
    def test_all_of_them_end_lines(self, tmp_path: Path, end: bytes, last: bool) -> None:
        path = tmp_path / "facts.tsv"
        path.write_bytes(end.join([b"a\tr\tb", b"", b"c\tr\td"]) + end * last)
        assert _rows(path) == [(1, "a", "r", "b"), (3, "c", "r", "d")]

    def test_a_bad_line_between_carriage_returns_is_named(self, tmp_path: Path) -> None:
        path = tmp_path / "facts.tsv"
        path.write_bytes(b"a\tr\tb\rc\tr\r\xff\tr\td\re\tr\tf")
        table = read_table(path, SHAPE, skip_bad_lines=True)
        assert [bad.line for bad in table.skipped] == [2, 3]
        assert table.rows[LINE].to_list() == [1, 4]

    def test_a_lone_one_among_line_feeds_stands_for_itself(self, tmp_path: Path) -> None:
        path = tmp_path / "facts.tsv"
        path.write_bytes(b"a\r\tr\tb\rb\nc\tr\td\n")
        assert _rows(path) == [(1, "a\r", "r", "b\rb"), (2, "c", "r", "d")]

    def test_one_between_two_blocks_that_are_read_is_no_lone_one(self, tmp_path: Path) -> None:
        path = tmp_path / "facts.tsv"
        path.write_bytes(b"a\tr\t" + b"x" * ((1 << 20) - 5) + b"\r\nc\tr\td\r\n")
        assert [len(row[3]) for row in _rows(path)] == [(1 << 20) - 5, 1]


class TestLongLines:
    @pytest.mark.parametrize("name", ["facts.tsv", "facts.csv"])
    def test_a_very_long_first_line_is_a_line(self, write: Callable[..., Path], name: str) -> None:
        between, long = "\t" if name.endswith("tsv") else ",", "x" * 3_000_000
        lines = [[long, "in", "France"], ['"Lyon"', "in", "France"]]
        path = write({name: "".join(between.join(line) + "\n" for line in lines)}) / name
        assert long in _names(load(path))

    @pytest.mark.parametrize("name", ["facts.tsv", "facts.csv"])
    def test_one_that_does_not_fit_is_told_in_short(self, write: Callable[..., Path], name: str) -> None:
        path = write({name: "x\t," * 300_000}) / name
        with pytest.raises(DataError, match=r":1: found 300001 columns") as raised:
            load(path)
        assert len(str(raised.value)) < 800

    def test_a_count_of_thousands_of_digits_is_none(self, write: Callable[..., Path]) -> None:
        ids = "1\na\t0\n"
        files = {"entity2id.txt": "9" * 5_000 + "\na\t0\n", "relation2id.txt": ids, "train2id.txt": "1\n0 0 0\n"}
        with pytest.raises(DataError, match=r"entity2id\.txt:1: found '9+', expected the number of lines"):
            load(write(files))


PACKED = {"gz": gzip.compress(FACTS.encode()), "zst": ZSTD}


class TestPacked:
    @pytest.mark.parametrize("content", PACKED.values(), ids=PACKED)
    @pytest.mark.parametrize("name", ["facts.tsv", "facts.txt.gz", "facts.TSV.zst"])
    def test_the_content_decides_whatever_the_name_is(
        self, write: Callable[..., Path], name: str, content: bytes
    ) -> None:
        plain = load(write({"plain.tsv": FACTS}) / "plain.tsv")
        assert load(write({name: content}) / name).digest == plain.digest

    def test_what_is_called_packed_and_is_not_is_read(self, write: Callable[..., Path]) -> None:
        assert "Lyon" in _names(load(write({"facts.tsv.gz": FACTS}) / "facts.tsv.gz"))

    @pytest.mark.parametrize("content", PACKED.values(), ids=PACKED)
    def test_splits_and_texts_of_a_folder_may_be_packed(self, write: Callable[..., Path], content: bytes) -> None:
        folder = write({"train.txt.gz": content, "entity2text.txt": gzip.compress(b"Paris\tthe capital\n")})
        assert _names(load(folder)) == {"the capital", "Lyon", "Kraków", "France", "Poland"}

    def test_a_split_packed_and_plain_is_refused(self, write: Callable[..., Path]) -> None:
        with pytest.raises(DataError, match=r"train\.txt and train\.txt\.gz, both for train"):
            load(write({"train.txt": FACTS, "train.txt.gz": PACKED["gz"]}))

    @pytest.mark.parametrize("kind", ["gz", "zst"])
    def test_a_damaged_one_is_told(self, write: Callable[..., Path], kind: str) -> None:
        whole = PACKED[kind]
        flipped = [whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :] for at in range(len(whole) - 8, len(whole))]
        for damaged in [*flipped, whole[:-1], whole[: len(whole) // 2], whole[:12]]:
            with pytest.raises(DataError, match=r"facts\.tsv is packed and damaged: .*anew"):
                load(write({"facts.tsv": damaged}) / "facts.tsv")

    def test_bad_lines_of_packed_files_are_named_and_skipped(self, write: Callable[..., Path]) -> None:
        path = write({"facts.csv.gz": gzip.compress(b'a,r,b\n"c,r,d\n\xff,r,f\ng,r,h\n')}) / "facts.csv.gz"
        with pytest.raises(DataError, match=r"facts\.csv\.gz:2: a quote"):
            load(path)
        assert read(path, skip_bad_lines=True).report.skipped_lines == 2

    def test_parquet_is_not_told_by_a_name_of_text(self, tmp_path: Path) -> None:
        pl.DataFrame({"s": ["a"], "r": ["b"], "o": ["c"]}).write_parquet(tmp_path / "facts.parquet")
        assert kind_of(tmp_path / "facts.parquet") == ".parquet"
        assert _names(load(tmp_path / "facts.parquet")) == {"a", "c"}


class TestLikelyHeaders:
    LINES = "".join(f"s{i % 5}\tr{i % 2}\to{i % 4}\n" for i in range(20))

    def _topics(self, path: Path) -> dict[str, tuple[str, ...]]:
        return {finding.topic: finding.examples for finding in check_source(path).findings}

    @pytest.mark.parametrize("header", ["Subjekt\tBeziehung\tObjekt", "主語\t述語\t目的語", "h\tr\tt"])
    def test_one_in_any_language_is_asked_about(
        self, write: Callable[..., Path], header: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        found = self._topics(write({"facts.tsv": f"{header}\n{self.LINES}"}) / "facts.tsv")
        assert found["header-line"] == (", ".join(header.split("\t")),)
        assert "is the first line a header?" in caplog.text

    @pytest.mark.parametrize(
        "first", ["subject\trelation\tobject", "s1\tr1\to3", "Subjekt\tr1\tObjekt", "s1\tBeziehung\tObjekt"]
    )
    def test_a_header_that_we_know_and_a_fact_are_not(self, write: Callable[..., Path], first: str) -> None:
        assert "header-line" not in self._topics(write({"facts.tsv": f"{first}\n{self.LINES}"}) / "facts.tsv")

    def test_that_of_a_folder_is_asked_about_too(self, write: Callable[..., Path]) -> None:
        found = self._topics(write({"train.txt": f"Kopf\tBeziehung\tEnde\n{self.LINES}"}))
        assert found["header-line"] == ("Kopf, Beziehung, Ende",)

    def test_nothing_is_asked_where_relations_hardly_repeat(self, write: Callable[..., Path]) -> None:
        lines = "".join(f"s{i}\tr{i}\to{i}\n" for i in range(20))
        assert "header-line" not in self._topics(write({"facts.tsv": lines}) / "facts.tsv")
