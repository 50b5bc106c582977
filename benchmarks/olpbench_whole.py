"""The whole way at OLPBENCH's size, by the commands that anybody would use: a run with both stages, then a completion.

python benchmarks/olpbench_whole.py --folder big                   # 30.6 million facts; 2.5 GB of text, 12 GB of steps
python benchmarks/olpbench_whole.py --folder big --minutes 20      # stops with exit code 3; again, and it goes on
python benchmarks/olpbench_whole.py --folder small --scale 0.01
python benchmarks/olpbench_whole.py --folder big --on ray          # steps made by workers of a local Ray cluster

The knowledge base is made up, in OLPBENCH's layout (`open_kb/world.py`). ExtremeText learns from all facts and, for
the lists of a million training queries, without a fold of them; CEAR learns from a slice of the lists. Twenty thousand
questions have their best 50 re-ranked, from which probabilities are learned, and one relation is completed. Seconds and
memory are those that each step reports, interrupted tries counted in; the memory of all processes together is looked at
every few seconds. Stage 2 computes in bf16 where the processor has it.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import yaml
from on_ray import descendants
from open_kb.files import write_open_kb
from open_kb.world import Sizes

from cear.config import RunConfig
from cear.core.devices import has_bf16
from cear.core.files import read_json, write_json
from cear.data import KnowledgeBase, load
from cear.reports import Provenance

Found = dict[str, Any]

RECORD = Path("results/benchmarks/olpbench_whole.json")
GIB = 2**30
OUT_OF_TIME = 3  # the exit code of a command that saved everything and wants to be called again
LEAST = {"lists": 2000, "learned": 48, "questions": 200, "facts": 20}  # of a small world, so that all has something
FACTS = 250  # test facts whose exact ranks are measured
EVERY = 5.0  # seconds between two looks at the memory of all processes
BUDGET = 2_000  # questions of the relation that is completed


def config_of(data: Path, scale: float, threads: int) -> Found:
    """The configuration: that of configs/olpbench, cheap enough for two processors."""
    sizes = {"lists": 1_000_000, "learned": 1_500, "questions": 20_000, "facts": 100}
    size = {name: max(LEAST[name], round(scale * full)) for name, full in sizes.items()}
    return {
        "data": str(data),
        "threads": threads,
        "stage1": {"model": "extreme_text", "dim": 32, "epochs": 1, "pair_bits": 0},
        "candidates": {
            "k": 50,
            "crossfit": {"folds": 10, "by": "fact", "held_out_folds": 1},
            "queries": size["lists"],
        },
        "reranker": {
            "kind": "sequence",
            "text": "name",
            "features": "scores",
            "loss": "softmax",
            "form_tokens": 3,
            "learning_rate": 1e-4,
            "head_learning_rate": 2e-3,
            "max_tokens": 1000,
            "lists_per_epoch": size["learned"],
            "epochs": 1,
            "validate_facts": size["facts"],
            "precision": "bf16" if has_bf16("cpu") else "fp32",
        },
        # With a million phrases hardly any pair of them is held by the same entities: what is known is asked for more.
        "calibration": {"questions": size["questions"], "proposals": 10, "folds": 0, "least_share": 0.99},
    }


def prepare(options: argparse.Namespace) -> Path:
    """The configuration of the run, beside the knowledge base; both written unless they are there."""
    folder: Path = options.folder
    data, config = folder / "open-kb", folder / "whole.yaml"
    if not (data / "test_data.txt").exists():
        write_open_kb(data, Sizes().scaled(options.scale), seed=0)
    values = config_of(data.resolve(), options.scale, options.threads)
    RunConfig.model_validate(values)
    config.write_text(yaml.safe_dump(values, sort_keys=False))
    return config


def cear(*arguments: object) -> float:
    """The seconds of a command of cear; out of time it ends this script as it ended, and so does an error."""
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-m", "cear", *map(str, arguments)], check=False)
    if done.returncode:
        again = "Everything is saved: the same command goes on." if done.returncode == OUT_OF_TIME else "It failed."
        print(f"cear {arguments[0]} ended with code {done.returncode}. {again}", file=sys.stderr)
        raise SystemExit(done.returncode)
    return time.perf_counter() - start


def run_commands(config: Path, options: argparse.Namespace) -> dict[str, float]:
    """The run and the completion, each with its seconds in this call."""
    out, folder = options.folder / "run", options.folder
    minutes = [] if options.minutes is None else ["--minutes", options.minutes]
    on = [] if options.on is None else ["--on", options.on]
    facts = min(FACTS, round(options.scale * Sizes().held_out))
    run = cear("run", config, "--out", out, "--facts", facts, "--json", folder / "test.json", *minutes, *on)
    relation = busiest_relation(load(options.folder / "open-kb"))
    budget = max(LEAST["questions"], round(options.scale * BUDGET))
    asked = ("--relations", relation, "--budget", budget, "--min-probability", 0)
    complete = cear("complete", out, *asked, "--out", folder / "new.tsv", *on)
    return {"cear run": run, "cear complete": complete}


def busiest_relation(kb: KnowledgeBase) -> str:
    """The relation with the most facts."""
    return kb.relations.id(int(np.bincount(kb.facts("train")[:, 1]).argmax()))


class Watch(Thread):
    """Looks every few seconds at the memory of all processes that this one has started."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.most = 0
        """Bytes at the highest; what processes share is counted once."""

    def run(self) -> None:
        """Until this process ends."""
        while True:
            self.most = max(self.most, sum(map(memory_of, descendants(os.getpid()))))
            time.sleep(EVERY)


