"""What an approximate index finds of the exact best 50, and how much faster it is, among trained vectors.

pip install faiss-cpu
python benchmarks/approximate_search.py
python benchmarks/approximate_search.py --scale 0.02 --queries 500

ComplEx is trained on WN18RR by a configuration of this repository, and asked what the test facts ask. Its 40,943
vectors are searched as they are, and as 2.47 million: with copies of them that are moved at random, since no knowledge
base of that size can be trained here. Recall depends on how the vectors lie; of vectors drawn at random it would say
nothing about trained ones. The index is faiss's inverted file: entities by the nearest of some thousand centres, of
which a search looks into the best few.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from cear.config import load_config
from cear.core.files import write_json
from cear.core.types import Candidates, Floats, Queries
from cear.data import KnowledgeBase
from cear.pipeline import lay_out
from cear.reports import Provenance
from cear.retrieval import ComplEx, RowsEmbeddings, top_k

Found = dict[str, Any]

RECORD = Path("results/benchmarks/approximate_search.json")
ENTITIES = 2_470_000  # of OLPBENCH
K = 50
PROBES = (1, 4, 16, 64, 256)  # centres whose entities are looked at
SAMPLE = 64  # vectors a centre is found from


def trained(config: Path) -> tuple[ComplEx, KnowledgeBase]:
    """The scorer of a configuration, trained unless the store has it."""
    plan = lay_out(load_config(config), Path("runs/approximate_search"))
    scorer = plan.retrievers.first
    assert isinstance(scorer, ComplEx)
    return scorer, plan.kb


def grown(scorer: ComplEx, n: int, jitter: float) -> ComplEx:
    """The same scorer with n entities: its own first, then copies of them, each moved by that share of its length."""
    rows, relations = (scorer.state_dict()[f"{name}.weight"] for name in ("entity", "relation"))
    if n <= len(rows):
        return scorer
    width = rows.shape[1]
    more = ComplEx(RowsEmbeddings(n, len(relations) // 2), width // 2).requires_grad_(False)
    place = more.state_dict()["entity.weight"]
    generator = torch.Generator().manual_seed(0)
    for start in range(0, n, len(rows)):
        copy = place[start : start + len(rows)]
        lengths = rows[: len(copy)].norm(dim=1, keepdim=True) * (jitter if start else 0.0) / width**0.5
        copy.copy_(rows[: len(copy)] + lengths * torch.randn(copy.shape, generator=generator))
    more.state_dict()["relation.weight"].copy_(relations)
    return more.eval()


def recall(exact: Candidates, found: np.ndarray[Any, Any]) -> float:
    """The share of the exact lists that the found ones hold."""
    held = [len(np.intersect1d(one, other)) for one, other in zip(exact.entities, found, strict=True)]
    return float(np.mean(held)) / exact.entities.shape[1]


def compare(scorer: ComplEx, queries: Queries) -> Found:
    """Seconds of the exact search, of building the index, and of searching it, with what it finds."""
    with torch.inference_mode():
        vectors, asked = scorer.entity_vectors().numpy(), scorer.query_vectors(queries).numpy()
        top_k(scorer, queries[:10], K)
        start = time.perf_counter()
        exact = top_k(scorer, queries, K)
        seconds = time.perf_counter() - start
    index, building, centres = built(vectors)
    searches = [searched(index, asked, probes, exact, seconds) for probes in PROBES if probes <= centres]
    return {
        "entities": len(vectors),
        "width": vectors.shape[1],
        "queries": len(queries),
        "exact_seconds": seconds,
        "centres": centres,
        "building_seconds": building,
        "searches": searches,
    }


def built(vectors: Floats) -> tuple[Any, float, int]:
    """An index of these vectors by inner product, the seconds that it took, and its centres."""
    import faiss

    start, (n, width) = time.perf_counter(), vectors.shape
    centres = min(4096, int(4 * n**0.5))
    index = faiss.IndexIVFFlat(faiss.IndexFlatIP(width), width, centres, faiss.METRIC_INNER_PRODUCT)
    sample = np.random.default_rng(0).choice(n, min(n, SAMPLE * centres), replace=False)
    index.train(vectors[np.sort(sample)])
    index.add(vectors)
    return index, time.perf_counter() - start, centres


def searched(index: Any, asked: Floats, probes: int, exact: Candidates, seconds: float) -> Found:
    """How much of the exact best an index finds that looks into so many of its parts, and how much faster."""
    index.nprobe = probes
    start = time.perf_counter()
    _, found = index.search(asked, exact.entities.shape[1])
    took = time.perf_counter() - start
    told = {"probes": probes, "recall": recall(exact, found), "seconds": took, "times_faster": seconds / took}
    print(f"{probes:>4} probes: recall {told['recall']:.3f}, {told['times_faster']:.1f} times faster", flush=True)
    return told


def main() -> None:
    """Measure, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", type=Path, default=Path("configs/wn18rr/complex-small.yaml"))
    parser.add_argument("--queries", type=int, default=2_000, help="at most so many distinct questions of test")
    parser.add_argument("--scale", type=float, default=1.0, help="1 is 2.47 million entities")
    parser.add_argument("--jitter", type=float, default=0.5, help="how far a copy is moved, as a share of its length")
    parser.add_argument("--out", type=Path, default=RECORD, help="where the record goes")
    options, start = parser.parse_args(), time.perf_counter()
    scorer, kb = trained(options.config)
    queries = kb.queries("test").distinct()[0]
    queries = queries[np.random.default_rng(0).permutation(len(queries))[: options.queries]]
    sizes = {"as trained": kb.n_entities, "with copies": round(ENTITIES * options.scale)}
    found = {name: compare(grown(scorer, n, options.jitter), queries) for name, n in sizes.items()}
    settings = {name: str(value) for name, value in vars(options).items() if name != "out"}
    provenance = Provenance.collect(
        config=settings, data=kb.name, digest=kb.digest, seconds=time.perf_counter() - start
    )
    what = "the best 50 by an approximate index (faiss, IndexIVFFlat) and by exact search, the same two processors"
    write_json(options.out, {"what": what, "k": K, **found, "provenance": provenance.as_json()})


if __name__ == "__main__":
    main()
