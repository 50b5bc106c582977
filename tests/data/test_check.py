"""What a check finds, on a knowledge base with one fault at a time."""

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from cear.data import Findings, KnowledgeBase, Vocabulary, check, check_source
from cear.data.check import CHECKS

Facts = list[tuple[str, str, str]]


def _kb(
    train: Facts, valid: Facts | None = None, test: Facts | None = None, names: dict[str, str] | None = None
) -> KnowledgeBase:
    valid, test = valid or [], test or []
    every = train + valid + test
    entities = list(dict.fromkeys(word for s, _, o in every for word in (s, o)))
    relations = list(dict.fromkeys(r for _, r, _ in every))
    shown = [(names or {}).get(entity, f"the {entity}") for entity in entities]
    splits = {
        split: np.array([(entities.index(s), relations.index(r), entities.index(o)) for s, r, o in facts]).reshape(
            -1, 3
        )
        for split, facts in (("train", train), ("valid", valid), ("test", test))
    }
    return KnowledgeBase(
        "toy",
        Vocabulary.from_ids("entity", entities, names=shown),
        Vocabulary.from_ids("relation", relations, names=[f"is {r} to" for r in relations]),
        splits,  # type: ignore[arg-type]
    )


def _topics(findings: Findings) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for finding in findings.findings:
        found.setdefault(finding.topic, []).append(finding.count)
    return found


SOUND = {
    "train": [("a", "r", "b"), ("b", "r", "c"), ("c", "q", "a")],
    "valid": [("a", "q", "b")],
    "test": [("b", "q", "a")],
}


def test_a_sound_knowledge_base_has_no_findings() -> None:
    findings = check(_kb(**SOUND))
    assert findings.findings == ()
    assert findings.worst is None
    assert (findings.entities, findings.relations, dict(findings.facts)) == (3, 2, {"train": 3, "valid": 1, "test": 1})
    assert findings.median_degree == 2.0
    assert dict(findings.cardinalities) == {"1-1": 2, "1-n": 0, "n-1": 0, "n-n": 0}


def test_facts_shared_between_splits_are_an_error() -> None:
    findings = check(_kb(SOUND["train"], SOUND["train"][:2], SOUND["train"][1:]))
    assert [(f.severity, f.count) for f in findings.about("shared-facts")] == [("error", 2), ("error", 2), ("error", 1)]
    assert findings.about("shared-facts")[0].examples[0] == "⟨the a, is r to, the b⟩"
    assert findings.worst == "error"


def test_entities_and_relations_unseen_in_train_are_named() -> None:
    findings = check(_kb(SOUND["train"], [("a", "r", "new"), ("new", "r", "newer")], [("a", "odd", "b")]))
    (entities,) = findings.about("unseen-entities")
    assert (entities.count, entities.examples) == (2, ("the new", "the newer"))
    assert entities.message == "2 entities in 2 valid facts occur in no training fact."
    (relations,) = findings.about("unseen-relations")
    assert (relations.count, relations.examples) == (1, ("is odd to",))


@pytest.mark.parametrize(
    ("names", "topic", "example"),
    [
        (("S\u00e3o", "Sa\u0303o"), "encoding-twins", r"'S\xe3o' / 'Sa\u0303o'"),
        (("New York", "New  York"), "blank-twins", "'New York' / 'New  York'"),
        (("Polish", "polish"), "case-twins", "'Polish' / 'polish'"),
        (("St. Louis", "st louis"), "punctuation-twins", "'St. Louis' / 'st louis'"),
    ],
)
def test_names_that_differ_in_one_thing_only_are_found_once(names: tuple[str, str], topic: str, example: str) -> None:
    findings = check(_kb(**SOUND, names=dict(zip("ab", names, strict=True))))
    assert _topics(findings) == {topic: [2]}
    assert findings.about(topic)[0].examples == (example,)


def test_names_that_begin_or_end_with_a_blank_are_found() -> None:
    findings = check(_kb(**SOUND, names={"a": " Paris", "b": "Paris\u00a0", "c": "Texas"}))
    assert _topics(findings) == {"blanks-in-names": [2], "blank-twins": [2]}
    assert findings.about("blanks-in-names")[0].examples == ("' Paris'", r"'Paris\xa0'")


