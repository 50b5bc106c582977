"""Readings kept as Parquet."""

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from cear.core.types import Ragged
from cear.data import KnowledgeBase, Mentions, cache, load, read
from cear.data.cache import cached, place
from cear.data.draft import ReadOptions
from cear.data.report import Reading
from cear.data.sources import cache_root

FILES = {"train.txt": "a\tr\tb\nc\tr\td\nc\tr\td\n", "entity2text.txt": "a\tAnna, a person\nz\tnobody\n"}


@pytest.fixture(autouse=True)
def _cache_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cear.data.cache.CACHED_FROM_BYTES", 0)


@pytest.fixture
def folder(write: Callable[..., Path]) -> Path:
    return write(FILES)


def _never() -> Reading:
    raise AssertionError("the cache was not used")


def _kept(folder: Path) -> Reading:
    return cached(folder, ReadOptions(), "other name", _never)


def _is_fresh(folder: Path) -> bool:
    try:
        _kept(folder)
    except AssertionError:
        return False
    return True


def test_a_kept_reading_is_the_same_reading(folder: Path) -> None:
    made = read(folder)
    kept = _kept(folder)
    assert kept.kb.digest == made.kb.digest
    assert kept.report == made.report
    assert kept.report.duplicate_facts == 1
    assert (made.kb.name, kept.kb.name) == ("kb", "other name")
    assert kept.kb.facts("train").flags.c_contiguous


def test_mentions_are_kept_too(write: Callable[..., Path]) -> None:
    linked = "a\tr\tc\ta|||d\tc|||b\n"
    folder = write({"train_data_thorough.txt": "a\tr\tb\nc\tr\td\n", "test_data.txt": linked})
    made, kept = read(folder), _kept(folder)
    assert made.kb.mentions is not None
    assert kept.kb.digest == made.kb.digest
    assert kept.kb.gold_mentions("test").values.tolist() == [1, 2, 0, 3]


def test_types_are_kept_too(write: Callable[..., Path]) -> None:
    folder = write({**FILES, "entity2types.txt": "a\tperson | singer\nd\tdog\n"})
    made, kept = read(folder).kb, _kept(folder).kb
    assert kept.types is not None
    assert [kept.types.of(entity) for entity in range(4)] == [("person", "singer"), (), (), ("dog",)]
    assert kept.digest == made.digest


def test_types_that_facts_say_are_kept_as_such(write: Callable[..., Path]) -> None:
    file = write({"kb.ttl": "@prefix : <http://x/> . :a a :City . :b a :City ; :in :a ."}) / "kb.ttl"
    made, kept = load(file), _kept(file).kb
    for kb in (made, kept):
        assert kb.types is not None
        a, b = (kb.entities.by_id[f"http://x/{name}"] for name in "ab")
        assert (kb.types.of(a), kb.types.of(b)) == (("City",), ("City",))
        empty = kb.with_facts({})
        assert empty.types is not None
        assert empty.types.of(a) == ()


def test_a_change_of_the_files_is_noticed(folder: Path) -> None:
    load(folder)
    file = folder / "train.txt"
    before = file.stat()
    file.write_text(FILES["train.txt"].replace("a", "e"))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns + 1))  # the same size, a nanosecond later
    assert not _is_fresh(folder)
    assert load(folder).entities.id(0) == "e"


def test_a_new_file_is_noticed(folder: Path) -> None:
    load(folder)
    (folder / "valid.txt").write_text("a\tr\td\n")
    assert len(load(folder).facts("valid")) == 1


def test_other_options_are_another_reading(folder: Path) -> None:
    assert load(folder).entities.name(0) == "Anna, a person"
    assert load(folder, text="name, description").entities.name(0) == "Anna"
    assert load(folder).entities.name(0) == "Anna, a person"


def test_another_version_of_the_reader_reads_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load(folder)
    monkeypatch.setattr("cear.data.cache.READER_VERSION", cache.READER_VERSION + 1)
    assert not _is_fresh(folder)


@pytest.mark.parametrize("name", ["train.parquet", "entities.parquet", "manifest.json"])
@pytest.mark.parametrize("damage", [lambda content: content[:-9], lambda _: b"", lambda _: None])
def test_a_damaged_cache_is_made_again(folder: Path, name: str, damage: Callable[[bytes], bytes | None]) -> None:
    digest = load(folder).digest
    file = place(folder, ReadOptions()) / name
    left = damage(file.read_bytes())
    file.unlink()
    if left is not None:
        file.write_bytes(left)
    assert not _is_fresh(folder)
    assert load(folder).digest == digest
    assert _is_fresh(folder)


@pytest.mark.parametrize("manifest", ["[]", "{}", '{"stamp": 1}', "null"])
def test_a_strange_manifest_is_made_again(folder: Path, manifest: str) -> None:
    load(folder)
    (place(folder, ReadOptions()) / "manifest.json").write_text(manifest)
    assert load(folder).n_entities == 4
    assert _is_fresh(folder)


def test_an_interrupted_write_leaves_the_old_cache(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load(folder)
    kept = place(folder, ReadOptions())
    before = {file.name: file.read_bytes() for file in kept.iterdir()}

    def full_disk(*_: object) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr("cear.data.cache.write_json", full_disk)
    monkeypatch.setattr("cear.data.cache.READER_VERSION", cache.READER_VERSION + 1)
    assert load(folder).n_entities == 4  # the reading itself succeeds
    assert {file.name: file.read_bytes() for file in kept.iterdir()} == before
    assert [path.name for path in kept.parent.iterdir()] == [kept.name]


def test_a_cache_that_cannot_be_written_costs_nothing(folder: Path) -> None:
    cache_root().write_text("a file where the folder should be")
    assert load(folder).n_entities == 4


def test_one_folder_a_source_is_kept_and_can_be_cleared(folder: Path) -> None:
    for text in ("a\tr\tb\n", "a\tr\tb\nb\tr\ta\n"):
        (folder / "train.txt").write_text(text)
        load(folder)
    assert len(list((cache_root() / "knowledge-bases").iterdir())) == 1
    cache.clear()
    assert not (cache_root() / "knowledge-bases").exists()


def test_the_cache_can_be_left_alone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load(folder, cache=False)
    assert not cache_root().exists()
    monkeypatch.setattr("cear.data.cache.CACHED_FROM_BYTES", 10_000)
    load(folder)  # too small to be worth it
    assert not cache_root().exists()


def test_a_thing_that_no_fact_mentions_is_kept_as_such(write: Callable[..., Path], tmp_path: Path) -> None:
    made = read(write({"train.txt": "a\tr\tb\n"}))
    mentions = Mentions(Ragged.of([[0, 1], [], []]), {"train": np.array([[0, 0]])})
    linked = KnowledgeBase("kb", made.kb.entities, made.kb.relations, {"train": made.kb.facts("train")}, mentions)
    cache.save(tmp_path / "kept", Reading(linked, made.report), {})
    kept = cache.load(tmp_path / "kept", "kb", {})
    assert kept is not None
    assert kept.kb.digest == linked.digest
