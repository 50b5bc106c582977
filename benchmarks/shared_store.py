"""Several machines write and read the same steps on S3 while requests fail, are slow, cut off and altered.

The service is moto's, on the loopback interface, behind a proxy that injects faults (`faults`). Every machine
is a process with a cache of its own. It asks for all steps, in an order of its own: what is not there it makes, and
what is there it fetches. A step's content is a function of its number, so whoever reads one knows each byte that it
must have. Machines are killed (SIGKILL) on the way, and started again.

    python benchmarks/shared_store.py                                    # 3 machines, 40 steps each, about 2 minutes
    python benchmarks/shared_store.py --steps 4 --kills 1 --out tiny.json

What must hold: nothing corrupt is ever read; a machine ends with all steps, or with a `StoreError` after a bounded
number of tries, and then the same command goes on; steps that were made twice cost time and nothing else. In the end,
without faults, a fresh machine must be given every step whole. A last part breaks the service for good (every request
fails, every answer is late, every content is cut off), and says how soon each ends with a clear error.
"""

from __future__ import annotations

import argparse
import logging
import os
import random
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from faults import Faults, Proxy, proxied

from cear.core.context import HERE
from cear.core.errors import StoreError
from cear.core.files import write_json
from cear.reports import Provenance
from cear.steps import Address, Patience, Step, Store

RECORD = Path("results/benchmarks/shared_store.json")
ADDRESS = "s3://bucket/steps"
MACHINES, STEPS, KILLS = 3, 40, 4
LARGE = 300_000  # bytes of a step's larger file
PATIENCE = Patience(tries=5, seconds=1.0, pause=0.05, lease=3.0)
FAULTS = Faults(
    error=0.06, busy=0.04, dropped=0.04, lost=0.05, slow=0.02, truncated=0.07, flipped=0.07, spoiled=0.04, delay=2.0
)
BROKEN = ("error", "busy", "dropped", "slow", "truncated")
CORRUPT, GAVE_UP = 9, 8  # exit codes of a machine


def content(number: int) -> dict[str, bytes]:
    """The files of a step."""
    generator = random.Random(number)
    return {"deep/large": generator.randbytes(LARGE), "small": f"step {number}".encode()}


def step_of(number: int, log: Path) -> Step:
    """The step of a number; whoever makes it says so in a file."""

    def make(folder: Path) -> None:
        (folder / "deep").mkdir(exist_ok=True)
        for name, data in content(number).items():
            (folder / name).write_bytes(data)
        with log.open("a") as file:
            file.write(f"made {number}\n")

    return Step(f"step {number}", "work", {"number": number}, make)


def is_whole(folder: Path, number: int) -> bool:
    """Whether a folder that a store handed out holds what it must, byte by byte."""
    return all((folder / name).read_bytes() == data for name, data in content(number).items())


def work(machine: int, steps: int, log: Path) -> int:
    """Ask for all steps, as one machine does; the exit code says how it ended."""
    store = Store(Address(ADDRESS, PATIENCE), context=HERE)
    for number in random.Random(machine).sample(range(steps), steps):
        try:
            folder = store.get(step_of(number, log))
        except StoreError as error:
            print(error, file=sys.stderr)
            return GAVE_UP
        if not is_whole(folder, number):
            return CORRUPT
        with log.open("a") as file:
            file.write(f"read {number}\n")
    return 0


@contextmanager
def service() -> Iterator[str]:
    """The address of an S3 of moto's with one bucket."""
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    address = f"http://{host}:{port}"
    urllib.request.urlopen(urllib.request.Request(f"{address}/bucket", method="PUT"))
    yield address
    server.stop()


