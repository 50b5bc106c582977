"""A run packed into one file: it opens anywhere, and a file that was tampered with opens nowhere."""

from __future__ import annotations

import hashlib
import json
import shutil
import zipfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cear.config import RunConfig
from cear.core.errors import CearError, DataError, MismatchError
from cear.pipeline import Run, open_run, pack, run, unpack_run

SMALL = {"rank": 8, "batch": 20, "epochs": 4, "validate_every": 4, "embedding": {"kind": "text"}}
QUESTION = {"relation": "lies_in", "subject": "Town 3"}


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory, write_towns: Callable[..., Path]) -> tuple[Path, list[Any]]:
    """A packed run whose folder and data are gone, and what it answered before it was packed."""
    place = tmp_path_factory.mktemp("made")
    data = write_towns(place / "towns")
    config = RunConfig.model_validate({"data": str(data), "seed": 1, "stage1": SMALL})
    made = run(config, place / "run")
    answers = list(map(asdict, made.ask(**QUESTION)))
    pack(made, place / "towns.cear")
    shutil.rmtree(place / "run")
    shutil.rmtree(data)
    return place / "towns.cear", answers


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CEAR_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def rewritten(file: Path, to: Path, change: Callable[[dict[str, bytes]], None], **how: Any) -> Path:
    """The same archive with other content."""
    with zipfile.ZipFile(file) as archive:
        held = {name: archive.read(name) for name in archive.namelist()}
    change(held)
    with zipfile.ZipFile(to, "w", **how) as archive:
        for name, content in held.items():
            archive.writestr(name, content)
    return to


def listed(held: dict[str, bytes], name: str, content: bytes) -> None:
    """Add a member that the list knows."""
    values = json.loads(held["packed.json"])
    values["files"][name] = [len(content), hashlib.sha256(content).hexdigest()]
    held["packed.json"] = json.dumps(values).encode()
    held[name] = content


