"""Filtered evaluation of FB15K-237's test facts with ComplEx: ours against PyKEEN's, in one run.

    CEAR_DATA=path/to/data python benchmarks/evaluate_vs_pykeen.py                    # a quarter of an hour
    CEAR_DATA=path/to/data python benchmarks/evaluate_vs_pykeen.py --queries 2000     # a quick look

Four evaluations of the same facts with the same random weights, each in a process of its own, one after the other:
ours, ours with every query scored anew for each of its facts, PyKEEN's evaluator, and its `LCWAEvaluationLoop`. The
time of an evaluation does not depend on what was learnt. All four must find the same MRR. The second tells how much of
the ratio is asking distinct queries once. PyKEEN takes the batch of `--batches` that is fastest on a few queries; these
trials are not charged. Ours are measured `--repeats` times, and the median counts, for they take seconds.

Measured are the seconds of the evaluation itself, the index of known answers included and also told apart (reading the
data and building the model not counted), and the most memory of the whole process.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import time
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from racing.evaluations import SIDES

from cear.core.context import HERE, Deadline
from cear.core.errors import MismatchError, OutOfTime
from cear.core.files import write_json
from cear.core.machine import peak_bytes
from cear.core.types import SPLITS
from cear.data import KnowledgeBase, load
from cear.reports import Provenance
from cear.retrieval import ComplExConfig

RECORD = Path("results/benchmarks/evaluate_vs_pykeen.json")
PYKEEN = ("pykeen_evaluator", "pykeen_loop")

Measured = dict[str, Any]


def knowledge_base(data: str, queries: int | None) -> KnowledgeBase:
    """All test facts, or so many that they ask this many queries, in a knowledge base that has indexed nothing."""
    kb = load(data)
    splits = {split: kb.facts(split) for split in SPLITS}
    splits["test"] = splits["test"][: None if queries is None else queries // 2]
    return KnowledgeBase(kb.name, kb.entities, kb.relations, splits)


def measure_here(options: argparse.Namespace) -> Measured:
    """Seconds and memory of one side, measured in this process."""
    torch.set_num_threads(options.threads)
    kb = knowledge_base(options.data, options.queries)
    scorer = ComplExConfig(rank=options.rank).build(kb, HERE)
    timed = SIDES[options.side](scorer, kb, options.batch)
    asked = kb.queries("test")
    counts = {"queries": len(asked), "distinct_queries": len(asked.distinct()[0])}
    batch = {"batch": options.batch} if options.side in PYKEEN else {}
    return {**asdict(timed), **batch, "peak_bytes": peak_bytes(), **counts}


def measure_apart(options: argparse.Namespace, deadline: Deadline) -> Measured:
    """Seconds and memory of one side, measured in a process of its own."""
    told = {"data": options.data, "queries": options.queries, "rank": options.rank, "threads": options.threads}
    told |= {"side": options.side, "batch": options.batch}
    flags = [word for name, value in told.items() if value is not None for word in (f"--{name}", str(value))]
    left = None if math.isinf(deadline.at) else max(deadline.at - time.monotonic(), 0.0)
    try:
        command = [sys.executable, __file__, *flags]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=left)
    except subprocess.TimeoutExpired:
        raise OutOfTime(f"--minutes are over in {options.side}, nothing is written. Ask fewer --queries.") from None
    measured: Measured = json.loads(done.stdout.splitlines()[-1])
    return measured


def compare(options: argparse.Namespace) -> dict[str, Any]:
    """The record of all sides and their ratios."""
    start, deadline = time.perf_counter(), Deadline.after(options.minutes)
    trials = {side: trials_of(side, options, deadline) for side in PYKEEN}
    batches = {side: min(tried, key=_without_index)["batch"] for side, tried in trials.items()}
    measured = {side: median_of(side, options, batches.get(side), deadline) for side in SIDES}
    refuse_other_ranks(measured)
    torch.set_num_threads(options.threads)
    kb, seconds = load(options.data), time.perf_counter() - start
    config = {key: value for key, value in vars(options).items() if key not in ("side", "batch", "out")}
    provenance = Provenance.collect(config=config, data=kb.name, digest=kb.digest, seconds=seconds)
    return {
        "what": "filtered evaluation of the test facts, both sides, ComplEx with random weights",
        "queries": measured["ours"]["queries"],
        "distinct_queries": measured["ours"]["distinct_queries"],
        **measured,
        **ratios(measured),
        "batch_trials": trials,
        "pykeen_version": version("pykeen"),
        "provenance": provenance.as_json(),
    }


def trials_of(side: str, options: argparse.Namespace, deadline: Deadline) -> list[Measured]:
    """A side of PyKEEN's on a few queries with each batch."""
    few = min(options.trial_queries, options.queries or options.trial_queries)
    return [measure_apart(changed(options, side=side, batch=batch, queries=few), deadline) for batch in options.batches]


