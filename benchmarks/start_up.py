"""CPU seconds until `cear` has answered: what starting costs, and what of it is PyTorch alone.

    python benchmarks/start_up.py runs/demo --subject Hanoi --relation "capital of"

Every command is started several times on one thread, and the fastest is taken: whatever else a machine does only adds.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
from pathlib import Path

from cear import open_run
from cear.core.files import write_json
from cear.reports import Provenance

RECORD = Path("results/benchmarks/start_up.json")


def cpu_seconds(command: list[str], times: int) -> float:
    """The fewest seconds of all cores that a command took, system calls included."""
    return min(_once(command) for _ in range(times))


def _once(command: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    variables = {**os.environ, "OMP_NUM_THREADS": "1"}
    subprocess.run(command, env=variables, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Measure, print and keep."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--subject", required=True)
    parser.add_argument("--relation", required=True)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--json", type=Path, default=RECORD)
    given = parser.parse_args()
    python = [sys.executable, "-c"]
    commands = {
        "python": [*python, "pass"],
        "import torch": [*python, "import torch, os; os._exit(0)"],
        "cear --version": [sys.executable, "-m", "cear", "--version"],
        "cear ask": [sys.executable, "-m", "cear", "ask", str(given.run), given.subject, given.relation],
    }
    seconds = {name: cpu_seconds(command, given.times) for name, command in commands.items()}
    opened = open_run(given.run)
    about = Provenance.collect(
        config=opened.config.model_dump(), data=opened.kb.name, digest=opened.kb.digest, seconds=sum(seconds.values())
    )
    write_json(given.json, {"provenance": about.as_json(), "times": given.times, "cpu_seconds": seconds})
    for name, value in seconds.items():
        print(f"{value:6.2f} s  {name}")


if __name__ == "__main__":
    main()
