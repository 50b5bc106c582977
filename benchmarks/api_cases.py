"""The interface of `cear serve`, tried by Schemathesis against what its own OpenAPI document says.

    python benchmarks/api_cases.py runs/demo                  # at least 2,000 cases, some minutes
    python benchmarks/api_cases.py runs/demo --examples 2 --out /tmp/cases.json

All checks are on: no server error, documented statuses, types and schemas, wrong requests refused, right ones not.
`schemathesis.toml` says what counts as refused, and `scripts/schemathesis_formats.py` how messages inside of forms are
written. The run is copied first: what is decided here is no decision.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from service_load import serving

from cear.core.files import write_json
from cear.pipeline import open_run
from cear.reports import Provenance

RECORD = Path("results/benchmarks/api_cases.json")
ROOT = Path(__file__).parents[1]


def tried(address: str, examples: int, seed: int) -> dict[str, Any]:
    """What Schemathesis says of a service."""
    words = [sys.executable, "-m", "schemathesis.cli", "run", f"{address}/openapi.json", "--checks", "all"]
    words += ["--max-examples", str(examples), "--seed", str(seed), "--continue-on-failure", "--no-color"]
    words += ["--phases", "examples,coverage,fuzzing"]
    variables = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    done = subprocess.run(words, cwd=ROOT, env=variables, capture_output=True, text=True, check=False)
    return {"exit_code": done.returncode, **read_summary(done.stdout), "summary": summary_of(done.stdout)}


def summary_of(output: str) -> list[str]:
    """The lines of its summary; where it failed, those of the failures too."""
    begin = next((mark for mark in ("ERRORS ===", "FAILURES ===", "SUMMARY ===") if mark in output), "")
    return [line.rstrip() for line in output[output.find(begin) :].splitlines() if line.strip()]


def read_summary(output: str) -> dict[str, int]:
    r"""How many cases there were, on how many operations, and how many failed.

    >>> read_summary("  Tested: 30\n  1465 generated, 2 found 2 unique failures")
    {'operations': 30, 'cases': 1465, 'failures': 2}
    """
    patterns = {"operations": r"Tested: (\d+)", "cases": r"(\d+) generated", "failures": r"found (\d+) unique failure"}
    found = {name: re.search(pattern, output) for name, pattern in patterns.items()}
    return {name: int(match[1]) if match else 0 for name, match in found.items()}


def main() -> None:
    """Serve a copy of a run, try everything, print and keep; fail if anything did."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--examples", type=int, default=40, help="generated for each operation")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=RECORD)
    given = parser.parse_args()
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as place:
        run = shutil.copytree(given.run, Path(place) / "run")
        with serving(run) as server:
            found = tried(server.address, given.examples, given.seed)
            alive = server.process.poll() is None
    opened = open_run(given.run)
    about = Provenance.collect(
        config=opened.config.model_dump(),
        data=opened.kb.name,
        digest=opened.kb.digest,
        seconds=time.perf_counter() - start,
    )
    write_json(given.out, {"alive": alive, **found, "provenance": about.as_json()})
    print("\n".join(found["summary"]))
    if found["exit_code"] or not alive:
        sys.exit(1)


if __name__ == "__main__":
    main()
