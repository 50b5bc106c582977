"""The wide re-ranker against k: what more candidates bring and cost, and the paper's sequence of 40 beside it.

    CEAR_DATA=path/to/data python benchmarks/wide.py runs/fb15k-237/wide

One trained wide re-ranker re-ranks lists of every length, for it has no positions; the figures are those of a fixed
sample of test facts. The sequence re-ranker is untrained, which does not change how long it takes. All in one process.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from cear.candidates import Lists
from cear.evaluation import Evaluation, compare
from cear.files import write_json
from cear.pipeline import Run, open_run
from cear.reports import Provenance
from cear.reranking import Reranker, SequenceConfig, SequenceReranker
from cear.stages import evaluate_stages, lists_of

RECORD = Path("results/benchmarks/wide.json")
KS = (10, 40, 100, 300, 1000)
SEQUENCE_K = 40


def with_k(run: Run, k: int) -> Any:
    """The configuration of a run with lists of another length."""
    return run.config.model_copy(update={"candidates": run.config.candidates.model_copy(update={"k": k})})


def speed(reranker: Reranker, lists: Lists) -> float:
    """Lists re-ranked in a second, after a few to warm up."""
    reranker.rerank(lists[:4])
    start = time.perf_counter()
    reranker.rerank(lists)
    return len(lists) / (time.perf_counter() - start)


def quality(evaluation: Evaluation) -> dict[str, Any]:
    """The figures after re-ranking, their intervals, and the gain over Stage 1."""
    assert evaluation.before is not None
    gains = {name: each.difference for name, each in compare(evaluation.before, evaluation).items()}
    return {"both": evaluation.summary()["both"], "intervals": evaluation.intervals()["both"], "gain": gains}


def measure(run: Run, *, facts: int, timed: int) -> dict[str, Any]:
    """Quality and speed for each k, and the speed of the sequence re-ranker."""
    assert run.second is not None
    queries = run.kb.queries("test")
    asked = queries[np.sort(np.random.default_rng(0).choice(len(queries), timed, replace=False))]
    found: dict[str, Any] = {}
    for k in KS:
        config = with_k(run, k)
        rate = speed(run.second.reranker, lists_of(config, run.retrievers, asked, "test"))
        found[str(k)] = {"queries_per_second": rate}
        found[str(k)] |= quality(evaluate_stages(config, run.retrievers, run.second, "test", facts=facts))
        print(f"k {k:>4}: {rate:8.1f} queries/s, {found[str(k)]['both']}", flush=True)
    sequence = SequenceReranker(run.kb, SequenceConfig(text="name"))
    rate = speed(sequence, lists_of(with_k(run, SEQUENCE_K), run.retrievers, asked, "test"))
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
    print(f"{record['times_faster_at_1000']:.1f} times the sequence re-ranker; {options.out}")


if __name__ == "__main__":
    main(sys.argv[1:])