def memory_of(process: int) -> int:
    """The bytes of memory that a process has, its share of what several have; 0 where it is gone."""
    with suppress(OSError):
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
        return sum(1024 * int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return 0


def steps_of(store: Path) -> list[Found]:
    """What each step cost, in the order in which they were made."""
    reports = sorted((read_json(path) for path in store.glob("*/*/step.json")), key=lambda each: each["date"])
    kept = ("name", "kind", "seconds", "cpu_seconds", "threads", "peak_bytes")
    return [{name: report.get(name) for name in kept} for report in reports]


def summary(steps: Sequence[Found], commands: dict[str, float], most: int = 0) -> Found:
    """All steps, the seconds of the commands in this call, and the highest memory of a process and of all."""
    child = 1024 * resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    peaks = [each["peak_bytes"] or 0 for each in steps]
    return {
        "steps": steps,
        "seconds_of_all_steps": sum(each["seconds"] for each in steps),
        "commands_of_this_call_seconds": commands,
        "peak_gib": max([child, *peaks]) / GIB,
        "peak_of_all_processes_in_this_call_gib": most / GIB,
    }


def sizes_of(kb: KnowledgeBase, folder: Path) -> Found:
    """How much there was to do, and how much came of it."""
    lines = (folder / "new.tsv").read_text().splitlines()
    return {
        "entities": kb.n_entities,
        "relations": kb.n_relations,
        "facts": {split: len(kb.facts(split)) for split in ("train", "valid", "test")},
        "proposals_of_the_relation": max(len(lines) - 1, 0),
    }


def parse() -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True, help="where everything is; called again it goes on there")
    parser.add_argument("--scale", type=float, default=1.0, help="1 is OLPBENCH's size")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--minutes", type=float, help="stop after so many minutes of the run, everything saved")
    parser.add_argument("--on", help="where steps are made: as `cear run --on`")
    parser.add_argument("--out", type=Path, default=RECORD, help="where the record goes")
    return parser.parse_args()


def main() -> None:
    """Go the whole way, and write the record."""
    options, start = parse(), time.perf_counter()
    options.folder.mkdir(parents=True, exist_ok=True)
    os.environ["CEAR_CACHE"] = str((options.folder / "cache").resolve())  # workers find the data read already
    config, watch = prepare(options), Watch()
    watch.start()
    commands = run_commands(config, options)
    kb = load(options.folder / "open-kb")
    found = summary(steps_of(options.folder / "run" / "steps"), commands, watch.most)
    said = {"scale": options.scale, "threads": options.threads, "on": options.on}
    settings = {name: value for name, value in yaml.safe_load(config.read_text()).items() if name != "data"}
    provenance = Provenance.collect(
        config=said, data="made up, OLPBENCH's layout", digest=kb.digest, seconds=time.perf_counter() - start
    )
    what = "the whole way at OLPBENCH's size: both stages, 20,000 questions re-ranked, one relation completed"
    record = {"what": what, "sizes": sizes_of(kb, options.folder), "settings": settings, **found}
    write_json(options.out, record | {"provenance": provenance.as_json()})
    for step in found["steps"]:
        print(f"{step['name']:<32} {step['seconds']:9.1f} s   peak {(step['peak_bytes'] or 0) / GIB:6.2f} GiB")
    together = found["peak_of_all_processes_in_this_call_gib"]
    told = f"at most {found['peak_gib']:.1f} GiB in one process, {together:.1f} GiB in all"
    print(f"{found['seconds_of_all_steps'] / 60:.1f} minutes, {told}")


if __name__ == "__main__":
    main()
