"""Names and paths: where a knowledge base is looked for."""

import hashlib
import urllib.error
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from cear.core.errors import DataError, UnknownName
from cear.data import load
from cear.data.layouts import LAYOUTS, recognise
from cear.data.named import NAMED, Published
from cear.data.sources import cache_root, find_source

FACTS = b"a\tr\tb\n"


def _put(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "train.txt").write_bytes(FACTS)
    return folder


def test_a_name_is_looked_for_in_the_data_folder_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CEAR_DATA", str(tmp_path / "data"))
    cached = _put(cache_root() / "data" / "wn18rr")
    assert find_source("wn18rr").path == cached
    own = _put(tmp_path / "data" / "wn18rr")
    assert find_source("wn18rr").path == own
    assert load("WN18RR").name == "wn18rr"


def test_a_named_data_set_knows_what_its_texts_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CEAR_DATA", str(tmp_path))
    for name in ("wn18rr", "fb15k-237", "fb15k-237-n"):
        (_put(tmp_path / name) / "entity2text.txt").write_text("a\tstool, a seat\n")
    assert load("wn18rr").entities.name(0) == "stool"
    assert load("fb15k-237-n").entities.name(0) == "stool"
    assert load("fb15k-237").entities.name(0) == "stool, a seat"


def test_a_name_that_is_nowhere_says_what_to_do() -> None:
    with pytest.raises(DataError, match=r"'wn18rr' is not on this machine.*Set CEAR_DATA .*download=True"):
        load("wn18rr")


