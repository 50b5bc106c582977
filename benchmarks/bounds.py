"""What data out of all proportion costs: a line of 500 MB, ten million relations, names of 10 MB.

    python benchmarks/bounds.py                       # about ten minutes of one core, 4 GiB
    python benchmarks/bounds.py --scale 0.01

`cear data check` reads each file in a process of its own, which may have no more than `--gigabytes` of address space.
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
from pathlib import Path
from typing import Any

from cear.core.files import write_json
from cear.reports import Provenance

RECORD = Path("results/benchmarks/bounds.json")
ENTITIES, MEGABYTE = 1000, 10**6


def plain() -> Iterator[str]:
    """A thousand facts that nothing is wrong with."""
    yield from (f"e{i}\tr{i % 7}\te{3 * i % ENTITIES}\n" for i in range(ENTITIES))


def long_line(scale: float) -> Iterator[str]:
    """One object of 500 MB among plain facts."""
    yield from plain()
    yield "a\tr1\t"
    yield from ("x" * MEGABYTE for _ in range(int(500 * scale)))
    yield "\n"


def long_names(scale: float) -> Iterator[str]:
    """Three objects of 10 MB among plain facts."""
    yield from plain()
    yield from (f"a{i}\tr1\t{'y' * int(10 * MEGABYTE * scale)}{i}\n" for i in range(3))


def many_relations(scale: float) -> Iterator[str]:
    """Ten million facts, each of a relation of its own."""
    yield from (f"e{i % ENTITIES}\tr{i}\te{3 * i % ENTITIES}\n" for i in range(int(10 * MEGABYTE * scale)))


CASES: dict[str, Callable[[float], Iterator[str]]] = {
    "a line of 500 MB": long_line,
    "names of 10 MB": long_names,
    "10 million relations": many_relations,
}

# A process of its own for each, for the most memory of all children together is all that the system tells.
CHECK = """
import json, resource, subprocess, sys
limit = int(sys.argv[1])
done = subprocess.run(
    [sys.executable, "-m", "cear", "data", "check", sys.argv[2]], capture_output=True, text=True,
    preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps({"exit_code": done.returncode, "peak_bytes": used.ru_maxrss * 1024,
                  "cpu_seconds": used.ru_utime + used.ru_stime, "errors": done.stderr[-300:]}))
"""


def checked(lines: Iterator[str], folder: Path, limit: int) -> dict[str, Any]:
    """What reading these lines takes."""
    path = folder / "facts.tsv"
    with path.open("w", encoding="utf-8") as file:
        file.writelines(lines)
    command = [sys.executable, "-c", CHECK, str(limit), str(path)]
    done = subprocess.run(
        command, env={**os.environ, "CEAR_CACHE": str(folder / "cache")}, capture_output=True, text=True, check=True
    )
    told: dict[str, Any] = {"bytes": path.stat().st_size, **json.loads(done.stdout)}
    return told


def main() -> None:
    """Measure every case, print and keep."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--gigabytes", type=float, default=16)
    parser.add_argument("--json", type=Path, default=RECORD)
    given = parser.parse_args()
    start, found = time.perf_counter(), {}
    for name, lines in CASES.items():
        with tempfile.TemporaryDirectory() as place:
            found[name] = checked(lines(given.scale), Path(place), int(given.gigabytes * 2**30))
        print(f"{name:<22} {found[name]['peak_bytes'] / 2**30:6.2f} GiB  {found[name]['cpu_seconds']:6.0f} CPU s")
    config = {"scale": given.scale, "gigabytes": given.gigabytes}
    about = Provenance.collect(config=config, data="generated", digest="", seconds=time.perf_counter() - start)
    write_json(given.json, {"provenance": about.as_json(), "cases": found})


if __name__ == "__main__":
    main()
