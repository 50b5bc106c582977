"""The exact best 50 among 2.47 million vectors in four parts, each an actor with its slice mapped from a file.

python benchmarks/partitioned_search.py
python benchmarks/partitioned_search.py --scale 0.05 --queries 500

Compared, to the last bit, with the search of one process on the same file, which is timed before and after. One process
has as many threads as the machine's processors, and each part has one: parts share the same processors. Memory is the
peak of each actor's process, pages of the file among it.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from cear.cli.console import progress_bar
from cear.cluster import Cluster, vectors_on
from cear.core.files import write_json
from cear.core.tensors import write_tensors
from cear.core.types import Candidates, Queries
from cear.reports import Provenance
from cear.retrieval import ComplEx, InParts, MappedRows, Retriever, RowsEmbeddings, slices_of, top_k

Found = dict[str, Any]

RECORD = Path("results/benchmarks/partitioned_search.json")
ENTITIES = 2_470_000  # of OLPBENCH
K = 50


def compare(scorer: ComplEx, path: Path, queries: Queries, options: argparse.Namespace) -> Found:
    """Seconds of one process, of parts, and of one process again, whether the lists are equal, and memory of parts."""
    warm = queries[:64]
    one, before = timed(scorer, queries, warm)
    cluster = Cluster(cpus=options.threads)
    with vectors_on(cluster, scorer, path, options.parts) as parts:
        several, during = timed(parts, queries, warm)
        memory = [peak_of(part.process()) for part in parts.parts]
    _, after = timed(scorer, queries, warm)
    return {
        "equal": equal(one, several),
        "one_process_seconds": [before, after],
        "parts_seconds": during,
        "share_of_one_process": (before + after) / 2 / during,
        "parts": memory_of(parts, scorer, memory, options),
    }


def timed(retriever: Retriever, queries: Queries, warm: Queries) -> tuple[Candidates, float]:
    """The lists of a search, and its seconds, without those of the first call, which starts whatever has to."""
    with torch.inference_mode():
        top_k(retriever, warm, K)
        start = time.perf_counter()
        return top_k(retriever, queries, K, progress=progress_bar), time.perf_counter() - start


def equal(one: Candidates, other: Candidates) -> bool:
    """Whether entities and scores are the same to the last bit."""
    return bool(np.array_equal(one.entities, other.entities)) and one.scores.tobytes() == other.scores.tobytes()


def memory_of(parts: InParts, scorer: ComplEx, peaks: list[int], options: argparse.Namespace) -> list[Found]:
    """The entities of each part, the bytes of its slice, and the peak of its process."""
    slices = slices_of(parts.n_entities, options.parts)
    width = scorer.entity_vectors(np.zeros(1, np.int64)).shape[1]
    sizes = [each.stop - each.start for each in slices]
    return [
        {"entities": n, "slice_bytes": 4 * width * n, "peak_bytes": peak} for n, peak in zip(sizes, peaks, strict=True)
    ]


def peak_of(process: int) -> int:
    """The most memory that a process of this machine has held, in bytes."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    said = next(line for line in lines if line.startswith("VmHWM:"))
    return 1024 * int(said.split()[1])


def measure(options: argparse.Namespace, folder: Path) -> Found:
    """Write vectors, and search them both ways."""
    n, path = round(ENTITIES * options.scale), folder / "best.safetensors"
    write_tensors(path, dict(ComplEx(RowsEmbeddings(n, 1), rank=options.width // 2).state_dict()))
    scorer = ComplEx(MappedRows(path), rank=options.width // 2)
    random = np.random.default_rng(0)
    queries = Queries(random.integers(n, size=options.queries), random.integers(2, size=options.queries))
    return {"entities": n, "queries": options.queries, "k": K} | compare(scorer, path, queries, options)


def main() -> None:
    """Measure, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    sizes = {"queries": 10_000, "parts": 4, "width": 200, "threads": 2}
    for name, default in sizes.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--scale", type=float, default=1.0, help="1 is 2.47 million entities")
    parser.add_argument("--out", type=Path, default=RECORD, help="where the record goes")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as place:
        found = measure(options, Path(place))
    config = {name: value for name, value in vars(options).items() if name != "out"}
    provenance = Provenance.collect(config=config, data="random", digest="", seconds=time.perf_counter() - start)
    what = "the exact best 50 by ComplEx with fresh vectors, by parts in Ray actors and by one process"
    write_json(options.out, {"what": what, **found, "provenance": provenance.as_json()})
    print(f"{'equal' if found['equal'] else 'NOT EQUAL'}, {found['share_of_one_process']:.0%} of one process's rate")


if __name__ == "__main__":
    main()
