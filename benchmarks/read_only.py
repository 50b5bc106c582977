"""A finished run in a container whose installation, home and data are read-only, with one folder to write to.

    cear pack runs/demo demo.cear
    python benchmarks/read_only.py runs/demo demo.cear

Every mount of this machine but one new folder is made read-only in a namespace of its own (`unshare`, Linux). There
is no home, and no cache is named. Each command is run twice, there and as usual, and must end well and print the same.
The first argument is a run's folder, the second the same run packed. Without TMPDIR nothing at all can be written.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from cear import open_run
from cear.core.files import write_json
from cear.reports import Provenance

RECORD = Path("results/benchmarks/read_only.json")
READ_ONLY = r"""
set -e
writable=$1; shift
mount --make-rprivate /
mount --bind "$writable" "$writable"
awk '{print $2}' /proc/self/mounts | sort -u | while read -r place; do
  case "$place" in "$writable"|/proc*|/sys*|/dev*) ;; *) mount -o remount,bind,ro "$place" || true ;; esac
done
cd /
if touch "$HOME_OF_CEAR/.writable" 2>/dev/null; then echo "the installation is not read-only" >&2; exit 9; fi
exec "$@"
"""


def commands(run: Path, writable: Path) -> dict[str, list[str]]:
    """What is tried, by name; JSON where a command can print it, so that no table has to be compared."""
    asked = ["Hanoi", "capital of", "--why", "--json", "-"]
    (writable / "facts.tsv").write_text("Munich\tlocated in country\tGermany\n")
    return {
        "ask": ["ask", str(run), *asked],
        "evaluate": ["evaluate", str(run), "--facts", "100", "--csv", "-"],
        "complete": ["complete", str(run), "--out", str(writable / "new.tsv")],
        "judge": ["judge", str(run), str(writable / "facts.tsv")],
    }


def tried(command: list[str], writable: Path, *, read_only: bool, temporary: bool) -> subprocess.CompletedProcess[str]:
    """A command of `cear`, in a namespace where nothing but one folder can be written, or as usual."""
    package = Path(open_run.__code__.co_filename).parents[2]
    variables = {"PATH": os.environ["PATH"], "OMP_NUM_THREADS": "1", "PYTHONPATH": str(package)}
    program = [sys.executable, "-m", "cear", *command]
    if not read_only:
        return _called(program, {**os.environ, **variables})
    variables |= {"HOME": "/nonexistent", "HOME_OF_CEAR": str(package)}
    variables |= {"TMPDIR": str(writable)} if temporary else {}
    return _called(["unshare", "-r", "-m", "sh", "-c", READ_ONLY, "sh", str(writable), *program], variables)


def _called(command: list[str], variables: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, env=variables, capture_output=True, text=True, check=False, timeout=1800)


def compared(name: str, command: list[str], writable: Path) -> dict[str, Any]:
    """Whether a command says the same in both worlds."""
    usual = tried(command, writable, read_only=False, temporary=True)
    there = tried(command, writable, read_only=True, temporary=True)
    return {
        "command": name,
        "exit_code": there.returncode,
        "same": (usual.returncode, usual.stdout) == (0, there.stdout),
        "errors": there.stderr.strip().splitlines()[-3:] if there.returncode else [],
        "left": sorted(path.name for path in writable.iterdir() if path.name.startswith("cear-")),
    }


def main() -> None:
    """Try every command on the folder and on the file, and write down what happened."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("file", type=Path)
    parser.add_argument("--json", type=Path, default=RECORD)
    given = parser.parse_args()
    found: dict[str, Any] = {}
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as place:
        writable = Path(place)
        for kind, run in (("folder", given.folder.resolve()), ("packed", given.file.resolve())):
            found[kind] = [compared(name, command, writable) for name, command in commands(run, writable).items()]
        nothing = tried(
            ["ask", str(given.file.resolve()), "Hanoi", "capital of"], writable, read_only=True, temporary=False
        )
    found["packed, nothing writable"] = {"exit_code": nothing.returncode, "says": nothing.stderr.strip()}
    opened = open_run(given.folder)
    about = Provenance.collect(
        config={}, data=opened.kb.name, digest=opened.kb.digest, seconds=time.perf_counter() - start
    )
    write_json(given.json, {"provenance": about.as_json(), **found})
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
