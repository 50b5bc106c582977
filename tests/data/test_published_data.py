"""The published benchmarks, when the folder named by CEAR_DATA holds them: their figures are known."""

import hashlib
import os
from pathlib import Path

import pytest

from cear.data import check, judged_of, load
from cear.data.named import NAMED

HERE = os.environ.get("CEAR_DATA")  # read before the tests' own places hide it

FIGURES = {
    "fb15k-237": (14_541, 237, (272_115, 17_535, 20_466)),
    "wn18rr": (40_943, 11, (86_835, 3_034, 3_134)),
    "fb15k-237-n": (13_104, 93, (87_282, 7_041, 8_226)),
    "codex-m": (17_050, 51, (185_584, 10_310, 10_311)),
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
    if name in ("fb15k-237", "fb15k-237-n", "wn18rr"):
        assert check(load(name)).about("unnamed-entities") == ()


def test_reverb45k_has_its_clusters() -> None:
    if HERE is None or not (Path(HERE) / "reverb45k").is_dir():
        pytest.skip("CEAR_DATA names no folder that holds reverb45k/")
    kb = load(Path(HERE) / "reverb45k")
    assert kb.mentions is not None
    assert (len(kb.mentions.members), int((kb.mentions.members.counts > 1).sum())) == (18_626, 6_239)


def test_codex_m_has_a_type_for_every_entity(name: str) -> None:
    types = load(name).types
    assert (types is not None) == (name == "codex-m")
    if types is not None:
        assert (len(types.names), int(types.of_entity.counts.min())) == (1_494, 1)


def test_judged_facts_are_as_many_as_published(name: str) -> None:
    sizes = {"fb15k-237-n": (1_024, 1_024), "codex-m": (10_311, 10_311)}
    if name in sizes:
        judged = judged_of(name, load(name), "test")
        assert (int(judged.truth.sum()), int((~judged.truth).sum()), judged.skipped) == (*sizes[name], 0)


def test_the_true_facts_of_fb15k_237_n_are_test_facts() -> None:
    """Of both parts: whoever chooses by the part for validation has looked at test facts."""
    if HERE is None or not (Path(HERE) / "fb15k-237-n").is_dir():
        pytest.skip("CEAR_DATA names no folder that holds fb15k-237-n/")
    kb = load(Path(HERE) / "fb15k-237-n")
    of_test = {tuple(fact) for fact in kb.facts("test").tolist()}
    for split in ("valid", "test"):
        judged = judged_of(Path(HERE) / "fb15k-237-n", kb, split)
        assert [tuple(fact) in of_test for fact in judged.facts.tolist()] == judged.truth.tolist()


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
