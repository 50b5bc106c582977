"""Lines a second at which a folder of facts becomes a knowledge base, without and with the cache.

python benchmarks/read_facts.py --millions 2
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

from cear.data import KnowledgeBase, load


def write_facts(folder: Path, n_facts: int, n_entities: int, n_relations: int) -> None:
    """Write a training file whose entities are as unevenly used as real ones are."""
    random = np.random.default_rng(0)
    entities = (n_entities * random.random((2, n_facts)) ** 3).astype(np.int64)  # (subject and object, fact)
    facts = pl.DataFrame({"s": entities[0], "r": random.integers(0, n_relations, n_facts), "o": entities[1]})
    facts = facts.select(
        pl.format("/m/0{}", "s"), pl.format("/people/person/relation_{}", "r"), pl.format("/m/0{}", "o").alias("o")
    )
    facts.write_csv(folder / "train.txt", separator="\t", include_header=False)


def timed(make: Callable[[], KnowledgeBase], n_facts: int, what: str) -> None:
    """Print how long it took and how many lines a second that is."""
    start = time.perf_counter()
    kb = make()
    seconds = time.perf_counter() - start
    print(f"{what:<12} {seconds:7.2f} s  {n_facts / seconds / 1e6:6.2f} million lines/s   {kb}")


def main() -> None:
    """Generate facts, read them three times, print what it took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--millions", type=float, default=2.0, help="million lines to read")
    parser.add_argument("--entities", type=int, default=15_000, help="as many as FB15K-237 has")
    parser.add_argument("--relations", type=int, default=237)
    arguments = parser.parse_args()
    n_facts = int(arguments.millions * 1e6)
    with tempfile.TemporaryDirectory() as place:
        os.environ["CEAR_CACHE"] = f"{place}/cache"
        folder = Path(place) / "facts"
        folder.mkdir()
        write_facts(folder, n_facts, arguments.entities, arguments.relations)
        timed(lambda: load(folder, cache=False), n_facts, "read")
        timed(lambda: load(folder), n_facts, "read, keep")
        timed(lambda: load(folder), n_facts, "from cache")
    print(f"peak memory  {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GiB")


if __name__ == "__main__":
    main()