def median_of(side: str, options: argparse.Namespace, batch: int | None, deadline: Deadline) -> Measured:
    """The run of a side that has the median of its seconds; PyKEEN's sides run once."""
    repeats = 1 if side in PYKEEN else options.repeats
    asked = changed(options, side=side, batch=batch)
    runs = sorted((measure_apart(asked, deadline) for _ in range(repeats)), key=lambda run: run["seconds"])
    median = runs[len(runs) // 2]
    print(f"{side:>16}: {median['seconds']:8.1f} s, {median['peak_bytes'] / 2**20:,.0f} MiB", flush=True)
    return {**median, "all_seconds": [run["seconds"] for run in runs]}


def changed(options: argparse.Namespace, **values: Any) -> argparse.Namespace:
    """The same options but for these."""
    return argparse.Namespace(**{**vars(options), **values})


def refuse_other_ranks(measured: dict[str, Measured]) -> None:
    """Raise `MismatchError` when the sides have not found the same MRR: then they did not do the same work."""
    mrrs = {side: each["mrr"] for side, each in measured.items()}
    if not all(math.isclose(mrr, mrrs["ours"], rel_tol=1e-3) for mrr in mrrs.values()):
        raise MismatchError(f"The sides do not evaluate the same: their MRRs are {mrrs}. Was PyKEEN's model changed?")


def ratios(measured: dict[str, Measured]) -> dict[str, Any]:
    """How many times faster and smaller we are than the faster of PyKEEN's two, and where that comes from."""
    ours, repeated = measured["ours"], measured["ours_repeated"]
    best = min(PYKEEN, key=lambda side: measured[side]["seconds"])
    theirs, loop = measured[best], measured["pykeen_loop"]
    return {
        "fastest_of_pykeen": best,
        "times_faster": theirs["seconds"] / ours["seconds"],
        "of_which": {
            "distinct_queries_once": repeated["seconds"] / ours["seconds"],
            "all_else": theirs["seconds"] / repeated["seconds"],
        },
        "times_faster_than_each": {side: measured[side]["seconds"] / ours["seconds"] for side in PYKEEN},
        "times_faster_than_loop_without_index": _without_index(loop) / _without_index(ours),
        "times_less_memory": theirs["peak_bytes"] / ours["peak_bytes"],
    }


def _without_index(measured: Measured) -> float:
    return float(measured["seconds"] - (measured["index_seconds"] or 0.0))


def parse(arguments: list[str]) -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="fb15k-237")
    parser.add_argument("--queries", type=int, help="only so many queries, for a quick look")
    parser.add_argument("--rank", type=int, default=128)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--batches", type=int, nargs="+", default=[16, 64, 256], help="PyKEEN's, to choose from")
    parser.add_argument("--trial-queries", type=int, default=2000, help="queries of a trial of a batch")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each of ours, of which the median counts")
    parser.add_argument("--minutes", type=float, help="give up after so many, with exit code 3")
    parser.add_argument("--out", type=Path, default=RECORD)
    parser.add_argument("--side", choices=SIDES, help=argparse.SUPPRESS)
    parser.add_argument("--batch", type=int, default=64, help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> None:
    """Measure one side and print it as JSON, or all and write the record."""
    options = parse(arguments)
    if options.side:
        print(json.dumps(measure_here(options)))
        return
    try:
        record = compare(options)
    except OutOfTime as stop:
        print(stop, file=sys.stderr)
        raise SystemExit(3) from None
    write_json(options.out, record)
    share = record["of_which"]["distinct_queries_once"]
    print(f"{record['times_faster']:.1f} times faster than {record['fastest_of_pykeen']}, {share:.1f} of it by asking")
    print(f"each of {record['distinct_queries']:,} distinct queries once for {record['queries']:,}; {options.out}")


if __name__ == "__main__":
    main(sys.argv[1:])
