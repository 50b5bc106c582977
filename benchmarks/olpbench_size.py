"""The whole way at OLPBENCH's size: written, read, cached, ExtremeText trained and asked, exact top-k of vectors.

python benchmarks/olpbench_size.py --scale 0.01
python benchmarks/olpbench_size.py --folder big --keep    # 30.6 million facts, about 2.5 GB, and 5 GB of models

The knowledge base is made up, in OLPBENCH's layout, with something to learn (`open_kb/world.py`): what ExtremeText
finds is told beside what the most frequent answers of all would find. The rate of the exact search is told as a share
of the machine's own matrix product of the same shapes, in the same run. Peaks of memory are of the process so far.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from exact_search import exact_search
from open_kb.files import write_open_kb
from open_kb.world import Sizes

from cear.cli.console import progress_bar
from cear.core.context import HERE
from cear.core.files import write_json
from cear.core.machine import peak_bytes
from cear.core.types import SIDES, Candidates
from cear.data import KnowledgeBase, load
from cear.reports import Provenance
from cear.retrieval import ComplExConfig, ExtremeText, TreeSettings, train_extreme_text

T = TypeVar("T")
Found = dict[str, Any]

RECORD = Path("results/benchmarks/olpbench_size.json")
K = 50


class Steps:
    """What was measured so far: seconds and peak memory of each step, printed as they come."""

    def __init__(self) -> None:
        self.found: dict[str, Found] = {}

    def timed(self, what: str, make: Callable[[], T]) -> T:
        """What was made, after noting how long it took and the memory used so far."""
        start = time.perf_counter()
        made = make()
        self.found[what] = {"seconds": time.perf_counter() - start, "peak_gib": (peak_bytes() or 0) / 2**30}
        print("{:<32} {seconds:8.1f} s   peak {peak_gib:6.2f} GiB".format(what, **self.found[what]), flush=True)
        return made

    def add(self, what: str, **more: Any) -> None:
        """Note more about a step."""
        self.found[what] |= more
        print(" " * 4 + ", ".join(f"{name} {value}" for name, value in more.items()), flush=True)


def read_twice(steps: Steps, folder: Path) -> KnowledgeBase:
    """The knowledge base, from its files into the cache and then from the cache."""
    steps.timed("read from text and keep", lambda: load(folder))
    kb = steps.timed("read from cache", lambda: load(folder))
    print(kb, flush=True)
    return kb


def train(steps: Steps, kb: KnowledgeBase, config: TreeSettings, folder: Path) -> ExtremeText:
    """A trained label tree for either side, and how fast it learned."""
    model, sides = steps.timed(
        "train ExtremeText, both sides", lambda: train_extreme_text(kb, config, folder, progress=progress_bar)
    )
    facts = config.epochs * len(kb.facts("train"))
    for side in SIDES:
        state = sides[side]
        losses = state.losses[0], state.losses[-1]
        more = {"seconds": state.seconds, "examples_per_second": facts / state.seconds, "losses": losses}
        steps.add("train ExtremeText, both sides", **{side: more})
    return model


def search_tree(steps: Steps, kb: KnowledgeBase, model: ExtremeText) -> None:
    """The best 50 of each test query on one core, and how many of them hold an answer."""
    queries, threads = kb.queries("test"), torch.get_num_threads()
    torch.set_num_threads(1)
    model.top_k(queries[:10], K)  # compiles
    lists = steps.timed("best 50 in the trees, one core", lambda: model.top_k(queries, K))
    torch.set_num_threads(threads)
    seconds = steps.found["best 50 in the trees, one core"]["seconds"]
    steps.add(
        "best 50 in the trees, one core",
        queries=len(queries),
        milliseconds_per_query=1000 * seconds / len(queries),
        hits=hits(kb, lists),
        hits_of_the_most_frequent=hits(kb, most_frequent(kb)),
    )


def hits(kb: KnowledgeBase, lists: Candidates) -> dict[str, float]:
    """The share of test queries with a mention of the answer among the first, nothing filtered."""
    found = kb.gold_mentions("test").contains(lists.entities)
    return {f"hits@{k}": float(found[:, :k].any(axis=1).mean()) for k in (1, 10, K)}


def most_frequent(kb: KnowledgeBase) -> Candidates:
    """For each test query the entities that are most often the answer on its side, whatever is asked."""
    queries, facts = kb.queries("test"), kb.facts("train")
    tails, heads = (np.argsort(-np.bincount(facts[:, end], minlength=kb.n_entities))[:K] for end in (2, 0))
    entities = np.where(kb.asks_head(queries)[:, None], heads, tails)
    return Candidates(entities, np.zeros(entities.shape, np.float32))


def search_vectors(steps: Steps, kb: KnowledgeBase, *, width: int, memory_mb: int) -> None:
    """The exact best 50 of each test query by ComplEx with fresh vectors, beside matrix products alone."""
    scorer = ComplExConfig(rank=width // 2).build(kb, HERE)
    found = steps.timed(
        "exact best 50 of vectors", lambda: exact_search(scorer, kb.queries("test"), width=width, memory_mb=memory_mb)
    )
    steps.add("exact best 50 of vectors", **found)


def run(steps: Steps, folder: Path, options: argparse.Namespace) -> KnowledgeBase:
    """Every step, one after the other."""
    if not (folder / "test_data.txt").exists():
        sizes = Sizes().scaled(options.scale)
        steps.timed("write", lambda: write_open_kb(folder, sizes, seed=options.seed))
    kb = read_twice(steps, folder)
    config = TreeSettings(dim=options.dim, epochs=1, pair_bits=0)
    model = train(steps, kb, config, folder / "extreme-text")
    search_tree(steps, kb, model)
    del model
    search_vectors(steps, kb, width=options.width, memory_mb=options.memory_mb)
    return kb


def parse() -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=1.0, help="1 is OLPBENCH's size")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--dim", type=int, default=100, help="width of ExtremeText's vectors")
    parser.add_argument("--width", type=int, default=200, help="width of the vectors that are searched exactly")
    parser.add_argument("--memory-mb", type=int, default=256, help="scores that the exact search holds at a time")
    parser.add_argument("--folder", type=Path, help="where to write it, or where it is already; default: temporary")
    parser.add_argument("--keep", action="store_true", help="leave the trained model in --folder")
    parser.add_argument("--out", type=Path, default=RECORD, help="where the record goes")
    return parser.parse_args()


def main() -> None:
    """Measure, and write the record."""
    options, steps, start = parse(), Steps(), time.perf_counter()
    torch.set_num_threads(options.threads)
    with tempfile.TemporaryDirectory() as place:
        os.environ["CEAR_CACHE"] = f"{place}/cache"
        folder = options.folder or Path(place) / "open-kb"
        kb = run(steps, folder, options)
        if not options.keep:
            shutil.rmtree(folder / "extreme-text")
    config = {name: value for name, value in vars(options).items() if name not in ("folder", "out", "keep")}
    provenance = Provenance.collect(
        config=config, data="made up, OLPBENCH's layout", digest=kb.digest, seconds=time.perf_counter() - start
    )
    sizes = {
        "entities": kb.n_entities,
        "relations": kb.n_relations,
        "facts": {split: len(kb.facts(split)) for split in ("train", "valid", "test")},
    }
    what = "seconds and peak memory of each step on a knowledge base of OLPBENCH's size"
    write_json(options.out, {"what": what, "sizes": sizes, "steps": steps.found, "provenance": provenance.as_json()})
    print(options.out)


if __name__ == "__main__":
    main()
