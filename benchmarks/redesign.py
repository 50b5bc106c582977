"""The redesign against the code before it: training, evaluation, the demo and answering, as ratios in one run.

    CEAR_DATA=path/to/data python benchmarks/redesign.py --before PATH/src --before-run OLD --run NEW

`--before` is the `src` folder of a checkout of the code before; `--before-run` and `--run` are finished runs of the
wide re-ranker on FB15K-237, made by the code before and by this one. Every measurement is a process of its own that
imports `cear` from one of the two checkouts; the two take turns, so that whatever else the machine does falls on both.
Each process that trains has an empty cache, so that no step is reused; answers are made with the user's own, which
keeps the text vectors of FB15K-237.

    training      seconds of some epochs of ComplEx on FB15K-237, without reading the data and without validation
    evaluation    seconds for all test queries of FB15K-237 by that Stage 1
    demo          seconds of `cear demo`
    rank          milliseconds per query: 1,000 queries in one call of `run.rank`, against a loop of `run.ask` before.
                  The loop asks only the first 100 of these queries, and is scaled by query
    ask           milliseconds of one `run.ask` in a process that is warm, the median of 50
    cold          seconds of `cear ask` on the demo's run, from the start of Python to its end, the median of 5

A ratio is time now divided by time before: below 1 is faster.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

DATA = "fb15k-237"
RECORD = Path("results/benchmarks/redesign.json")
COMMAND = "import cear.cli as cli; getattr(cli, 'program', cli.main)()"  # what the installed command calls
QUESTION = ("Munich", "located in country")
SIDES = ("before", "now")
Seconds = dict[str, list[float]]

# What a measured process does. Only names that both checkouts have are imported here.


class Stopwatch:
    """A progress bar that notes when training began and when its last step was taken."""

    def __init__(self) -> None:
        self.began = self.ended = 0.0

    @contextmanager
    def __call__(self, label: str, steps: int, /) -> Iterator[Stopwatch]:
        """A bar; that of the training is timed."""
        del steps
        self._counts = label == "Training"
        if self._counts:
            self.began = time.perf_counter()
        yield self
        self._counts = False

    def advance(self, steps: int = 1) -> None:
        """A step was taken."""
        del steps
        if self._counts:
            self.ended = time.perf_counter()

    def describe(self, text: str) -> None:
        """Nothing is shown."""


def measure_training(options: argparse.Namespace) -> dict[str, float]:
    """Seconds of the steps of all epochs, and of the evaluation on test."""
    from cear.config import load_config
    from cear.pipeline import run

    with tempfile.TemporaryDirectory() as place:
        config = Path(place) / "config.yaml"
        epochs = options.epochs  # validation comes once, after the last step
        stage1 = {"model": "complex", "rank": options.rank, "epochs": epochs, "validate_every": epochs}
        config.write_text(json.dumps({"data": options.data, "threads": options.threads, "stage1": stage1}))
        clock = Stopwatch()
        finished = run(load_config(config), Path(place) / "run", progress=clock)
        start = time.perf_counter()
        finished.evaluate("test").summary()
        return {"training": clock.ended - clock.began, "evaluation": time.perf_counter() - start}


def measure_answers(options: argparse.Namespace) -> dict[str, Any]:
    """Milliseconds per query: in one call of `rank`, where there is one, and in a loop of `ask`."""
    from cear.pipeline import open_run

    finished = open_run(options.folder)
    kb, found = finished.kb, {}
    asked = _distinct_queries(kb, options.queries)
    loop = asked[: options.asked]
    for row in loop[:2]:
        finished.ask(**_question(kb, row))  # whatever is loaded or compiled when it is first needed
    each = [_milliseconds(finished.ask, **_question(kb, row)) for row in loop]
    found["ask"] = {"queries": len(loop), "median": median(each), "mean": float(np.mean(each))}
    if hasattr(finished, "rank"):
        from cear.core.types import Queries

        queries = Queries(asked[:, 0].copy(), asked[:, 1].copy())
        finished.rank(queries[:10])
        found["rank"] = {"queries": len(asked), "mean": _milliseconds(finished.rank, queries) / len(asked)}
    return found


def _distinct_queries(kb: Any, n: int) -> Any:
    """A fixed sample of distinct test queries, (query, 2): entity and relation."""
    queries = kb.queries("test")
    rows = np.unique(np.stack([queries.entity, queries.relation], axis=1), axis=0)
    return rows[np.random.default_rng(0).permutation(len(rows))[:n]]


def _question(kb: Any, row: Any) -> dict[str, Any]:
    """A query in the user's ids."""
    entity, relation = kb.entities.id(int(row[0])), int(row[1])
    end = "subject" if relation < kb.n_relations else "object"
    return {"relation": kb.relations.id(relation % kb.n_relations), end: entity}


