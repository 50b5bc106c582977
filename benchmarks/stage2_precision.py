"""What bf16 brings to the paper's re-ranker on this processor: learning from lists and reading them, against fp32.

python benchmarks/stage2_precision.py

Lists of random candidates of the embedded knowledge base, as long as the study's and as the paper's. Both precisions in
turns, several times, on one thread; the ratio is that of their fastest turns. A turn of learning is the loss of some
lists and its gradients; what the optimiser does is the same in both.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from cear.candidates import Lists, Manifest
from cear.core.blocks import blocks
from cear.core.context import Context, Precision
from cear.core.devices import computing, has_bf16
from cear.core.files import write_json
from cear.core.types import Candidates
from cear.data import KnowledgeBase, load
from cear.reports import Provenance
from cear.reranking import SequenceConfig, SequenceReranker

RECORD = Path("results/benchmarks/stage2_precision.json")
SHAPES = {"study": (20, 6), "paper": (40, 10)}  # candidates of a list, tokens of a name
PRECISIONS: tuple[Precision, ...] = ("fp32", "bf16")
BATCH = 4  # lists


def random_lists(kb: KnowledgeBase, k: int, n: int) -> Lists:
    """Lists of k random entities for n training queries."""
    rng = np.random.default_rng(0)
    entities = np.stack([rng.choice(kb.n_entities, k, replace=False) for _ in range(n)])
    scores = np.broadcast_to(-np.arange(k, dtype=np.float32), entities.shape)
    return Lists(
        kb.known("train").queries[:n],
        Candidates(entities, scores),
        Manifest(kb.name, kb.digest, "train", k, "keep", ""),
    )


def turns(reranker: SequenceReranker, lists: Lists, precision: Precision) -> dict[str, Callable[[], Any]]:
    """What is timed, by name."""

    def learn() -> None:
        reranker.model.train()
        for part in blocks(len(lists), BATCH):
            with computing("cpu", precision):
                scores = reranker.score(lists[part], reranker.features(lists[part]))
            (-scores.float().log_softmax(-1)[:, 0].mean()).backward()

    return {"learning": learn, "reading": lambda: reranker.rerank(lists)}


def seconds_of(turn: Callable[[], Any]) -> float:
    """How long a turn takes."""
    start = time.perf_counter()
    turn()
    return time.perf_counter() - start


def compare(kb: KnowledgeBase, k: int, tokens: int, n: int, repeats: int) -> dict[str, Any]:
    """Seconds a list in both precisions, for learning and reading, and how many times faster bf16 is."""
    lists, config = random_lists(kb, k, n), SequenceConfig(text="name", form_tokens=tokens)
    made = {each: SequenceReranker(kb, config, Context(precision=each)) for each in PRECISIONS}
    ways = {each: turns(made[each], lists, each) for each in PRECISIONS}
    found: dict[str, Any] = {"tokens_of_a_list": float(made["fp32"].lengths(lists).mean())}
    for name in ("learning", "reading"):
        for each in PRECISIONS:
            ways[each][name]()  # once without a clock
        best = fastest({each: ways[each][name] for each in PRECISIONS}, repeats)
        found[name] = {each: seconds / n for each, seconds in best.items()}
        found[name]["times_faster"] = best["fp32"] / best["bf16"]
    return found


def fastest(ways: dict[Precision, Callable[[], Any]], repeats: int) -> dict[Precision, float]:
    """The seconds of the fastest of several turns of each, taken in turns."""
    taken = [{each: seconds_of(way) for each, way in ways.items()} for _ in range(repeats)]
    return {each: min(turn[each] for turn in taken) for each in ways}


def main(words: Sequence[str] | None = None) -> None:
    """Measure, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lists", type=int, default=24, help="in a turn")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--out", type=Path, default=RECORD, help="where the record goes")
    options, start = parser.parse_args(words), time.perf_counter()
    torch.set_num_threads(1)
    kb = load("demo")
    found = {name: compare(kb, *shape, options.lists, options.repeats) for name, shape in SHAPES.items()}
    config = {"lists": options.lists, "repeats": options.repeats, "shapes": SHAPES}
    provenance = Provenance.collect(config=config, data="demo", digest=kb.digest, seconds=time.perf_counter() - start)
    what = "seconds a list of the paper's re-ranker, embedded encoder, one thread, in fp32 and in bf16"
    write_json(options.out, {"what": what, "has_bf16": has_bf16("cpu"), **found, "provenance": provenance.as_json()})
    for name, each in found.items():
        told = ", ".join(f"{what} {each[what]['times_faster']:.2f} times faster" for what in ("learning", "reading"))
        print(f"{name}, {each['tokens_of_a_list']:.0f} tokens: {told}")


if __name__ == "__main__":
    main()