class TestWhole:
    def test_it_answers_and_measures_as_before_without_folder_data_and_encoder(
        self, packed: tuple[Path, list[Any]], cache: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def no_encoder(*_: object, **__: object) -> None:
            raise AssertionError("its text vectors are packed")

        monkeypatch.setattr("cear.texts.vectors.load_encoder", no_encoder)
        file, answers = packed
        before = file.read_bytes()
        opened = open_run(file)
        assert list(map(asdict, opened.ask(**QUESTION))) == answers
        assert opened.evaluate("test").summary()["both"]["mrr"] > 0
        assert opened.folder.is_relative_to(cache)
        assert opened.folder.name == "towns"
        assert file.read_bytes() == before, "a packed run is only read"

    def test_it_is_unpacked_once(self, packed: tuple[Path, list[Any]], cache: Path) -> None:
        first = open_run(packed[0]).folder / "config.yaml"
        then = first.stat().st_mtime_ns
        assert open_run(packed[0]).folder / "config.yaml" == first
        assert first.stat().st_mtime_ns == then
        assert len(list((cache / "runs").iterdir())) == 1

    def test_a_damaged_copy_in_the_cache_is_told_and_made_again(
        self, packed: tuple[Path, list[Any]], cache: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        del cache
        folder = open_run(packed[0]).folder
        (folder / "data" / "train.parquet").write_bytes(b"PAR1")
        assert list(map(asdict, open_run(packed[0]).ask(**QUESTION))) == packed[1]
        assert "data/train.parquet" in caplog.text

    def test_without_a_writable_cache_it_is_unpacked_for_this_process(
        self, packed: tuple[Path, list[Any]], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("CEAR_CACHE", "/dev/null/cache")
        opened = open_run(packed[0])
        assert list(map(asdict, opened.ask(**QUESTION))) == packed[1]
        assert "cear-run-" in str(opened.folder)

    def test_unpacked_it_is_a_run_like_any_other(self, packed: tuple[Path, list[Any]], tmp_path: Path) -> None:
        unpack_run(packed[0], tmp_path / "mine")
        opened = open_run(tmp_path / "mine")
        assert list(map(asdict, opened.ask(**QUESTION))) == packed[1]
        assert json.loads((tmp_path / "mine" / "run.json").read_text())["store"] is None, "no place of another machine"
        with pytest.raises(MismatchError, match="not empty"):
            unpack_run(packed[0], tmp_path / "mine")

    def test_packed_again_it_is_the_same_file(
        self, packed: tuple[Path, list[Any]], cache: Path, tmp_path: Path
    ) -> None:
        del cache
        pack(open_run(packed[0]), tmp_path / "again.cear")
        assert (tmp_path / "again.cear").read_bytes() == packed[0].read_bytes()

    def test_both_stages_probabilities_and_proposals_move_along(
        self, people_run: Run, cache: Path, tmp_path: Path
    ) -> None:
        del cache
        facts = [("p7", "citizen_of", "land1"), ("p8", "born_in", "city2")]
        judged, completed = people_run.judge(facts, why=True), people_run.complete().table
        pack(people_run, tmp_path / "people.cear")
        opened = open_run(tmp_path / "people.cear")
        assert opened.judge(facts, why=True).equals(judged)
        assert opened.complete().table.equals(completed)
        made = [report for report in opened.plan.store.reports.values() if not report.reused]
        assert made == [], "nothing is trained or computed again"
        assert np.array_equal(opened.evaluate().ranks.above, people_run.evaluate().ranks.above)

    def test_everything_takes_along_what_trained_the_others(self, people_run: Run, tmp_path: Path) -> None:
        some, every = pack(people_run, tmp_path / "a"), pack(people_run, tmp_path / "b", everything=True)
        assert set(some) < set(every)
        assert not any(name.startswith("steps/lists/") for name in some)
        assert any(name.startswith("steps/lists/") for name in every)


class TestTampered:
    @pytest.mark.parametrize(
        "name", ["../out.txt", "/tmp/out.txt", "steps/../../out", "steps\\x", "data/a\0b", "other"]
    )
    def test_a_name_that_leads_elsewhere_is_refused(
        self, packed: tuple[Path, list[Any]], tmp_path: Path, name: str
    ) -> None:
        wrong = rewritten(packed[0], tmp_path / "wrong.cear", lambda held: listed(held, name, b"mark"))
        with pytest.raises(DataError):
            unpack_run(wrong, tmp_path / "folder" / "run")
        assert sorted(path.name for path in tmp_path.rglob("*")) == ["wrong.cear"]

    def test_one_changed_byte_of_any_file_is_told_with_its_name(
        self, packed: tuple[Path, list[Any]], tmp_path: Path
    ) -> None:
        with zipfile.ZipFile(packed[0]) as archive:
            names = archive.namelist()
        for name in names:

            def flip(held: dict[str, bytes], name: str = name) -> None:
                middle = len(held[name]) // 2
                held[name] = held[name][:middle] + bytes([held[name][middle] ^ 1]) + held[name][middle + 1 :]

            with pytest.raises(CearError, match=None if name == "packed.json" else name):
                unpack_run(rewritten(packed[0], tmp_path / "wrong.cear", flip), tmp_path / "run")
        assert not (tmp_path / "run").exists()

    def test_a_flipped_bit_anywhere_in_the_file_is_told_or_harmless(
        self, packed: tuple[Path, list[Any]], tmp_path: Path
    ) -> None:
        whole = packed[0].read_bytes()
        unpack_run(packed[0], tmp_path / "whole")
        right = {path.relative_to(tmp_path / "whole"): path.read_bytes() for path in files(tmp_path / "whole")}
        draw = np.random.default_rng(0)
        told = 0
        for place in [*draw.integers(len(whole), size=60), *range(len(whole) - 60, len(whole))]:
            (tmp_path / "wrong.cear").write_bytes(
                whole[:place] + bytes([whole[place] ^ (1 << int(draw.integers(8)))]) + whole[place + 1 :]
            )
            out = tmp_path / f"out{place}"
            try:
                unpack_run(tmp_path / "wrong.cear", out)
            except CearError:
                told += 1
                assert not out.exists()
            else:  # a date or a flag that nobody reads
                assert {path.relative_to(out): path.read_bytes() for path in files(out)} == right
        assert told > 60

    @pytest.mark.parametrize("share", [0.0, 0.3, 0.999])
    def test_a_file_that_is_cut_off_is_told(self, packed: tuple[Path, list[Any]], tmp_path: Path, share: float) -> None:
        whole = packed[0].read_bytes()
        (tmp_path / "wrong.cear").write_bytes(whole[: int(share * len(whole))])
        with pytest.raises(DataError, match="no packed run"):
            open_run(tmp_path / "wrong.cear")

    def test_what_would_grow_when_it_is_unpacked_is_refused(
        self, packed: tuple[Path, list[Any]], tmp_path: Path
    ) -> None:
        zeros = bytes(2**20)
        bomb = rewritten(
            packed[0],
            tmp_path / "wrong.cear",
            lambda held: listed(held, "data/zeros", zeros),
            compression=zipfile.ZIP_DEFLATED,
        )
        with pytest.raises(DataError, match="damaged"):
            unpack_run(bomb, tmp_path / "run")

    def test_a_file_that_its_list_does_not_name_is_refused(
        self, packed: tuple[Path, list[Any]], tmp_path: Path
    ) -> None:
        wrong = rewritten(packed[0], tmp_path / "wrong.cear", lambda held: held.update({"data/more": b""}))
        with pytest.raises(DataError, match="data/more"):
            unpack_run(wrong, tmp_path / "run")

    @pytest.mark.parametrize(
        "text", [b"[]", b"null", b"{", b'{"schema": 1}', b'{"schema": 1, "files": {"run.json": 3}}']
    )
    def test_a_list_of_another_shape_is_told(self, packed: tuple[Path, list[Any]], tmp_path: Path, text: bytes) -> None:
        wrong = rewritten(packed[0], tmp_path / "wrong.cear", lambda held: held.update({"packed.json": text}))
        with pytest.raises(DataError, match=r"packed\.json"):
            open_run(wrong)

    def test_one_of_a_later_schema_is_told_as_such(self, packed: tuple[Path, list[Any]], tmp_path: Path) -> None:
        later = {"packed.json": b'{"schema": 2, "files": {}}'}
        with pytest.raises(MismatchError, match="another version"):
            open_run(rewritten(packed[0], tmp_path / "wrong.cear", lambda held: held.update(later)))


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


class TestMovedData:
    def test_a_run_whose_data_is_gone_says_how_to_name_it(
        self, tmp_path: Path, write_towns: Callable[..., Path]
    ) -> None:
        data = write_towns(tmp_path / "towns")
        stage1 = {"rank": 4, "batch": 20, "epochs": 1}
        run(RunConfig.model_validate({"data": str(data), "stage1": stage1}), tmp_path / "run")
        data.rename(tmp_path / "moved")
        with pytest.raises(DataError, match="--data PATH"):
            open_run(tmp_path / "run")
        assert open_run(tmp_path / "run", source=str(tmp_path / "moved")).kb.n_entities == 30