def _milliseconds(work: Callable[..., object], *arguments: Any, **named: Any) -> float:
    start = time.perf_counter()
    work(*arguments, **named)
    return 1000 * (time.perf_counter() - start)


MEASURES: dict[str, Callable[[argparse.Namespace], dict[str, Any]]] = {
    "training": measure_training,
    "answers": measure_answers,
}

# What the process that compares does.


class Sides:
    """Both checkouts, as places where Python finds `cear`."""

    def __init__(self, before: Path, threads: int) -> None:
        self.sources = {"before": before.resolve(), "now": Path(__file__).resolve().parents[1] / "src"}
        self._threads = threads

    def environment(self, side: str, cache: Path | None) -> dict[str, str]:
        """The variables of a process that uses one side, with a cache of its own or, for None, the user's."""
        own = {} if cache is None else {"CEAR_CACHE": str(cache)}
        threads = dict.fromkeys(("OMP_NUM_THREADS", "NUMBA_NUM_THREADS"), str(self._threads))
        return os.environ | {"PYTHONPATH": str(self.sources[side])} | threads | own

    def measure(self, side: str, what: str, cache: Path | None, *arguments: str) -> dict[str, Any]:
        """What a measured process found."""
        command = [sys.executable, __file__, "--measure", what, *arguments]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=self.environment(side, cache))
        found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        if not Path(found.pop("source")).is_relative_to(self.sources[side]):
            raise SystemExit(f"{side}: Python found another cear than that in {self.sources[side]}.")
        return found

    def command(self, side: str, cache: Path, *arguments: str) -> float:
        """The seconds of a `cear` command."""
        start = time.perf_counter()
        environment = self.environment(side, cache)
        subprocess.run(
            [sys.executable, "-c", COMMAND, *arguments], check=True, stdout=subprocess.DEVNULL, env=environment
        )
        return time.perf_counter() - start


def compare_training(sides: Sides, options: argparse.Namespace) -> dict[str, Any]:
    """Training and evaluation of Stage 1, in turns."""
    found: dict[str, Seconds] = {what: {side: [] for side in SIDES} for what in ("training", "evaluation")}
    sizes = {"data": options.data, "epochs": options.epochs, "rank": options.rank, "threads": options.threads}
    arguments = [text for name, value in sizes.items() for text in (f"--{name}", str(value))]
    for _ in range(options.repeats):
        for side in SIDES:
            with tempfile.TemporaryDirectory() as cache:
                measured = sides.measure(side, "training", Path(cache), *arguments)
            for what, seconds in measured.items():
                found[what][side].append(seconds)
                print(f"{what:>12}, {side}: {seconds:.1f} s", flush=True)
    return {what: compared(seconds) for what, seconds in found.items()}


def compare_demo(sides: Sides, options: argparse.Namespace) -> dict[str, Any]:
    """`cear demo` in turns, and then `cear ask` on the last run of each side."""
    demo: Seconds = {side: [] for side in SIDES}
    cold: Seconds = {side: [] for side in SIDES}
    with tempfile.TemporaryDirectory() as place:
        last = {side: Path(place) / f"{side}-{options.repeats - 1}" for side in SIDES}
        for repeat in range(options.repeats):
            for side in SIDES:
                folder = Path(place) / f"{side}-{repeat}"
                demo[side].append(sides.command(side, folder / "cache", "demo", "--out", str(folder / "run")))
                print(f"        demo, {side}: {demo[side][-1]:.1f} s", flush=True)
        for _ in range(options.cold):
            for side in SIDES:
                run = str(last[side] / "run")
                cold[side].append(sides.command(side, last[side] / "cache", "ask", run, *QUESTION))
                print(f"        cold, {side}: {cold[side][-1]:.2f} s", flush=True)
    return {"demo": compared(demo), "cold": compared(cold)}


