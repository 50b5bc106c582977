"""Facts of a made-up world, some common and most rare, and what must leave train so that held-out ones are news."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from open_kb.world import THINGS_PER_COMMUNITY, Ints, Sizes, World

SKEW = 3.0  # rank n of N is drawn as often as n ** (1 / SKEW - 1): the common ones are much more common
REGULAR = 0.75  # the share of facts whose object is the one that the subject's community and the verb decide
BARE = 0.1  # the share of mentions that are the community's word alone

FACT = ("subject", "relation", "object")  # mentions and a phrase, by number
ENDS = ("subject thing", "object thing")


@dataclass(frozen=True, slots=True, eq=False)
class Splits:
    """Facts in columns FACT and ENDS, in an order that means nothing."""

    train: Mapping[str, pl.DataFrame]
    """By variant, from the most to the least thorough in removing what gives held-out facts away."""
    valid: pl.DataFrame
    test: pl.DataFrame


def make_splits(world: World, sizes: Sizes, random: np.random.Generator) -> Splits:
    """So many distinct facts for train (a few less if there are not enough), and as many held out as wanted."""
    every = _distinct_facts(world, sizes.facts + 20 * sizes.held_out, random)
    free = np.arange(len(world.mentions) + len(world.phrases), every.height)  # those before name everyone once
    held_out = every[np.sort(random.choice(free, 2 * sizes.held_out, replace=False))]
    valid, test = held_out[: sizes.held_out], held_out[sizes.held_out :]
    same = {"thorough": list(ENDS), "basic": [*ENDS, "verb"], "simple": list(FACT)}
    train = {
        variant: _shuffled(_unlike(every, held_out, keys, world.verbs).head(sizes.facts), random)
        for variant, keys in same.items()
    }
    return Splits(train, _shuffled(valid, random), _shuffled(test, random))


def _distinct_facts(world: World, wanted: int, random: np.random.Generator) -> pl.DataFrame:
    """At least so many facts, each once: first some that name every mention and every phrase, then more."""
    facts = _facts_about_all(world, random)
    while facts.height < wanted:
        phrases = _skewed(len(world.phrases), random.random(round(1.05 * (wanted - facts.height)) + 100))
        facts = pl.concat([facts, _facts(world, phrases, random)]).unique(FACT, keep="first", maintain_order=True)
    return facts


def _facts_about_all(world: World, random: np.random.Generator) -> pl.DataFrame:
    mentions = np.arange(len(world.mentions))
    things = np.searchsorted(world.first_mention, mentions, side="right") - 1
    bare = things >= world.things
    things[bare] = (mentions[bare] - world.first_mention[-1]) * THINGS_PER_COMMUNITY
    by_topic = np.argsort(world.subject_topic, kind="stable")
    first_verb = np.searchsorted(world.subject_topic[by_topic], np.arange(len(world.first_thing)))
    topic = world.topic(things)
    verbs = by_topic[first_verb[topic] + _uniform(np.diff(first_verb)[topic], random)]
    about = _facts(world, verbs, random, subjects=(things, mentions))
    return pl.concat([about, _facts(world, np.arange(len(world.phrases)), random)])


def _facts(
    world: World, phrases: Ints, random: np.random.Generator, *, subjects: tuple[Ints, Ints] | None = None
) -> pl.DataFrame:
    """A fact of each phrase: its subject is somebody of the verb's topic, its object mostly a matter of both."""
    verbs = phrases % world.verbs
    chance = random.random((2, len(phrases)))
    if subjects is None:
        things = _among_topic(world, world.subject_topic[verbs], chance[0])
        subjects = (things, _mention(world, things, random))
    communities = world.word_of_community(subjects[0])
    regular = random.random(len(phrases)) < REGULAR
    drawn = np.where(regular, _fixed_chance(communities, verbs), chance[1])
    objects = _among_topic(world, world.object_topic[verbs], drawn)
    columns = (subjects[1], phrases, _mention(world, objects, random), subjects[0], objects)
    return pl.DataFrame(dict(zip((*FACT, *ENDS), columns, strict=True))).cast(pl.Int32)


def _among_topic(world: World, topics: Ints, chance: npt.NDArray[np.float64]) -> Ints:
    """A thing of each topic, the first ones more often."""
    return world.first_thing[topics] + _skewed(np.diff(world.first_thing)[topics], chance)


def _mention(world: World, things: Ints, random: np.random.Generator) -> Ints:
    """One of the mentions of each thing."""
    own = world.first_mention[things] + _uniform(np.diff(world.first_mention)[things], random)
    return np.where(random.random(len(things)) < BARE, world.word_of_community(things), own)


def _skewed(counts: Ints | int, chance: npt.NDArray[np.float64]) -> Ints:
    return (counts * chance**SKEW).astype(np.int64)


def _uniform(counts: Ints, random: np.random.Generator) -> Ints:
    return (counts * random.random(len(counts))).astype(np.int64)


def _fixed_chance(communities: Ints, verbs: Ints) -> npt.NDArray[np.float64]:
    """Numbers between 0 and 1 that look random and are always the same for the same pair (SplitMix64)."""
    z = communities.astype(np.uint64) << np.uint64(32) | verbs.astype(np.uint64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        z = (z ^ (z >> np.uint64(shift))) * np.uint64(factor)
    return (z >> np.uint64(11)) / 2.0**53


def _unlike(facts: pl.DataFrame, held_out: pl.DataFrame, keys: list[str], verbs: int) -> pl.DataFrame:
    """The facts that are not like any held-out one in these columns, or, where ends are compared, turned round."""
    turned = held_out.rename(dict(zip(ENDS, ENDS[::-1], strict=True)))
    banned = pl.concat([held_out, turned], how="diagonal") if ENDS[0] in keys else held_out
    verb = (pl.col("relation") % verbs).alias("verb")
    unlike = facts.with_columns(verb).join(banned.with_columns(verb), on=keys, how="anti", maintain_order="left")
    return unlike.drop("verb")


def _shuffled(facts: pl.DataFrame, random: np.random.Generator) -> pl.DataFrame:
    return facts[random.permutation(facts.height)]
