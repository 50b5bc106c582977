"""The split: reproducible, and without shortcuts from train to the held-out facts."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable

from demo_kb.draft import Fact

SEED = "cear demo 1"
HELD_OUT = {"test": 0.11, "valid": 0.09}  # share of the groups of each relation
SMALL_SHARE = {"time_zone": 0.4}  # of that share: a clock tells little that the country does not


def group_of(fact: Fact) -> str:
    """What must stay together: all that says where a city lies, and all that links the same two entities."""
    if fact.relation in ("capital_of", "in_country", "in_division"):
        return f"place of {fact.head}"
    return " and ".join(sorted([fact.head, fact.tail]))


def split(facts: Iterable[Fact]) -> dict[str, list[Fact]]:
    """Facts by split: about a tenth of each relation is held out, and every entity keeps a fact in train."""
    groups: dict[str, list[Fact]] = defaultdict(list)
    for fact in facts:
        groups[group_of(fact)].append(fact)
    room = room_for(groups)
    in_train = Counter(entity for members in groups.values() for entity in entities_of(members))
    parts: dict[str, list[Fact]] = {"train": [], "valid": [], "test": []}
    for key in sorted(groups, key=in_hash_order):
        members, relation, used = groups[key], groups[key][0].relation, Counter(entities_of(groups[key]))
        part = next((part for part in HELD_OUT if room[part, relation] >= 1), "train")
        if part == "train" or any(in_train[entity] <= n for entity, n in used.items()):
            parts["train"] += members
        else:
            in_train -= used
            room[part, relation] -= 1
            parts[part] += members
    return {part: sorted(members) for part, members in parts.items()}


def room_for(groups: dict[str, list[Fact]]) -> dict[tuple[str, str], float]:
    """How many groups of each relation each held-out split takes; a group counts as its first fact's relation."""
    total = Counter(members[0].relation for members in groups.values())
    return {(p, r): HELD_OUT[p] * SMALL_SHARE.get(r, 1) * n for p in HELD_OUT for r, n in total.items()}


def entities_of(facts: list[Fact]) -> list[str]:
    """The subjects and objects of facts, as often as they occur."""
    return [entity for fact in facts for entity in (fact.head, fact.tail)]


def in_hash_order(key: str) -> str:
    """A sort key that shuffles, the same on every machine."""
    return hashlib.sha256(f"{SEED} {key}".encode()).hexdigest()
