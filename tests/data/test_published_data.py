"""The published benchmarks, when the folder named by CEAR_DATA holds them: their figures are known."""

import hashlib
import os
from pathlib import Path

import pytest

from cear.data import check, load
from cear.data.named import NAMED

HERE = os.environ.get("CEAR_DATA")  # read before the tests' own places hide it

FIGURES = {
    "fb15k-237": (14_541, 237, (272_115, 17_535, 20_466)),
    "wn18rr": (40_943, 11, (86_835, 3_034, 3_134)),
    "reverb45k": (27_008, 21_623, (35_942, 3_598, 5_390)),  # each once: 28 and 5 lines repeat others
    "mokb6-en": (20_637, 7_870, (20_195, 500, 550)),
}


@pytest.fixture(params=sorted(FIGURES))
def name(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    chosen = str(request.param)
    if HERE is None or not (Path(HERE) / chosen).is_dir():
        pytest.skip(f"CEAR_DATA names no folder that holds {chosen}/")
    monkeypatch.setenv("CEAR_DATA", HERE)
    return chosen


def test_the_sizes_are_the_published_ones(name: str) -> None:
    kb = load(name)
    sizes = tuple(len(kb.facts(split)) for split in ("train", "valid", "test"))
    assert (kb.n_entities, kb.n_relations, sizes) == FIGURES[name]


def test_closed_benchmarks_name_every_entity(name: str) -> None:
    if name in ("fb15k-237", "wn18rr"):
        assert check(load(name)).about("unnamed-entities") == ()


def test_reverb45k_has_its_clusters() -> None:
    if HERE is None or not (Path(HERE) / "reverb45k").is_dir():
        pytest.skip("CEAR_DATA names no folder that holds reverb45k/")
    kb = load(Path(HERE) / "reverb45k")
    assert kb.mentions is not None
    assert (len(kb.mentions.members), int((kb.mentions.members.counts > 1).sum())) == (18_626, 6_239)


def test_the_sums_in_our_table_are_of_these_files(name: str) -> None:
    for file in NAMED[name].files:
        content = (Path(HERE or "") / name / file.name).read_bytes().replace(b"\r\n", b"\n")
        assert hashlib.sha256(content).hexdigest() == file.sha256, file.name


def test_what_is_known_to_be_odd_is_found() -> None:
    if HERE is None or not (Path(HERE) / "fb15k-237").is_dir():
        pytest.skip("CEAR_DATA names no folder that holds fb15k-237/")
    findings = check(load(Path(HERE) / "fb15k-237"))
    assert [finding.count for finding in findings.about("unseen-entities")] == [8, 29]
    assert findings.about("inverse-leak") == findings.about("duplicate-leak") == findings.about("shared-facts") == ()
