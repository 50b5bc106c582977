"""Types of entities: read, counted in the digest, kept by folds, and never a way back for a held-out fact."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from cear.core.errors import DataError
from cear.core.types import Ragged
from cear.data import KnowledgeBase, Types, Vocabulary, check, load, read

FACTS = "paris\tin\tfrance\nalien\tin\tfrance\n"  # paris 0, france 1, alien 2
TYPES = "france\tcountry\nparis\tcity | capital | city\nnobody\tghost\n"


def a_kb(types: Types | None = None) -> KnowledgeBase:
    entities = Vocabulary.from_ids("entity", ["paris", "france", "alien"])
    facts = np.array([[0, 0, 1], [2, 0, 1]])
    return KnowledgeBase("toy", entities, Vocabulary.from_ids("relation", ["in"]), {"train": facts}, types=types)


def a_types(*rows: list[int], names: tuple[str, ...] = ("capital", "city", "country")) -> Types:
    return Types(names, Ragged.of(rows))


def types_by_id(kb: KnowledgeBase) -> dict[str, tuple[str, ...]]:
    assert kb.types is not None
    return {kb.entities.id(entity): kb.types.of(entity) for entity in range(kb.n_entities)}


class TestAFileOfTypes:
    def test_beside_the_facts_is_read(self, write: Callable[..., Path]) -> None:
        reading = read(write({"train.txt": FACTS, "entity2types.txt": TYPES}))
        assert reading.kb.types is not None
        assert reading.kb.types.names == ("capital", "city", "country"), "by the alphabet; nobody has the ghost"
        assert types_by_id(reading.kb) == {"paris": ("capital", "city"), "france": ("country",), "alien": ()}
        assert reading.report.left_out == {"ids with types that no fact names": 1}

    def test_of_the_users_own_goes_with_any_layout(self, write: Callable[..., Path]) -> None:
        folder = write({"facts.tsv": FACTS, "mine.tsv": TYPES})
        kb = load(folder / "facts.tsv", types=folder / "mine.tsv")
        assert types_by_id(kb) == {"paris": ("capital", "city"), "france": ("country",), "alien": ()}
        assert load(folder / "facts.tsv").types is None

    def test_of_the_users_own_counts_instead_of_the_datas(self, write: Callable[..., Path]) -> None:
        files = {"train.txt": FACTS, "entity2types.txt": TYPES, "mine.tsv": "alien\tmonster\nbroken\n"}
        folder = write(files)
        reading = read(folder, types=folder / "mine.tsv", skip_bad_lines=True)
        assert types_by_id(reading.kb) == {"paris": (), "france": (), "alien": ("monster",)}
        assert (reading.report.skipped_lines, reading.report.left_out) == (1, {})
        assert "mine.tsv:2" in reading.report.skipped_examples[0]

    def test_beside_openke_ids_is_read(self, write: Callable[..., Path]) -> None:
        ids = {
            "entity2id.txt": "2\nparis\t0\nfrance\t1\n",
            "relation2id.txt": "1\nin\t0\n",
            "train2id.txt": "1\n0 1 0\n",
        }
        assert types_by_id(load(write({**ids, "entity2types.txt": "paris\tcity\n"}))) == {
            "paris": ("city",),
            "france": (),
        }

    def test_about_nobody_is_no_types(self, write: Callable[..., Path]) -> None:
        folder = write({"train.txt": FACTS})
        before = load(folder).digest
        (folder / "entity2types.txt").write_text("nobody\tghost\n")
        assert load(folder).types is None
        assert load(folder).digest == before

    @pytest.mark.parametrize(
        ("lines", "message"),
        [
            ("paris\tcity\nfrance\n", r"entity2types\.txt:2: found 1 columns"),
            (
                "paris\tcity\nfrance\tcountry | | state\n",
                r"entity2types\.txt:2: a type is empty in 'country \| \| state'",
            ),
            ("paris\tcity |\n", r"entity2types\.txt:1: a type is empty in 'city \|', expected types joined by ' \| '"),
            ("paris\tcity\n\nparis\tcapital\n", r"entity2types\.txt:3: the id 'paris' stands already on line 1"),
        ],
    )
    def test_with_a_bad_line_is_refused(self, write: Callable[..., Path], lines: str, message: str) -> None:
        with pytest.raises(DataError, match=message):
            load(write({"train.txt": FACTS, "entity2types.txt": lines}))

    def test_loses_its_bad_lines_on_request(self, write: Callable[..., Path]) -> None:
        lines = "paris\t| city\nparis\tcity\nparis\tcapital\nfrance\tstate |\nalien\tmonster\n"
        reading = read(write({"train.txt": FACTS, "entity2types.txt": lines}), skip_bad_lines=True)
        assert types_by_id(reading.kb) == {"paris": ("city",), "france": (), "alien": ("monster",)}
        assert reading.report.skipped_lines == 3


class TestTheDigest:
    def test_without_types_is_what_it_was_before_there_were_any(self) -> None:
        assert a_kb().digest == "ca5cfb749b1e62384c841d2e8ce6c06674056879d2957cdac622427a693a8492"

    def test_tells_types_apart(self) -> None:
        rows = ([0, 1], [2], [])
        every = [
            a_kb(),
            a_kb(a_types(*rows)),
            a_kb(a_types([0], [1, 2], [])),
            a_kb(a_types(*rows, names=("capital", "town", "country"))),
        ]
        assert len({kb.digest for kb in every}) == 4
        assert a_kb(a_types(*rows)).digest == every[1].digest


class TestOtherFacts:
    def test_keep_vocabularies_and_types(self) -> None:
        kb = a_kb(a_types([0, 1], [2], []))
        fewer = kb.with_facts({"train": kb.facts("train")[:1]})
        assert fewer.facts("train").tolist() == [[0, 0, 1]]
        assert (fewer.name, fewer.entities, fewer.relations) == (kb.name, kb.entities, kb.relations)
        assert types_by_id(fewer) == types_by_id(kb)

    def test_other_types_keep_the_facts(self) -> None:
        kb = a_kb().with_types(a_types([], [], [0]))
        assert types_by_id(kb) == {"paris": (), "france": (), "alien": ("capital",)}
        assert np.array_equal(kb.facts("train"), a_kb().facts("train"))


@pytest.mark.parametrize(
    ("types", "message"),
    [
        (a_types([0], [1]), "2 entities have a row of types, but there are 3 entities"),
        (a_types([0], [3], []), "Types go from 0 to 3, but there are 3 names of types"),
        (a_types([0], [], [], names=("city", "city")), "Two types are called 'city'"),
    ],
)
def test_types_that_cannot_be_are_refused(types: Types, message: str) -> None:
    with pytest.raises(DataError, match=message):
        a_kb(types)


def test_the_check_tells_how_many_have_a_type() -> None:
    (finding,) = check(a_kb(a_types([0, 1], [1], []))).about("types")
    assert finding.message == "3 types; 2 of 3 entities (66.7%) have one or more."
    assert finding.examples == ("city (2)", "capital (1)", "country (0)")
    assert check(a_kb()).about("types") == ()