def variables(place: Path, machine: str, endpoint: str) -> dict[str, str]:
    """The environment of a machine: a cache of its own, and credentials that open nothing."""
    fakes = {"AWS_ACCESS_KEY_ID": "fake", "AWS_SECRET_ACCESS_KEY": "fake", "AWS_DEFAULT_REGION": "us-east-1"}
    files = {"AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull}
    return {**fakes, **files, "AWS_ENDPOINT_URL": endpoint, "CEAR_CACHE": str(place / machine), "OMP_NUM_THREADS": "1"}


class Machine:
    """A process that asks for all steps, and is started again when it is killed or gives up."""

    def __init__(self, number: int, steps: int, place: Path, endpoint: str) -> None:
        self.number, self.log = number, place / f"{number}.log"
        self._command = [
            sys.executable,
            __file__,
            "--machine",
            str(number),
            "--steps",
            str(steps),
            "--log",
            str(self.log),
        ]
        self._variables = {**os.environ, **variables(place, f"cache {number}", endpoint)}
        self.ends = Counter[str]()
        self.errors: list[str] = []
        self.start()

    def start(self) -> None:
        """Start its process."""
        self._process = subprocess.Popen(self._command, env=self._variables, stderr=subprocess.PIPE, text=True)

    def kill(self) -> None:
        """Kill its process, and start it again."""
        self._process.kill()
        self._process.communicate()
        self.ends["killed"] += 1
        self.start()

    def read(self) -> int:
        """How many steps it has read, repetitions after a new start included."""
        return self.log.read_text().count("read") if self.log.exists() else 0

    def is_done(self) -> bool:
        """Whether it has ended well; if it gave up, it is started again."""
        code = self._process.poll()
        if code is None:
            return False
        names = {0: "done", CORRUPT: "corrupt", GAVE_UP: "gave up"}
        if self.ends["done"] + self.ends["corrupt"] == 0:
            said = self._process.communicate()[1]
            self.ends[names.get(code, "crashed")] += 1
            if code not in (0, CORRUPT, GAVE_UP):
                sys.exit(f"Machine {self.number} crashed:\n{said}")
            if code == GAVE_UP:
                self.errors.append(said.strip().splitlines()[-1])
                self.start()
                return False
        return True


def shared(place: Path, proxy: Proxy, steps: int, machines: int, kills: int) -> dict[str, Any]:
    """What happens when machines share steps while requests fail and machines are killed."""
    start, left, generator = time.perf_counter(), kills, random.Random(7)
    all_of_them = [Machine(number, steps, place, proxy.address) for number in range(machines)]
    pace = max(1, machines * steps // (kills + 1))  # steps read between two kills
    while running := [machine for machine in all_of_them if not machine.is_done()]:
        if left and sum(machine.read() for machine in all_of_them) >= pace * (kills - left + 1):
            generator.choice(running).kill()
            left -= 1
        time.sleep(0.1)
    lines = Counter(line for machine in all_of_them for line in machine.log.read_text().split("\n") if line)
    ends = sum((machine.ends for machine in all_of_them), Counter[str]())
    made = sum(count for line, count in lines.items() if line.startswith("made"))
    return {
        "seconds": time.perf_counter() - start,
        "read": sum(count for line, count in lines.items() if line.startswith("read")),
        "read_corrupt": ends["corrupt"],
        "made": made,
        "made_again": made - steps,
        "gave_up": ends["gave up"],
        "killed": ends["killed"],
        "errors": sorted({error for machine in all_of_them for error in machine.errors})[:3],
        "faults": dict(proxy.counts),
    }


def afterwards(place: Path, proxy: Proxy, steps: int) -> dict[str, int]:
    """What a fresh machine finds when nothing fails any more: every step, whole."""
    proxy.faults = Faults()
    os.environ.update(variables(place, "fresh", proxy.address))
    store, log = Store(Address(ADDRESS, PATIENCE), context=HERE), place / "fresh.log"
    wrong = sum(not is_whole(store.get(step_of(number, log)), number) for number in range(steps))
    made = log.read_text().count("made") if log.exists() else 0
    return {"read": steps, "read_corrupt": wrong, "damaged_there_and_made_again": made}


def broken(place: Path, proxy: Proxy, faults: Sequence[str] = BROKEN) -> list[dict[str, Any]]:
    """How soon a service that is broken for good is a clear error."""
    found = []
    for fault in faults:
        os.environ.update(variables(place, f"broken {fault}", proxy.address))
        proxy.faults = Faults()
        store = Store(Address(ADDRESS, PATIENCE), context=HERE)
        store.has(step_of(0, place / "log"))  # connects
        proxy.faults, start = Faults(**{fault: 1.0}, delay=2.0), time.perf_counter()
        try:
            store.get(step_of(0, place / "broken.log"))
            said = None
        except StoreError as error:
            said = str(error)
        found.append({"fault": fault, "seconds": time.perf_counter() - start, "error": said})
    return found


def measured(steps: int, machines: int, kills: int, seed: int) -> dict[str, Any]:
    """All that this benchmark finds out."""
    with tempfile.TemporaryDirectory() as folder, service() as address, proxied(address, FAULTS, seed) as proxy:
        place = Path(folder)
        result: dict[str, Any] = {"shared": shared(place, proxy, steps, machines, kills)}
        result["afterwards"] = afterwards(place, proxy, steps)
        result["broken"] = broken(place, proxy)
        return result


def failures(result: Mapping[str, Any]) -> list[str]:
    """What does not hold of that which must."""
    checks = {
        "something corrupt was read": result["shared"]["read_corrupt"] + result["afterwards"]["read_corrupt"] > 0,
        "a broken service was no clear error": any(
            each["error"] is None or "tries failed" not in each["error"] for each in result["broken"]
        ),
        "no fault was injected": len(result["shared"]["faults"]) < 2,
    }
    return [sentence for sentence, wrong in checks.items() if wrong]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, write the record, and end with 1 if anything does not hold; `--machine` is one of the processes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--machines", type=int, default=MACHINES)
    parser.add_argument("--kills", type=int, default=KILLS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=RECORD)
    parser.add_argument("--machine", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--log", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.machine is not None:
        sys.exit(work(given.machine, given.steps, given.log))
    start = time.perf_counter()
    result = measured(given.steps, given.machines, given.kills, given.seed)
    config = {"machines": given.machines, "steps": given.steps, "kills": given.kills, "seed": given.seed}
    config |= {"bytes": LARGE, "patience": asdict(PATIENCE), "faults": asdict(FAULTS)}
    seconds = time.perf_counter() - start
    about = Provenance.collect(config=config, data="generated", digest="", seconds=seconds)
    write_json(given.out, {"provenance": about.as_json(), **result})
    for name, value in result["shared"].items():
        print(f"{name}: {value}")
    print(f"afterwards: {result['afterwards']}")
    for each in result["broken"]:
        print(f"{each['fault']}: {each['seconds']:.1f} s, {each['error']}")
    if found := failures(result):
        sys.exit("; ".join(found))


if __name__ == "__main__":
    main()