def compare_answers(sides: Sides, options: argparse.Namespace) -> dict[str, Any]:
    """A batch of queries and single ones, through the wide re-ranker."""
    found = {}
    for side, folder, asked in (("before", options.before_run, options.loop), ("now", options.run, options.warm)):
        sizes = ("--queries", str(options.queries), "--asked", str(asked))
        found[side] = sides.measure(side, "answers", None, "--folder", str(folder), *sizes)
        print(f"     answers, {side}: {found[side]}", flush=True)
    loop, batch, ask = found["before"]["ask"], found["now"]["rank"], found["now"]["ask"]
    return {
        "rank": {
            "before_milliseconds_per_query": loop["mean"],
            "before_queries": loop["queries"],
            "now_milliseconds_per_query": batch["mean"],
            "now_queries": batch["queries"],
            "ratio": batch["mean"] / loop["mean"],
            "times_faster": loop["mean"] / batch["mean"],
        },
        "ask": {
            "before_median_milliseconds": loop["median"],
            "now_median_milliseconds": ask["median"],
            "now_queries": ask["queries"],
            "ratio": ask["median"] / loop["median"],
        },
    }


def compared(seconds: Seconds) -> dict[str, Any]:
    """The seconds of both sides, their medians, and time now as a share of time before."""
    middle = {side: median(each) for side, each in seconds.items()}
    return {"seconds": seconds, "median": middle, "ratio": middle["now"] / middle["before"]}


PARTS = {"training": compare_training, "demo": compare_demo, "answers": compare_answers}


def commit_of(source: Path) -> str | None:
    """The commit that a checkout is at, where git knows."""
    command = ["git", "-C", str(source), "rev-parse", "HEAD"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def compare(options: argparse.Namespace) -> None:
    """Measure all parts that are wanted, and write the record."""
    from cear.core.files import write_json
    from cear.data import load
    from cear.reports import Provenance

    start, sides = time.perf_counter(), Sides(options.before, options.threads)
    found: dict[str, Any] = {}
    for part in options.parts:
        if part == "answers" and (options.run is None or options.before_run is None):
            print("answers are left out: --run and --before-run name no runs", flush=True)
            continue
        found |= PARTS[part](sides, options)
    kb = load(options.data)
    seconds = time.perf_counter() - start
    kept = ("data", "epochs", "rank", "threads", "repeats", "queries", "loop", "warm", "cold", "parts")
    config = {name: getattr(options, name) for name in kept}
    provenance = Provenance.collect(config=config, data=kb.name, digest=kb.digest, seconds=seconds)
    what = "time now and before the redesign, processes of both taking turns; a ratio below 1 is faster"
    before = {"before_commit": commit_of(options.before)}
    write_json(options.out, {"what": what, **before, **found, "provenance": provenance.as_json()})
    print(", ".join(f"{what} {each['ratio']:.2f}" for what, each in found.items()), options.out, sep="; ")


def parse(arguments: list[str]) -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, help="the src folder of a checkout of the code before")
    parser.add_argument("--before-run", type=Path, help="a run of wide on FB15K-237, made by the code before")
    parser.add_argument("--run", type=Path, help="a run of wide on FB15K-237, made by this code")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=[*PARTS], help="what is measured")
    parser.add_argument("--data", default=DATA, help="another data set, for a quick look at training and evaluation")
    parser.add_argument("--epochs", type=int, default=3, help="of ComplEx")
    parser.add_argument("--rank", type=int, default=128, help="of ComplEx")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3, help="turns of training and of the demo; the median counts")
    parser.add_argument("--queries", type=int, default=1000, help="in one call of rank")
    parser.add_argument("--loop", type=int, default=100, help="questions of the loop of ask before")
    parser.add_argument("--warm", type=int, default=50, help="questions of the warm ask now")
    parser.add_argument("--cold", type=int, default=5, help="starts of `cear ask`")
    parser.add_argument("--out", type=Path, default=RECORD, help="where the record goes")
    for name, kind in (("--measure", str), ("--folder", Path), ("--asked", int)):  # of measured processes
        parser.add_argument(name, type=kind, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.measure is None and options.before is None:
        parser.error("--before is needed: the src folder of a checkout to compare with")
    return options


def main(arguments: list[str]) -> None:
    """Measure one side and print it as JSON, or compare both and write the record."""
    options = parse(arguments)
    if options.measure is None:
        compare(options)
        return
    import cear

    assert cear.__file__ is not None
    print(json.dumps(MEASURES[options.measure](options) | {"source": cear.__file__}))


if __name__ == "__main__":
    main(sys.argv[1:])
