"""A made-up knowledge base on disk, in OLPBENCH's layout."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import polars as pl

from cear.core.files import replacing
from open_kb.facts import ENDS, FACT, make_splits
from open_kb.world import Sizes, World, make_world

BETWEEN = "|||"
CHUNK = 1_000_000  # facts in words that are in memory at a time


def write_open_kb(folder: Path, sizes: Sizes, *, seed: int = 0, variants: Iterable[str] = ("thorough",)) -> World:
    """Write a knowledge base of this size into a folder, the same for the same seed, and return its world.

    `mapped_to_ids/`, which OLPBENCH has beside these files, is left out.
    """
    random = np.random.default_rng(seed)
    world = make_world(sizes, random)
    splits = make_splits(world, sizes, random)
    folder.mkdir(parents=True, exist_ok=True)
    for variant in variants:
        _write(folder / f"train_data_{variant}.txt", splits.train[variant], world)
    _write(folder / "validation_data_linked.txt", splits.valid, world, linked=True)
    _write(folder / "validation_data_linked_mention.txt", splits.valid, world)
    _write(folder / "test_data.txt", splits.test, world, linked=True)
    return world


def _write(path: Path, facts: pl.DataFrame, world: World, *, linked: bool = False) -> None:
    """Subject, relation, object, and the mentions of both ends: all of them, or those of the fact again."""
    with replacing(path) as partial, partial.open("wb") as file:
        for chunk in facts.iter_slices(CHUNK):
            head, phrase, tail = (
                names.gather(chunk[column])
                for names, column in zip((world.mentions, world.phrases, world.mentions), FACT, strict=True)
            )
            ends = [_all_mentions(chunk[end], world) for end in ENDS] if linked else [head, tail]
            lines = [column.alias(str(place)) for place, column in enumerate((head, phrase, tail, *ends))]
            pl.DataFrame(lines).write_csv(file, separator="\t", include_header=False, quote_style="never")


def _all_mentions(things: pl.Series, world: World) -> pl.Series:
    """Every mention of each thing, the community's word included."""
    first, bare = world.first_mention, world.word_of_community(things.to_numpy().astype(np.int64))
    numbers = [[*range(first[thing], first[thing + 1]), word] for thing, word in zip(things, bare, strict=True)]
    return pl.Series([BETWEEN.join(world.mentions.gather(each)) for each in numbers])
