"""ExtremeText against napkinxc, the later library of its author, on the same features with the same weights.

    pip install napkinxc
    CEAR_DATA=path/to/data python benchmarks/extreme_text_vs_napkinxc.py

Both are asked for the same lists; here the gold itself must be found, not another mention of it. Both train and search
in one run. Processor seconds are told beside seconds: on a machine that is busy only they compare.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch

from cear.core.files import write_json
from cear.core.types import SIDES, SPLITS, Candidates, Ints, Side, Split
from cear.data import KnowledgeBase, load
from cear.reports import Provenance
from cear.retrieval import TreeSettings, train_extreme_text
from cear.retrieval.extreme_text.examples import Examples

Found = dict[str, float]

RECORD = Path("results/benchmarks/extreme_text_vs_napkinxc.json")
TREES = ("huffman", "hierarchicalKmeans")  # of napkinxc


class Clock:
    """Seconds and processor seconds of a block."""

    wall = cpu = 0.0


@contextmanager
def timed() -> Iterator[Clock]:
    """A clock that stands when the block ends."""
    clock = Clock()
    wall, cpu = time.perf_counter(), time.process_time()
    yield clock
    clock.wall, clock.cpu = time.perf_counter() - wall, time.process_time() - cpu


def measure(kb: KnowledgeBase, options: argparse.Namespace) -> dict[str, Found]:
    """Both on the same facts: hits at 1, 10 and 50 of the split, seconds of training and of searching."""
    config = TreeSettings(dim=options.dim, tree=options.tree, epochs=options.epochs)
    queries, found = kb.queries(options.split), {}
    with tempfile.TemporaryDirectory() as place:
        train_extreme_text(small(kb), config, Path(place) / "compile")[0].top_k(queries[:1], 1)
        with timed() as training:
            model, _ = train_extreme_text(kb, config, Path(place) / "cear")
        with timed() as searching:
            lists = model.top_k(queries, options.k)
        found["cear"] = tell("cear", kb, options.split, lists, training, searching)
        for tree in TREES:
            who = f"napkinxc {tree}"
            found[who] = tell(who, kb, options.split, *napkinxc(kb, config, options, tree, Path(place)))
    return found


def small(kb: KnowledgeBase) -> KnowledgeBase:
    """The same with hardly any facts: training on it compiles the kernels."""
    return KnowledgeBase("small", kb.entities, kb.relations, {"train": kb.facts("train")[:10]})


def napkinxc(
    kb: KnowledgeBase, config: TreeSettings, options: argparse.Namespace, tree: str, place: Path
) -> tuple[Candidates, Clock, Clock]:
    """The lists of napkinxc's PLT, and the clocks of its training and of its search."""
    from napkinxc.models import PLT

    entities, scores, clocks = [], [], (Clock(), Clock())
    for side in reversed(SIDES):  # queries ask for tails first
        examples = Examples.of(kb, side, config)
        plt = PLT(str(place / f"{tree} {side}"), tree_type=tree, threads=torch.get_num_threads(), seed=0)
        with timed() as training:
            plt.fit(matrix(examples, examples.rows(np.arange(len(examples)))), examples.answer[:, None].tolist())
        rows = asked(examples, kb, options.split, side)
        with timed() as searching:
            found = plt.predict_proba(matrix(examples, rows), top_k=options.k)
        entities += [[label for label, _ in row] for row in found]
        scores += [[score for _, score in row] for row in found]
        for total, clock in zip(clocks, (training, searching), strict=True):
            total.wall, total.cpu = total.wall + clock.wall, total.cpu + clock.cpu
    return Candidates(np.array(entities), np.array(scores)), *clocks


def asked(examples: Examples, kb: KnowledgeBase, split: Split, side: Side) -> Ints:
    """The texts of the queries of a split that ask for this side."""
    queries = kb.queries(split)
    queries = queries[kb.asks_head(queries) == (side == "head")]
    return examples.texts.asked(queries.entity, queries.relation % kb.n_relations)


def matrix(examples: Examples, rows: Ints):  # type: ignore[no-untyped-def] # scipy comes with napkinxc
    """The features of queries with the weights that ours give them, (query, feature), sparse."""
    from scipy.sparse import csr_matrix

    texts = examples.texts.features.take(rows.ravel())
    role = np.minimum(np.arange(rows.shape[1]), 2)
    cell = (np.arange(len(rows))[:, None] * 3 + role).ravel()[texts.rows]  # (feature,), which query and role
    weight = examples.texts.role_weights[cell % 3] / np.bincount(cell)[cell]
    shape = (len(rows), examples.texts.n_features)
    return csr_matrix((weight.astype(np.float32), (cell // 3, texts.values)), shape=shape)


def tell(who: str, kb: KnowledgeBase, split: Split, lists: Candidates, training: Clock, searching: Clock) -> Found:
    """Filtered hits and times, printed too."""
    ranks = list_ranks(lists, kb, split)
    found = {f"hits@{k}": float(np.mean(ranks <= k)) for k in (1, 10, 50)} | {
        "training_seconds": training.wall,
        "training_processor_seconds": training.cpu,
        "search_milliseconds_per_query": 1000 * searching.wall / len(ranks),
        "search_processor_milliseconds_per_query": 1000 * searching.cpu / len(ranks),
    }
    print(who, {name: round(value, 4) for name, value in found.items()}, flush=True)
    return found


def ratios(found: dict[str, Found]) -> dict[str, Found]:
    """How many times faster ours is than each of napkinxc's trees."""
    ours, times = found["cear"], [name for name in found["cear"] if not name.startswith("hits")]
    return {who: {name: each[name] / ours[name] for name in times} for who, each in found.items() if who != "cear"}


def list_ranks(lists: Candidates, kb: KnowledgeBase, split: Split) -> Ints:
    """The place of each gold in its list, other known answers taken out; beyond every place if it is not there."""
    known = kb.known(*SPLITS).of_queries(kb.queries(split))
    ranks = np.full(len(lists), np.iinfo(np.int64).max)
    for i, gold in enumerate(kb.gold(split)):
        left = lists.entities[i][~np.isin(lists.entities[i], known.row(i)) | (lists.entities[i] == gold)]
        place = np.flatnonzero(left == gold)
        ranks[i] = place[0] + 1 if len(place) else ranks[i]
    return ranks


def main() -> None:
    """Measure, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="reverb45k")
    parser.add_argument("--split", choices=SPLITS, default="test")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--tree", choices=("huffman", "kmeans"), default="huffman")
    parser.add_argument("--dim", type=int, default=300)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--k", type=int, default=100)
    parser.add_argument("--out", type=Path, default=RECORD, help="where the record goes")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    kb, start = load(options.data), time.perf_counter()
    found = measure(kb, options)
    config = {name: value for name, value in vars(options).items() if name != "out"}
    config["napkinxc"] = version("napkinxc")
    provenance = Provenance.collect(config=config, data=kb.name, digest=kb.digest, seconds=time.perf_counter() - start)
    what = "filtered hits of the gold mention, times of training and search; ExtremeText of ours and PLTs of napkinxc"
    times = ratios(found)
    write_json(options.out, {"what": what, **found, "times_faster": times, "provenance": provenance.as_json()})
    print(options.out)


if __name__ == "__main__":
    main()
