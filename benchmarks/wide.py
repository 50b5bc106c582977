"""The wide re-ranker against k: what more candidates bring and cost, and the paper's sequence of 40 beside it.

    CEAR_DATA=path/to/data python benchmarks/wide.py runs/fb15k-237/wide

One trained wide re-ranker re-ranks lists of every length, for it has no positions; the figures are those of a fixed
sample of test facts. Beside them the recall of each retriever's own list of that length and of their union. The
sequence re-ranker is untrained, which does not change how long it takes. All in one process, and a figure of it.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from cear.candidates import Lists, Manifest, Retrievers, make_lists
from cear.core.context import HERE
from cear.core.files import write_json
from cear.core.types import Queries, Ragged
from cear.evaluation import Evaluation, compare
from cear.pipeline import Run, open_run
from cear.ranking import Ranker, evaluate_ranker
from cear.reports import Provenance
from cear.reranking import Reranker, SequenceConfig, SequenceReranker

RECORD, FIGURE = Path("results/benchmarks/wide.json"), Path("docs/figures/wide.svg")
KS = (10, 40, 100, 300, 1000)
SEQUENCE_K = 40


def lists_of(ranker: Ranker, queries: Queries, k: int) -> Lists:
    """The lists of so many candidates that Stage 2 reads."""
    kb = ranker.kb
    return make_lists(ranker.retrievers, queries, Manifest(kb.name, kb.digest, "test", k, ranker.known, "the run's"))


def speed(reranker: Reranker, lists: Lists) -> float:
    """Lists re-ranked in a second, after a few to warm up."""
    reranker.rerank(lists[:4])
    start = time.perf_counter()
    reranker.rerank(lists)
    return len(lists) / (time.perf_counter() - start)


def recall(run: Run, lists: Lists, golds: Ragged) -> dict[str, float]:
    """The share of queries whose gold is in a list of the same length, of each retriever alone and of all together."""
    retrievers = run.ranker.retrievers
    each = {run.config.stage1.model: retrievers.first} | dict(retrievers.extra)
    alone = {name: Retrievers(run.kb, one, {}) for name, one in each.items()}
    found = {name: make_lists(one, lists.queries, lists.manifest) for name, one in alone.items()} | {"union": lists}
    return {name: float(golds.contains(each.candidates.entities).any(axis=1).mean()) for name, each in found.items()}


def draw(record: dict[str, Any], path: Path) -> None:
    """Quality and speed against k, as a picture."""
    import matplotlib.pyplot as plt

    ks = [int(k) for k in record["wide"]]
    rows = list(record["wide"].values())
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
    for name, label in (("mrr", "MRR"), ("hits@1", "H@1")):
        values = [row["both"][name] for row in rows]
        low, high = zip(*(row["intervals"][name] for row in rows), strict=True)
        left.plot(ks, values, marker="o", label=label)
        left.fill_between(ks, low, high, alpha=0.2)
    for name in rows[0]["recall"]:
        left.plot(ks, [row["recall"][name] for row in rows], linestyle=":", label=f"recall, {name}")
    right.plot(ks, [row["queries_per_second"] for row in rows], marker="o", label="wide")
    right.axhline(record["sequence"]["queries_per_second"], color="gray", linestyle="--", label="sequence, k = 40")
    for axes, title in ((left, "quality"), (right, "queries a second")):
        axes.set(xscale="log", xlabel="candidates k", title=title, xticks=ks, xticklabels=[str(k) for k in ks])
        axes.minorticks_off()
        axes.legend(fontsize="small")
    right.set_yscale("log")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
    plt.close(figure)


def quality(evaluation: Evaluation) -> dict[str, Any]:
    """The figures after re-ranking, their intervals, and the gain over Stage 1."""
    assert evaluation.before is not None
    gains = {name: each.difference for name, each in compare(evaluation.before, evaluation).items()}
    return {"both": evaluation.summary()["both"], "intervals": evaluation.intervals()["both"], "gain": gains}


def measure(run: Run, *, facts: int, timed: int) -> dict[str, Any]:
    """Quality and speed for each k, and the speed of the sequence re-ranker."""
    ranker, reranker = run.ranker, run.ranker.reranker
    assert reranker is not None
    queries = run.kb.queries("test")
    asked = queries[np.sort(np.random.default_rng(0).choice(len(queries), timed, replace=False))]
    found: dict[str, Any] = {}
    for k in KS:
        rate = speed(reranker, lists_of(ranker, asked, k))
        evaluation = evaluate_ranker(replace(ranker, k=k), "test", facts=facts)
        lists = lists_of(ranker, evaluation.queries, k)
        found[str(k)] = {"queries_per_second": rate, "recall": recall(run, lists, evaluation.golds)}
        found[str(k)] |= quality(evaluation)
        print(f"k {k:>4}: {rate:8.1f} queries/s, {found[str(k)]['both']}", flush=True)
    sequence = SequenceReranker(run.kb, SequenceConfig(text="name"), HERE)
    rate = speed(sequence, lists_of(ranker, asked, SEQUENCE_K))
    print(f"sequence, k {SEQUENCE_K}: {rate:.1f} queries/s", flush=True)
    ratio = found[str(KS[-1])]["queries_per_second"] / rate
    return {"wide": found, "sequence": {"k": SEQUENCE_K, "queries_per_second": rate}, "times_faster_at_1000": ratio}


def main(arguments: list[str]) -> None:
    """Measure, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, help="a finished run with `reranker: {kind: wide}`")
    parser.add_argument("--facts", type=int, default=1000, help="test facts whose two queries are ranked")
    parser.add_argument("--timed", type=int, default=200, help="queries that are timed")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=Path, default=RECORD, help="where the record goes")
    parser.add_argument("--figure", type=Path, default=FIGURE, help="where the figure goes")
    options = parser.parse_args(arguments)
    start = time.perf_counter()
    run = open_run(options.run)
    torch.set_num_threads(options.threads)
    record = measure(run, facts=options.facts, timed=options.timed)
    config = {
        "facts": options.facts,
        "timed": options.timed,
        "threads": options.threads,
        "run": run.config.model_dump(),
    }
    provenance = Provenance.collect(
        config=config, data=run.kb.name, digest=run.kb.digest, seconds=time.perf_counter() - start
    )
    what = "quality and queries a second of the wide re-ranker by k, on lists that are already made"
    write_json(options.out, {"what": what, **record, "provenance": provenance.as_json()})
    draw(record, options.figure)
    print(f"{record['times_faster_at_1000']:.1f} times the sequence re-ranker; {options.out}")


if __name__ == "__main__":
    main(sys.argv[1:])