def test_relations_have_twins_too_and_names_without_a_letter_have_none() -> None:
    kb = _kb([("a", "r", "b"), ("a", "R", "b"), ("b", "!", "c"), ("b", "?", "c")], names={"a": "!", "b": "?"})
    (found,) = check(kb).about("case-twins")
    assert (found.count, found.examples) == (2, ("'is r to' / 'is R to'",))
    assert not [each for each in check(kb).about("punctuation-twins") if "entities" in each.message]


def test_missing_and_shared_names() -> None:
    findings = check(_kb(**SOUND, names={"a": "a", "b": "Paris", "c": "Paris"}))
    assert _topics(findings) == {"unnamed-entities": [1], "shared-names": [2]}
    assert findings.about("shared-names")[0].examples == ("Paris (b, c)",)
    assert findings.about("unnamed-entities")[0].severity == "warning"


def test_where_ids_are_the_only_names_that_is_no_fault() -> None:
    (finding,) = check(_kb(**SOUND, names={word: word for word in "abc"})).about("unnamed-entities")
    assert (finding.severity, finding.count) == ("info", 3)


def test_repeated_facts_and_empty_splits() -> None:
    findings = check(_kb([("a", "r", "b")] * 3))
    assert _topics(findings) == {"empty-split": [1, 1], "duplicate-facts": [2]}


def test_a_test_fact_that_an_inverse_relation_gives_away() -> None:
    people = [f"p{i}" for i in range(12)]
    pairs = list(pairwise(people))
    train = [(a, "parent", b) for a, b in pairs] + [(b, "child", a) for a, b in pairs[1:]]
    findings = check(_kb(train, [("p0", "parent", "p2")], [(pairs[0][1], "child", pairs[0][0])]))
    assert findings.about("inverse-relations")[0].examples == ("is parent to / is child to",)
    (leak,) = findings.about("inverse-leak")
    assert (leak.severity, leak.count, leak.examples) == ("warning", 1, ("⟨the p1, is child to, the p0⟩",))
    assert leak.message.startswith("1 test facts (100.0%)")


def test_symmetric_relations_are_told_apart_from_inverse_ones() -> None:
    pairs = [(f"c{i}", f"c{i + 1}") for i in range(6)]
    train = [(a, "borders", b) for a, b in pairs] + [(b, "borders", a) for a, b in pairs[1:]]
    findings = check(_kb(train, [("c0", "borders", "c5")], [("c1", "borders", "c0")]))
    assert _topics(findings) == {"symmetric-relations": [1], "symmetric-leak": [1]}


def test_findings_become_json() -> None:
    findings = check(_kb([("a", "r", "b")] * 2))
    value = json.loads(json.dumps(findings.to_json()))
    assert value["facts"] == {"train": 2, "valid": 0, "test": 0}
    assert [finding["topic"] for finding in value["findings"]] == ["empty-split", "empty-split", "duplicate-facts"]


def test_a_check_of_files_tells_what_the_reading_left_out(write: Callable[..., Path]) -> None:
    folder = write({"train.txt": "a\tr\tb\na\tr\tb\nbroken\n", "entity2text.txt": "z\tnobody\n"})
    findings = check_source(folder, skip_bad_lines=True)
    left_out = {topic: counts for topic, counts in _topics(findings).items() if topic != "empty-split"}
    assert left_out == {
        "skipped-lines": [1],
        "duplicate-facts": [1],
        "unused-texts": [1],
        "unnamed-entities": [2],
        "unnamed-relations": [1],
    }
    assert (findings.layout, findings.data) == ("folder", "kb")


def test_a_check_of_rdf_tells_what_was_no_fact(write: Callable[..., Path]) -> None:
    folder = write({"kb.ttl": "@prefix : <http://x/> .\n:a :r :b ; :p 1, 2 .\n"})
    (finding,) = check_source(folder / "kb.ttl").about("left-out")
    assert finding.count == 2


@pytest.mark.parametrize("look", CHECKS)
def test_every_check_bears_an_empty_knowledge_base(look) -> None:  # type: ignore[no-untyped-def]
    empty = KnowledgeBase("empty", Vocabulary.from_ids("entity", []), Vocabulary.from_ids("relation", []), {})
    assert all(finding.topic == "empty-split" for finding in look(empty))
