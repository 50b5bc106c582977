"""Made-up open knowledge bases: their size is exact, and there is something to learn in them."""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from cear.data import KnowledgeBase, load, read

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
SIZES = {"mentions": 4_000, "relations": 800, "facts": 24_000, "held_out": 100}
VARIANTS = ("thorough", "basic", "simple")


@pytest.fixture(scope="module")
def generator() -> Any:
    sys.path.insert(0, str(BENCHMARKS))
    try:
        return import_module("open_kb.files")
    finally:
        sys.path.remove(str(BENCHMARKS))


@pytest.fixture(scope="module")
def folder(generator: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("made-up")
    generator.write_open_kb(place, generator.Sizes(**SIZES), seed=3, variants=VARIANTS)
    return Path(place)


@pytest.fixture(scope="module")
def kb(folder: Path) -> KnowledgeBase:
    return load(folder, cache=False)


def test_it_is_as_large_as_asked_for(folder: Path, kb: KnowledgeBase) -> None:
    report = read(folder, cache=False).report
    assert (report.layout, report.duplicate_facts, report.skipped_lines) == ("olpbench", 0, 0)
    assert [len(kb.facts(split)) for split in ("train", "valid", "test")] == [24_000, 100, 100]
    # Every mention and phrase is named once; removing what gives held-out facts away may leave a few to nobody.
    assert 0.99 * 4_000 <= kb.n_entities <= 4_000
    assert 0.99 * 800 <= kb.n_relations <= 800


def test_the_same_seed_writes_the_same_files(generator: Any, tmp_path: Path) -> None:
    sizes = generator.Sizes(200, 60, 900, 10)
    for name, seed in (("one", 5), ("two", 5), ("three", 6)):
        generator.write_open_kb(tmp_path / name, sizes, seed=seed)
    one, two, three = (
        [file.read_bytes() for file in sorted((tmp_path / n).iterdir())] for n in ("one", "two", "three")
    )
    assert one == two != three


def test_some_are_much_more_common_than_others(kb: KnowledgeBase) -> None:
    counts = sorted(Counter(kb.facts("train")[:, 2].tolist()).values(), reverse=True)
    assert sum(counts[: len(counts) // 10]) > 0.35 * sum(counts)
    assert counts[-1] < 5


def test_golds_have_several_mentions_and_some_mentions_mean_several_things(kb: KnowledgeBase) -> None:
    golds = kb.gold_mentions("test")
    assert 2 < golds.counts.mean() < 5
    assert kb.mentions is not None
    assert Counter(kb.mentions.members.values.tolist()).most_common(1)[0][1] > 1


def test_no_training_fact_speaks_of_the_things_of_a_held_out_one(kb: KnowledgeBase) -> None:
    """The thorough variant, in words: no pair of unambiguous mentions of the two ends."""
    pairs = {(s, o) for s, _, o in kb.facts("train").tolist()}
    golds, n = kb.gold_mentions("test"), len(kb.facts("test"))
    bare = {e for e in range(kb.n_entities) if " " not in kb.entities.name(e)}
    for fact in range(n):
        ends = [set(golds.row(place).tolist()) - bare for place in (n + fact, fact)]
        assert not any((s, o) in pairs or (o, s) in pairs for s in ends[0] for o in ends[1])


def test_the_variants_remove_less_and_less(folder: Path, kb: KnowledgeBase) -> None:
    held_out = {tuple(fact) for fact in kb.facts("test")[:, [0, 2]].tolist()}
    shared = []
    for variant in VARIANTS:
        other = load(folder, cache=False, variant=variant)  # type: ignore[arg-type]
        names = [other.entities.find(kb.entities.id(e)) for e in range(kb.n_entities)]
        pairs = {(s, o) for s, _, o in other.facts("train").tolist()}
        shared.append(sum((names[s], names[o]) in pairs for s, o in held_out))
    assert shared[0] <= shared[1] <= shared[2]
    assert shared[0] < shared[2]


def test_learning_can_be_told_from_chance(kb: KnowledgeBase) -> None:
    """Who counts what the verb says of the subject's community is right far more often than who counts the verb."""
    by_community, by_verb = (Counted(kb, key) for key in (lambda s, r: (community(s), verb(r)), lambda _, r: verb(r)))
    assert by_community.hits() > 0.35
    assert by_community.hits() > 2 * by_verb.hits()


class Counted:
    """Answers ⟨s, r, ?⟩ with the object's community that train has most often for a key of s and r."""

    def __init__(self, kb: KnowledgeBase, key: Any) -> None:
        self.kb, self.key = kb, key
        self.counts: dict[Any, Counter[str]] = defaultdict(Counter)
        for s, r, o in self.words("train"):
            self.counts[key(s, r)][community(o)] += 1

    def words(self, split: Any) -> list[tuple[str, str, str]]:
        entity, relation = self.kb.entities.name, self.kb.relations.name
        return [(entity(s), relation(r), entity(o)) for s, r, o in self.kb.facts(split).tolist()]

    def hits(self) -> float:
        answered = [(self.counts[self.key(s, r)].most_common(1), community(o)) for s, r, o in self.words("test")]
        return sum(bool(best) and best[0][0] == gold for best, gold in answered) / len(answered)


def community(mention: str) -> str:
    """The community's word: the last one before an "of"."""
    return mention.split(" of ")[0].split()[-1]


def verb(phrase: str) -> str:
    return phrase.split()[-2]
