"""Knowledge bases of people whose facts follow from each other, mostly: small enough to complete in seconds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

PEOPLE, CITIES, COUNTRIES, FIRMS = 240, 24, 6, 12

Fact = tuple[str, str, str]
Facts = dict[str, list[Fact]]  # by split


def complete_facts(seed: int = 0) -> list[Fact]:
    """Everybody has one birthplace, one citizenship, one firm: nothing is missing, and each tells of the others."""
    draw = np.random.default_rng(seed)
    facts = [(f"city{c}", "lies_in", country_of(c)) for c in range(CITIES)]
    facts += [(f"firm{f}", "seated_in", f"city{2 * f}") for f in range(FIRMS)]
    for person in range(PEOPLE):
        city = int(draw.integers(CITIES))
        home = city if draw.random() < 0.9 else int(draw.integers(CITIES))
        firm = city // 2 if draw.random() < 0.8 else int(draw.integers(FIRMS))
        facts.append((f"p{person}", "born_in", f"city{city}"))
        facts.append((f"p{person}", "citizen_of", country_of(home)))
        facts.append((f"p{person}", "works_for", f"firm{firm}"))
    return facts


def facts_of_people(seed: int = 0) -> list[Fact]:
    """The same people, who also speak languages, their country's and others, and know colleagues."""
    draw, facts = np.random.default_rng(seed + 1), complete_facts(seed)
    colleagues: dict[str, list[str]] = {}
    for person, relation, value in complete_facts(seed):
        if relation == "citizen_of":
            facts.append((person, "speaks", f"lang{value.removeprefix('land')}"))
            if draw.random() < 0.3:
                facts.append((person, "speaks", f"lang{draw.integers(COUNTRIES)}"))
        if relation == "works_for":
            known = colleagues.setdefault(value, [])
            facts += [(person, "knows", known[place]) for place in draw.permutation(len(known))[:2]]
            known.append(person)
    return [*dict.fromkeys(facts)]


def wrong_facts(train: list[Fact]) -> list[Fact]:
    """A second birthplace, citizenship or firm for twelve people, far from what is said of them."""
    values = {"born_in": ("city", CITIES), "citizen_of": ("land", COUNTRIES), "works_for": ("firm", FIRMS)}
    found = []
    for relation, (kind, n) in values.items():
        for person, _, value in [fact for fact in train if fact[1] == relation][::45][:4]:
            found.append((person, relation, f"{kind}{(int(value.removeprefix(kind)) + n // 2 + 1) % n}"))
    return found


def shuffled(facts: list[Fact], seed: int = 0) -> list[Fact]:
    """The same facts with the objects of each relation dealt anew: nothing follows from anything."""
    draw, found = np.random.default_rng(seed), []
    for relation in dict.fromkeys(r for _, r, _ in facts):
        mine = [fact for fact in facts if fact[1] == relation]
        found += [(mine[i][0], relation, mine[j][2]) for i, j in enumerate(draw.permutation(len(mine)))]
    return found


def country_of(city: int) -> str:
    return f"land{city % COUNTRIES}"


def without_some(facts: list[Fact], share: float = 0.12, seed: int = 1) -> tuple[list[Fact], list[Fact]]:
    """What a knowledge base has of these facts, and what it lacks, drawn at random."""
    lacks = np.random.default_rng(seed).random(len(facts)) < share
    return tuple([fact for fact, gone in zip(facts, lacks, strict=True) if gone == which] for which in (False, True))


def split(facts: list[Fact], *, seed: int = 0, held_out: float = 0.15) -> Facts:
    """The facts in three splits, drawn at random; valid and test have the same size."""
    order, n = np.random.default_rng(seed).permutation(len(facts)), int(held_out * len(facts))
    places = {"test": order[:n], "valid": order[n : 2 * n], "train": order[2 * n :]}
    return {name: [facts[place] for place in np.sort(which)] for name, which in places.items()}


def write_facts(folder: Path, splits: Mapping[str, Iterable[Fact]]) -> Path:
    """The splits as a folder of text files; p7 is called Person 7."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, facts in splits.items():
        (folder / f"{name}.txt").write_text("".join("\t".join(fact) + "\n" for fact in facts))
    people = {end for facts in splits.values() for s, _, o in facts for end in (s, o) if end[1:].isdigit()}
    (folder / "entity2text.txt").write_text("".join(f"{p}\tPerson {p[1:]}\n" for p in sorted(people)))
    return folder


def config_of(data: Path, *, reranker: bool = False, **other: Any) -> dict[str, Any]:
    """ComplEx beside rules, calibrated; with a re-ranker that learns from one fold, and one more to calibrate with."""
    values: dict[str, Any] = {"data": str(data), "threads": 1}
    values["stage1"] = {"rank": 16, "batch": 300, "epochs": 6, "validate_every": 3}
    values["candidates"] = {"k": 15, "crossfit": {"folds": 4}, "extra_retrievers": {"rules": {"model": "rules"}}}
    values["calibration"] = {"questions": 1500, "proposals": 5}
    if reranker:
        values["reranker"] = {"kind": "wide", "text": False, "width": 16, "heads": 2, "epochs": 2}
    return values | other