class TestAPathInPlaceOfAName:
    """A run on a named data set is opened where the data is now, and must find the same knowledge base."""

    @pytest.fixture
    def moved(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        monkeypatch.setenv("CEAR_DATA", str(tmp_path))
        for folder in (tmp_path / "wn18rr", tmp_path / "elsewhere"):
            (_put(folder) / "entity2text.txt").write_text("a\tstool, a seat\nb\tdog, an animal\n")
        return tmp_path / "elsewhere"

    def test_is_read_by_the_rules_of_that_name(self, moved: Path) -> None:
        there, here = load("wn18rr"), load(moved, like="WN18RR")
        assert (here.digest, here.name) == (there.digest, "wn18rr")
        assert load(moved).digest != there.digest, "which nothing in the folder tells"

    def test_what_is_said_outright_wins(self, moved: Path) -> None:
        told = load(moved, like="wn18rr", name="mine", text="name")
        assert (told.name, told.entities.name(0)) == ("mine", "stool, a seat")

    @pytest.mark.parametrize("like", [None, "data/towns", "fb15k"])
    def test_what_has_no_name_has_no_rules(self, moved: Path, like: str | None) -> None:
        assert (load(moved, like=like).digest, load(moved, like=like).name) == (load(moved).digest, "elsewhere")

    def test_a_name_keeps_its_own(self, moved: Path) -> None:
        assert load("wn18rr", like="fb15k-237").digest == load(moved, like="wn18rr").digest


def test_an_archive_is_unpacked_by_hand() -> None:
    with pytest.raises(
        DataError, match=r"'olpbench' is not on this machine.*or unpack http://.*olpbench\.tar\.gz there"
    ):
        load("olpbench", download=True)


@pytest.mark.parametrize(("name", "home"), [("codex-m", "tsafavi/codex"), ("fb15k-237-n", "THU-KEG/PKGC")])
def test_what_has_no_address_to_download_from_is_put_there_by_hand(name: str, home: str) -> None:
    with pytest.raises(
        DataError, match=rf"'{name}' is not on this machine.*Set CEAR_DATA .*by hand .*{home} publishes"
    ):
        load(name, download=True)


def test_an_unknown_name_gets_the_closest() -> None:
    with pytest.raises(UnknownName, match=r"No data set is called 'wn18r'.*Did you mean 'wn18rr'"):
        load("wn18r")


@pytest.mark.parametrize("source", ["nowhere/facts", "facts.tsv", Path("nowhere")])
def test_a_path_that_is_not_there_is_named(source: str | Path) -> None:
    with pytest.raises(DataError, match=f"There is no file or folder {source}"):
        load(source)


def test_a_knowledge_base_is_called_by_its_path_or_as_told(write: Callable[..., Path]) -> None:
    folder = write({"train.txt": FACTS, "more.tsv": FACTS})
    assert [load(folder).name, load(folder / "more.tsv").name, load(folder, name="mine").name] == ["kb", "more", "mine"]


def test_the_embedded_data_set_needs_no_folder() -> None:
    assert find_source("demo").path.name == "demo"


def test_what_is_not_recognised_gets_a_list_of_what_is(write: Callable[..., Path]) -> None:
    folder = write({"notes.md": "nothing here"})
    for path, shown in ((folder, r"a folder with notes\.md"), (folder / "notes.md", r"notes\.md is not")):
        with pytest.raises(DataError, match=shown) as raised:
            recognise(path)
        assert all(layout.looks in str(raised.value) for layout in LAYOUTS)


@pytest.mark.parametrize(
    ("files", "part", "layout"),
    [
        (["train.txt"], "", "folder"),
        (["train.txt", "entity2id.txt", "relation2id.txt", "train2id.txt"], "", "openke"),
        (["ent2id.txt", "rel2id.txt", "train_trip.txt"], "", "care"),
        (["train_data_basic.txt"], "", "olpbench"),
        (["train.txt"], "train.txt", "file"),
        (["facts.CSV"], "facts.CSV", "file"),
        (["facts.ttl"], "facts.ttl", "rdf"),
        (["facts.nt"], "facts.nt", "rdf"),
    ],
)
def test_layouts_are_told_apart(write: Callable[..., Path], files: list[str], part: str, layout: str) -> None:
    assert recognise(write(dict.fromkeys(files, "")) / part).name == layout


@pytest.fixture
def published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stand-in for the published file, by a file address, with its sum in the table."""
    file = tmp_path / "published.tsv"
    file.write_bytes(FACTS)
    entry = Published("train.txt", file.as_uri(), hashlib.sha256(FACTS).hexdigest())
    monkeypatch.setitem(NAMED, "wn18rr", replace(NAMED["wn18rr"], files=(entry,)))
    return file


def test_a_download_happens_only_on_request_and_only_once(published: Path) -> None:
    with pytest.raises(DataError, match="not on this machine"):
        load("wn18rr")
    assert len(load("wn18rr", download=True).facts("train")) == 1
    published.unlink()
    assert len(load("wn18rr").facts("train")) == 1
    assert [path.name for path in (cache_root() / "data").iterdir()] == ["wn18rr"]


def test_other_line_ends_are_the_same_file(published: Path) -> None:
    published.write_bytes(FACTS.replace(b"\n", b"\r\n"))
    load("wn18rr", download=True)
    assert (cache_root() / "data" / "wn18rr" / "train.txt").read_bytes() == FACTS


def test_a_file_with_another_sum_is_refused_and_leaves_nothing(published: Path) -> None:
    published.write_bytes(FACTS + b"c\tr\td\n")
    with pytest.raises(DataError, match=r"published\.tsv is not the file that we know.*SHA-256"):
        load("wn18rr", download=True)
    assert list((cache_root() / "data").iterdir()) == []


@pytest.mark.usefixtures("published")
def test_offline_the_error_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(*_: object, **__: object) -> None:
        raise urllib.error.URLError("Name or service not known")

    monkeypatch.setattr("urllib.request.urlopen", unreachable)
    with pytest.raises(DataError, match=r"could not be fetched.*Is this machine online"):
        load("wn18rr", download=True)
    assert list((cache_root() / "data").iterdir()) == []


def test_every_published_file_has_a_safe_address_and_a_sum() -> None:
    files = [file for named in NAMED.values() for file in named.files]
    assert len(files) == 19
    assert all(file.address.startswith("https://") and len(bytes.fromhex(file.sha256)) == 32 for file in files)
