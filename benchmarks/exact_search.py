"""The exact best 50 of 20,000 queries among 2.47 million vectors, beside the machine's own matrix products.

python benchmarks/exact_search.py

The rate of the search is told as a share of PyTorch's matrix product in the same run: the best of two shapes, before
and after, its result written into memory that is already there.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from cear.cli.console import progress_bar
from cear.core.files import write_json
from cear.core.types import Candidates, Queries
from cear.reports import Provenance
from cear.retrieval import ComplEx, RowsEmbeddings, Scorer, top_k

RECORD = Path("results/benchmarks/exact_search.json")
K = 50
SHAPES = ((1024, 4096), (1024, 65536))  # queries and entities of a product


def exact_search(scorer: Scorer, queries: Queries, *, width: int, memory_mb: int) -> dict[str, Any]:
    """Seconds of the search, its rate and that of matrix products, in billions of operations a second."""
    products = [gemm_rate(*shape, width) for shape in SHAPES]
    with torch.inference_mode():
        top_k(scorer, queries[:10], K, memory_mb=memory_mb)
        start = time.perf_counter()
        found = top_k(scorer, queries, K, memory_mb=memory_mb, progress=progress_bar)
        seconds = time.perf_counter() - start
        check(scorer, queries, found)
    products += [gemm_rate(*shape, width) for shape in SHAPES]
    rate = 2e-9 * len(queries) * scorer.n_entities * width / seconds
    return {
        "queries": len(queries),
        "entities": scorer.n_entities,
        "width": width,
        "memory_mb": memory_mb,
        "search_seconds": seconds,
        "gflops": rate,
        "gflops_of_matrix_products": products,
        "share": rate / max(products),
    }


def gemm_rate(rows: int, columns: int, width: int, *, seconds: float = 10.0) -> float:
    """Billions of operations a second of PyTorch's matrix product of so many queries and entities."""
    queries, entities, scores = torch.randn(rows, width), torch.randn(columns, width), torch.empty(rows, columns)
    torch.mm(queries, entities.T, out=scores)
    start, done = time.perf_counter(), 0
    while time.perf_counter() - start < seconds:
        torch.mm(queries, entities.T, out=scores)
        done += 1
    return 2e-9 * rows * columns * width * done / (time.perf_counter() - start)


def check(scorer: Scorer, queries: Queries, found: Candidates, n_checked: int = 20) -> None:
    """Stop if a few of the lists are not what scoring every entity at once gives."""
    scores = scorer.score_all(queries[:n_checked]).topk(K, dim=-1).values.numpy()
    if not np.allclose(scores, found.scores[:n_checked], rtol=1e-4):
        raise SystemExit("The exact search did not find the best entities.")


def main() -> None:
    """Measure, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    sizes = {"queries": 20_000, "entities": 2_470_000, "width": 200, "memory-mb": 256, "threads": 2}
    for name, default in sizes.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--out", type=Path, default=RECORD, help="where the record goes")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    start = time.perf_counter()
    scorer = ComplEx(RowsEmbeddings(options.entities, 1), rank=options.width // 2)
    random = np.random.default_rng(0)
    queries = Queries(random.integers(options.entities, size=options.queries), random.integers(2, size=options.queries))
    found = exact_search(scorer, queries, width=options.width, memory_mb=options.memory_mb)
    config = {name: value for name, value in vars(options).items() if name != "out"}
    provenance = Provenance.collect(config=config, data="random", digest="", seconds=time.perf_counter() - start)
    what = "the exact best 50 by ComplEx with fresh vectors, as a share of the rate of matrix products"
    write_json(options.out, {"what": what, **found, "provenance": provenance.as_json()})
    print(f"{found['search_seconds']:.1f} s, {found['gflops']:.1f} gflops: {found['share']:.0%} of matrix products")


if __name__ == "__main__":
    main()
