"""ExtremeText: examples a second and milliseconds a query at a given size; against napkinxc on given facts.

python benchmarks/extreme_text.py speed --entities 2470000 --relations 961000 --facts 30600000 --dim 100
python benchmarks/extreme_text.py napkinxc --data reverb45k            # pip install napkinxc first

`speed` makes facts up: frequencies as uneven as real ones, names of several words, and every second answer a function
of a word of the query, the others chance. `napkinxc` trains a PLT of the library by the author of ExtremeText on the
same features with the same weights, and both are asked for the same lists. Processor seconds are told beside seconds:
on a machine that is busy only they compare.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import polars as pl
import torch

from cear.data import KnowledgeBase, Vocabulary, load
from cear.nouns import SIDES, SPLITS, Candidates, Ints, Side
from cear.retrieval import ExtremeText, ExtremeTextConfig, train_extreme_text
from cear.retrieval.extreme_text.examples import Examples

WORDS = 200_000


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


def uneven(random: np.random.Generator, n: int, size: int) -> Ints:
    """Numbers below n, number i about as often as (i + 1) ** -0.75."""
    return np.minimum((n * random.random(size) ** 4).astype(np.int64), n - 1)


def vocabulary(kind: str, n: int, random: np.random.Generator) -> tuple[Vocabulary, Ints]:
    """Names of one to three words, and the first word of each."""
    words = uneven(random, WORDS, 3 * n).reshape(n, 3)
    length = random.integers(1, 4, n)
    table = pl.DataFrame({f"w{i}": words[:, i] for i in range(3)} | {"length": length, "id": np.arange(n)})
    parts = [pl.when(pl.col("length") > i).then(pl.format("w{}", f"w{i}")) for i in range(3)]
    names = table.select(
        pl.col("id").cast(pl.String),
        pl.concat_str(parts, separator=" ", ignore_nulls=True).alias("name"),
        pl.lit(None, pl.String).alias("description"),
        pl.lit(None, pl.List(pl.String)).alias("mentions"),
    )
    return Vocabulary(kind, names), words[:, 0]  # type: ignore[arg-type]


def made_up(n_entities: int, n_relations: int, n_facts: int) -> KnowledgeBase:
    """A knowledge base of this size."""
    random = np.random.default_rng(0)
    entities, first_word = vocabulary("entity", n_entities, random)
    relations, _ = vocabulary("relation", n_relations, random)
    shuffled = random.permutation(n_entities)
    subject, relation = shuffled[uneven(random, n_entities, n_facts)], uneven(random, n_relations, n_facts)
    place = uneven(random, n_entities, n_facts)
    place[::2] = first_word[subject[::2]] * 7919 % n_entities
    facts = np.stack([subject, relation, shuffled[place]], axis=1)
    return KnowledgeBase("made up", entities, relations, {"train": facts})


def speed(options: argparse.Namespace) -> None:
    """Train one pass, search on one thread, tell the rates."""
    with timed() as clock:
        kb = made_up(options.entities, options.relations, options.facts)
    print(f"{kb}\nmade in {clock.wall:.0f} s", flush=True)
    config = ExtremeTextConfig(
        dim=options.dim, epochs=1, tree=options.tree, arity=options.arity, pair_bits=options.pair_bits
    )
    with tempfile.TemporaryDirectory(dir=options.scratch) as place:
        with timed() as clock:
            model, sides = train_extreme_text(kb, config, Path(place))
        for side, state in sides.items():
            rate = options.facts / state.seconds
            print(f"{side}: {rate:,.0f} examples/s, loss {state.losses[0]:.2f} -> {state.losses[-1]:.2f}")
        print(f"training, trees and files included: {clock.wall:.0f} s, {clock.cpu:.0f} processor seconds")
        search_speed(model, kb, options.queries, options.k)
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.1f} GiB")


def search_speed(model: ExtremeText, kb: KnowledgeBase, n_queries: int, k: int) -> None:
    """Print the time of a query on one thread, its compilation not counted."""
    torch.set_num_threads(1)
    rows = np.random.default_rng(1).choice(2 * len(kb.facts("train")), n_queries, replace=False)
    queries = kb.queries("train")[rows]
    model.top_k(queries[:10], k)
    with timed() as clock:
        model.top_k(queries, k)
    milliseconds = 1000 * clock.wall / n_queries, 1000 * clock.cpu / n_queries
    print(f"top {k} of a query: {milliseconds[0]:.2f} ms, {milliseconds[1]:.2f} processor ms")


def against_napkinxc(options: argparse.Namespace) -> None:
    """Both on the same facts: hits at 10 and 50 of the split, seconds of training and of searching."""
    kb, config = load(options.data), ExtremeTextConfig(dim=options.dim, tree=options.tree, epochs=options.epochs)
    queries = kb.queries(options.split)
    with tempfile.TemporaryDirectory() as place:
        train_extreme_text(small(kb), config, Path(place) / "compile")[0].top_k(queries[:1], 1)
        with timed() as training:
            model, _ = train_extreme_text(kb, config, Path(place) / "cear")
        with timed() as searching:
            lists = model.top_k(queries, options.k)
        tell("cear", kb, options.split, lists, training, searching)
        for tree in ("huffman", "hierarchicalKmeans"):
            tell(f"napkinxc {tree}", kb, options.split, *napkinxc(kb, config, options, tree, Path(place)))


def small(kb: KnowledgeBase) -> KnowledgeBase:
    """The same with hardly any facts: training on it compiles the kernels."""
    return KnowledgeBase("small", kb.entities, kb.relations, {"train": kb.facts("train")[:10]})


def napkinxc(
    kb: KnowledgeBase, config: ExtremeTextConfig, options: argparse.Namespace, tree: str, place: Path
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


def asked(examples: Examples, kb: KnowledgeBase, split: str, side: Side) -> Ints:
    """The texts of the queries of a split that ask for this side."""
    queries = kb.queries(split)  # type: ignore[arg-type]
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


def tell(who: str, kb: KnowledgeBase, split: str, lists: Candidates, training: Clock, searching: Clock) -> None:
    """Print filtered hits and times."""
    ranks = list_ranks(lists, kb, split)
    hits = ", ".join(f"H@{k} {np.mean(ranks <= k):.4f}" for k in (1, 10, 50))
    per_query = 1000 * searching.cpu / len(ranks)
    print(
        f"{who:<28} {hits}; training {training.wall:.1f} s ({training.cpu:.1f} processor s), "
        f"search {per_query:.2f} processor ms a query",
        flush=True,
    )


def list_ranks(lists: Candidates, kb: KnowledgeBase, split: str) -> Ints:
    """The place of each gold in its list, other known answers taken out; beyond every place if it is not there."""
    known = kb.known(*SPLITS).of_queries(kb.queries(split))  # type: ignore[arg-type]
    ranks = np.full(len(lists), np.iinfo(np.int64).max)
    for i, gold in enumerate(kb.gold(split)):  # type: ignore[arg-type]
        left = lists.entities[i][~np.isin(lists.entities[i], known.row(i)) | (lists.entities[i] == gold)]
        place = np.flatnonzero(left == gold)
        ranks[i] = place[0] + 1 if len(place) else ranks[i]
    return ranks


def parse() -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--tree", choices=("huffman", "kmeans"), default="huffman")
    what = parser.add_subparsers(required=True)
    fast = what.add_parser("speed")
    fast.set_defaults(run=speed)
    sizes = {"entities": 100_000, "relations": 40_000, "facts": 1_000_000, "queries": 1000, "k": 50}
    for name, default in {**sizes, "dim": 100, "arity": 2, "pair-bits": 0}.items():
        fast.add_argument(f"--{name}", type=int, default=default)
    fast.add_argument("--scratch", type=Path, help="folder for the model's files; a temporary one by default")
    other = what.add_parser("napkinxc")
    other.set_defaults(run=against_napkinxc)
    other.add_argument("--data", required=True)
    other.add_argument("--split", choices=SPLITS, default="test")
    other.add_argument("--dim", type=int, default=300)
    other.add_argument("--epochs", type=int, default=5)
    other.add_argument("--k", type=int, default=100)
    return parser.parse_args()


def main() -> None:
    """Run one of the two."""
    options = parse()
    torch.set_num_threads(options.threads)
    options.run(options)


if __name__ == "__main__":
    main()
