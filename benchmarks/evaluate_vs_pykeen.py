"""Filtered evaluation of FB15K-237's test facts with ComplEx: ours against PyKEEN's, in one run.

    CEAR_DATA=path/to/data python benchmarks/evaluate_vs_pykeen.py

Each side runs in a process of its own, one after the other, on the same facts, with random weights of the same size:
the time of an evaluation does not depend on what was learnt. Measured are the seconds of the evaluation itself
(reading the data and building the model not counted) and the most memory of the whole process.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from cear.core.context import HERE
from cear.core.files import write_json
from cear.core.machine import peak_bytes
from cear.core.types import SPLITS
from cear.data import KnowledgeBase, load
from cear.evaluation import evaluate
from cear.reports import Provenance
from cear.retrieval import ComplExConfig

DATA = "fb15k-237"
RECORD = Path("results/benchmarks/evaluate_vs_pykeen.json")


def ours(kb: KnowledgeBase, options: argparse.Namespace) -> float:
    """Seconds of our evaluation: ranks under three filters, leak check, measures of both sides."""
    scorer = ComplExConfig(rank=options.rank).build(kb, HERE)
    return seconds_of(lambda: evaluate(scorer, kb, "test").summary())


def pykeen(kb: KnowledgeBase, options: argparse.Namespace) -> float:
    """Seconds of PyKEEN's evaluation of the same measures, filtered by the same facts."""
    from pykeen.evaluation import RankBasedEvaluator
    from pykeen.models import ComplEx
    from pykeen.triples import CoreTriplesFactory

    train, valid, test = (torch.from_numpy(kb.facts(split).copy()) for split in SPLITS)
    factory = CoreTriplesFactory(train, num_entities=kb.n_entities, num_relations=kb.n_relations)
    model = ComplEx(triples_factory=factory, embedding_dim=options.rank, random_seed=0)
    ks: list[dict[str, int] | None] = [{"k": k} for k in (1, 3, 10, 50)]
    evaluator = RankBasedEvaluator(metrics=["mrr", *["hits@k"] * 4], metrics_kwargs=[None, *ks], add_defaults=False)
    filters = [train, valid]
    return seconds_of(
        lambda: evaluator.evaluate(
            model, test, batch_size=options.pykeen_batch, additional_filter_triples=filters, use_tqdm=False
        )
    )


SIDES: dict[str, Callable[[KnowledgeBase, argparse.Namespace], float]] = {"ours": ours, "pykeen": pykeen}


def seconds_of(work: Callable[[], object]) -> float:
    """How long some work takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def knowledge_base(queries: int | None) -> KnowledgeBase:
    """FB15K-237, all its test facts or so many that they ask this many queries."""
    kb = load(DATA)
    splits = {split: kb.facts(split) for split in SPLITS}
    splits["test"] = splits["test"][: None if queries is None else queries // 2]
    return KnowledgeBase(kb.name, kb.entities, kb.relations, splits)


def measure_here(options: argparse.Namespace) -> dict[str, Any]:
    """Seconds and memory of one side, measured in this process."""
    torch.set_num_threads(options.threads)
    kb = knowledge_base(options.queries)
    seconds = SIDES[options.side](kb, options)
    return {"seconds": seconds, "peak_bytes": peak_bytes(), "queries": len(kb.queries("test"))}


def measure_apart(side: str, arguments: list[str]) -> dict[str, Any]:
    """Seconds and memory of one side, measured in a process of its own."""
    command = [sys.executable, __file__, *arguments, "--side", side]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    measured: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    print(f"{side:>8}: {measured['seconds']:8.1f} s, {measured['peak_bytes'] / 2**20:,.0f} MiB")
    return measured


def compare(options: argparse.Namespace, arguments: list[str]) -> dict[str, Any]:
    """The record of both sides and their ratios."""
    start = time.perf_counter()
    measured = {side: measure_apart(side, arguments) for side in SIDES}
    a, b = measured["ours"], measured["pykeen"]
    config = {key: value for key, value in vars(options).items() if key not in ("side", "out")}
    torch.set_num_threads(options.threads)
    kb = load(DATA)
    provenance = Provenance.collect(config=config, data=kb.name, digest=kb.digest, seconds=time.perf_counter() - start)
    return {
        "what": "filtered evaluation of the test facts, both sides, ComplEx with random weights",
        "queries": a["queries"],
        **measured,
        "times_faster": b["seconds"] / a["seconds"],
        "times_less_memory": b["peak_bytes"] / a["peak_bytes"],
        "pykeen_version": version("pykeen"),
        "provenance": provenance.as_json(),
    }


def parse(arguments: list[str]) -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, help="only so many queries, for a quick look")
    parser.add_argument("--rank", type=int, default=128)
    parser.add_argument("--threads", type=int, default=2)
    # The fastest of 8, 32, 64 and 256 on two cores; 256 takes 4 GB and is slower.
    parser.add_argument("--pykeen-batch", type=int, default=64, help="facts that PyKEEN evaluates at a time")
    parser.add_argument("--out", type=Path, default=RECORD)
    parser.add_argument("--side", choices=SIDES, help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> None:
    """Measure one side and print it as JSON, or both and write the record."""
    options = parse(arguments)
    if options.side:
        print(json.dumps(measure_here(options)))
        return
    record = compare(options, arguments)
    write_json(options.out, record)
    print(f"{record['times_faster']:.1f} times faster over {record['queries']:,} queries; {options.out}")


if __name__ == "__main__":
    main(sys.argv[1:])
