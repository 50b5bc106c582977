"""A run, or the part of one that a benchmark measures, in a process of its own; started by `on_ray.Driver`."""

from __future__ import annotations

import argparse
import json
import logging
import time
from pathlib import Path

from cear.config import load_config
from cear.pipeline import Elsewhere, Plan, lay_out, run
from cear.steps import Step

DONE = "done.json"


def parse() -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("config", type=Path)
    parser.add_argument("folder", type=Path, help="where the run and its store are")
    parser.add_argument("--part", choices=("whole", "folds", "lists", "reranker"), default="whole")
    parser.add_argument("--on", help="as of `cear run`; this process by default")
    parser.add_argument("--cpus", type=int, help="processors that Ray takes on this machine")
    parser.add_argument("--data-parallel", type=int, default=1)
    return parser.parse_args()


def elsewhere(options: argparse.Namespace) -> Elsewhere | None:
    """Who makes the steps, if not this process."""
    if options.on is None:
        return None
    from cear.cluster import ray_at

    return ray_at(options.on, cpus=options.cpus, data_parallel=options.data_parallel)


def make(options: argparse.Namespace) -> None:
    """Make what is measured: both stages, evaluation and a completion, or some steps of a run."""
    config, out, store = load_config(options.config), options.folder / "run", options.folder / "store"
    on = elsewhere(options)
    if options.part == "whole":
        done = run(config, out, store=store, on=on)
        done.evaluate("test")
        done.complete()
        return
    plan = lay_out(config, out, store=store, on=on)
    plan.store.get_all(_steps(plan, options.part))


def _steps(plan: Plan, part: str) -> list[Step]:
    match part:
        case "folds":
            return [step for retrievers in plan.fold_retrievers for step in retrievers.values()]
        case "lists":
            return [*plan.reranker.inputs]
        case _:
            return [plan.reranker]


def main() -> None:
    """Make it, and say how long that took."""
    logging.basicConfig(level="INFO")
    options, start = parse(), time.perf_counter()
    make(options)
    (options.folder / DONE).write_text(json.dumps({"seconds": time.perf_counter() - start}))


if __name__ == "__main__":
    main()
