"""A knowledge base small enough to train on in a blink, real enough to learn: towns, countries, roads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

from cear.data import KnowledgeBase, Vocabulary
from cear.nouns import SPLITS, Ints, Split

settings.register_profile("cear", deadline=None)  # a busy machine is no failure
settings.load_profile("cear")

TOWNS, COUNTRIES = 25, 5
RELATIONS = ("lies_in", "twinned_with", "road_to")

FolderMaker = Callable[..., Path]


def town_facts() -> dict[Split, list[tuple[int, int, int]]]:
    """Town i lies in country i mod 5, is twinned with i + 5, has a road to i + 1; every sixth fact is held out."""
    triples = [(i, 0, TOWNS + i % COUNTRIES) for i in range(TOWNS)]
    triples += [(i, 1, (i + 5) % TOWNS) for i in range(TOWNS)]
    triples += [(i, 2, (i + 1) % TOWNS) for i in range(TOWNS)]
    place = {0: "valid", 3: "test"}
    return {split: [f for i, f in enumerate(triples) if place.get(i % 6, "train") == split] for split in SPLITS}


def entity_id(index: int) -> str:
    return f"t{index}" if index < TOWNS else f"c{index - TOWNS}"


def entity_name(index: int) -> str:
    return f"Town {index}" if index < TOWNS else f"Country {'ABCDE'[index - TOWNS]}"


@pytest.fixture
def towns() -> KnowledgeBase:
    """30 entities, 3 relations, 75 facts, in memory."""
    n_entities = TOWNS + COUNTRIES
    ids, names = [entity_id(i) for i in range(n_entities)], [entity_name(i) for i in range(n_entities)]
    relations = Vocabulary.from_ids("relation", list(RELATIONS), names=[r.replace("_", " ") for r in RELATIONS])
    splits: Mapping[Split, Ints] = {split: np.array(facts) for split, facts in town_facts().items()}
    return KnowledgeBase("towns", Vocabulary.from_ids("entity", ids, names=names), relations, splits)


@pytest.fixture(scope="session")
def write_towns() -> FolderMaker:
    """Writes the same facts, or others in their place, as a folder of text files."""

    def write(folder: Path, **other: list[tuple[int, int, int]]) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        for split, facts in {**town_facts(), **other}.items():
            lines = [f"{entity_id(s)}\t{RELATIONS[r]}\t{entity_id(o)}\n" for s, r, o in facts]
            (folder / f"{split}.txt").write_text("".join(lines))
        texts = [f"{entity_id(i)}\t{entity_name(i)}\n" for i in range(TOWNS + COUNTRIES)]
        (folder / "entity2text.txt").write_text("".join(texts))
        (folder / "relation2text.txt").write_text("".join(f"{r}\t{r.replace('_', ' ')}\n" for r in RELATIONS))
        return folder

    return write
