"""What 1 to 64 machines would take, from measured costs; and whether the clock is right about one and two workers.

python benchmarks/scale_simulator.py                  # measures, simulates, draws docs/figures/scale.svg
python benchmarks/scale_simulator.py --unit 3         # a quick look: shorter trainings

Costs are those of the records of olpbench_size, exact_search and answering. The simulated machines are like the one of
those records, with two processors, have a common store, and room for everything in memory: where that ends is told in
docs/scale.md. The check trains for real, on one process and on two of this machine.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from statistics import median
from typing import Any

from simulating.costs import Costs, measured
from simulating.measuring import compared
from simulating.schedule import Task, critical_path, makespan
from simulating.workload import OLPBENCH, PIECE, WIKIDATA, Workload, tasks_of

from cear.core.files import read_json, replacing, write_json
from cear.reports import Provenance
from cear.reports.pages import Curve, to_svg

RECORD, FIGURE = Path("results/benchmarks/scale_simulator.json"), Path("docs/figures/scale.svg")
MACHINES = (1, 2, 4, 8, 16, 32, 64)
CLUSTER_SPEED = Path("results/benchmarks/cluster_speed.json")


def simulated(work: Workload, costs: Costs) -> dict[str, Any]:
    """Hours on each number of machines, of the longest chain, and of every kind of step on one machine."""
    tasks = tasks_of(work, costs)
    kinds = dict[str, float]()
    for task in tasks:
        kind = task.name.partition(PIECE)[0]
        kinds[kind] = kinds.get(kind, 0.0) + task.seconds / 3600
    return {
        "hours": {str(n): makespan(tasks, n) / 3600 for n in MACHINES},
        "hours_of_the_longest_chain": critical_path(tasks) / 3600,
        "hours_of_steps_on_one_machine": kinds,
        "memory_to_read_gib": work.facts * costs.bytes_of_a_fact / 2**30,
    }


def on_ray(slowdown: float, path: Path = CLUSTER_SPEED) -> dict[str, float] | None:
    """The four folds of `cluster_speed.py` on two workers, and what the clock says; None where it was not run."""
    if not path.exists():
        return None
    seconds = read_json(path)["folds"]["seconds"]
    one, two = (median(seconds[name]) for name in ("Ray, one worker", "Ray, two workers"))
    told = makespan([Task(f"fold {number}", one / 4) for number in range(4)], 2, slowdown=slowdown)
    return {"measured": two, "simulated": told, "error": told / two - 1}


def draw(found: dict[str, dict[str, Any]], path: Path) -> None:
    """How many times faster n machines are than one, for each workload, beside n itself up to 16."""
    series = {
        name: tuple((float(n), work["hours"]["1"] / work["hours"][str(n)]) for n in MACHINES)
        for name, work in found.items()
    }
    perfect = {"n times": tuple((float(n), float(n)) for n in MACHINES if n <= 16)}
    title = "How many times faster than one machine, simulated from measured costs"
    chart = Curve("scale", title, "machines", "times faster", {**series, **perfect})
    with replacing(path) as partial:
        partial.write_text(to_svg(chart))


def main() -> None:
    """Check the clock, simulate, draw, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--unit", type=int, default=20, help="epochs of the shortest training of the check")
    parser.add_argument("--out", type=Path, default=RECORD, help="where the record goes")
    parser.add_argument("--figure", type=Path, default=FIGURE, help="where the curves go")
    options, start = parser.parse_args(), time.perf_counter()
    costs = measured()
    found = {work.name: simulated(work, costs) for work in (OLPBENCH, WIKIDATA)}
    check = compared(options.unit)
    draw(found, options.figure)
    provenance = Provenance.collect(
        config={"unit": options.unit}, data="demo", digest="", seconds=time.perf_counter() - start
    )
    what = "hours that machines would take, simulated over measured costs, and the simulation beside measurements"
    values = {"costs": costs.as_json(), "simulated": found, "check": check, "on_ray": on_ray(check["2"]["slowdown"])}
    write_json(options.out, {"what": what, **values, "provenance": provenance.as_json()})
    for workers, each in check.items():
        print("{} workers: {measured:.1f} s, simulated {simulated:.1f} s ({error:+.1%})".format(workers, **each))


if __name__ == "__main__":
    main()
