"""`cear serve` under load: one client, then two minutes at twice what it can serve, every answer checked.

    python benchmarks/service_load.py runs/fb15k-237/completion
    python benchmarks/service_load.py runs/demo --questions 20 --seconds 5 --out /tmp/load.json

The server is a process of its own, this one is its clients; all is on loopback. Questions are those of test facts, both
ways. What each must be answered is asked of the run itself before, one question at a time. Then, in one run:
the seconds of a warm answer with one client; the answers in a second of a server that takes one request at a time
(`--most 1`), and of the usual one, which answers those that wait together; and the usual one at twice that rate.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx
import numpy as np

from cear.core.files import write_json
from cear.pipeline import Answer, Run, open_run
from cear.reports import Provenance

RECORD = Path("results/benchmarks/service_load.json")
CLIENTS = 64
TOLERANCE = 1e-3
"""Of a probability: a batch adds numbers in another order."""


@dataclass(frozen=True)
class Question:
    """A question and its right answer: ids in their order, and their probabilities."""

    asked: dict[str, str]
    ids: tuple[str, ...]
    probabilities: tuple[float, ...]

    def is_answered_by(self, answers: Sequence[dict[str, Any]]) -> bool:
        """Whether these are its answers, and nobody else's."""
        found = [answer["probability"] or 0.0 for answer in answers]
        return self.ids == tuple(answer["id"] for answer in answers) and np.allclose(
            found, self.probabilities, atol=TOLERANCE
        )


def questions_of(run: Run, count: int, seed: int) -> list[Question]:
    """Questions whose answers some test facts are, both ways, with what the run answers."""
    facts = run.kb.facts("test")
    chosen = np.random.default_rng(seed).choice(len(facts), min(len(facts), count), replace=False)
    entities, relations = run.kb.entities.table["id"], run.kb.relations.table["id"]
    found = []
    for place, (s, r, o) in enumerate(facts[chosen].tolist()):
        end, entity = ("subject", s) if place % 2 else ("object", o)
        found.append({"relation": relations[r], end: entities[entity]})
    return [answered(asked, run.ask(**asked)) for asked in found]


def answered(asked: dict[str, str], answers: Sequence[Answer]) -> Question:
    """A question with what the run says."""
    return Question(asked, tuple(each.id for each in answers), tuple(each.probability or 0.0 for each in answers))


@dataclass(frozen=True)
class Server:
    """A running `cear serve`."""

    process: subprocess.Popen[bytes]
    address: str

    @property
    def megabytes(self) -> float:
        """The memory that it holds now."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) / 1024


@contextmanager
def serving(run: Path, *options: str) -> Iterator[Server]:
    """A server that is ready; it is stopped at the end, if nobody has killed it before."""
    port = free_port()
    command = [sys.executable, "-m", "cear", "serve", str(run), "--port", str(port), *options]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ)
    server = Server(process, f"http://127.0.0.1:{port}")
    try:
        wait_until_ready(server)
        yield server
    finally:
        process.terminate()
        process.wait(timeout=60)


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def wait_until_ready(server: Server, seconds: float = 300) -> None:
    """Come back when it says that it can answer."""
    until = time.monotonic() + seconds
    while time.monotonic() < until and server.process.poll() is None:
        try:
            if httpx.get(f"{server.address}/ready").status_code == 200:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.2)
    sys.exit("The server did not become ready.")


@dataclass
class Tally:
    """What came back: how often which status, seconds of those answered, and answers that were wrong."""

    statuses: Counter[int] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)
    wrong: int = 0
    lost: int = 0
    without_retry_after: int = 0

    def as_json(self) -> dict[str, Any]:
        """For the record."""
        return {
            "statuses": {str(status): count for status, count in sorted(self.statuses.items())},
            "wrong": self.wrong,
            "lost": self.lost,
            "refused_without_retry_after": self.without_retry_after,
            "seconds": percentiles(self.seconds),
        }


def percentiles(seconds: Sequence[float]) -> dict[str, float]:
    """The median, the 99th and the highest."""
    if not seconds:
        return {}
    return {"p50": float(np.median(seconds)), "p99": float(np.quantile(seconds, 0.99)), "max": max(seconds)}


class Client:
    """Connections to a server, each used again when it is free: as little work as can be, beside who is measured."""

    def __init__(self, server: Server) -> None:
        self._host = server.address.removeprefix("http://")
        self._free: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def get(self, path: str) -> tuple[int, str, bytes]:
        """The status, headers and body of an answer."""
        host, _, port = self._host.partition(":")
        reader, writer = self._free.pop() if self._free else await asyncio.open_connection(host, int(port))
        writer.write(f"GET {path} HTTP/1.1\r\nHost: {self._host}\r\n\r\n".encode())
        headers = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        body = await reader.readexactly(int(headers.split("content-length:")[1].split()[0]))
        self._free.append((reader, writer))
        return int(headers.split()[1]), headers, body


async def ask(client: Client, question: Question, tally: Tally) -> None:
    """One request, and what became of it."""
    start = time.perf_counter()
    try:
        status, headers, body = await client.get(f"/ask?{urlencode(question.asked)}")
    except (OSError, EOFError):
        tally.lost += 1
        return
    tally.statuses[status] += 1
    if status == 200:
        tally.seconds.append(time.perf_counter() - start)
        tally.wrong += not question.is_answered_by(json.loads(body)["answers"])
    elif status == 503:
        tally.without_retry_after += "retry-after" not in headers


async def one_client(server: Server, questions: Sequence[Question]) -> Tally:
    """Every question once, one after the other; before them some that warm it up."""
    client, tally = Client(server), Tally()
    for question in questions[:20]:
        await ask(client, question, Tally())
    for question in questions[20:]:
        await ask(client, question, tally)
    return tally


async def many_clients(server: Server, questions: Sequence[Question], seconds: float) -> tuple[Tally, float]:
    """So many clients that each ask again when answered; and the answers in a second."""
    tally, turn, start = Tally(), itertools.cycle(questions), time.perf_counter()

    client = Client(server)

    async def keep_asking() -> None:
        while time.perf_counter() - start < seconds:
            await ask(client, next(turn), tally)

    await asyncio.gather(*(keep_asking() for _ in range(CLIENTS)))
    return tally, tally.statuses[200] / (time.perf_counter() - start)


async def overload(server: Server, questions: Sequence[Question], rate: float, seconds: float) -> dict[str, Any]:
    """Questions at a steady rate, whether the ones before are answered or not."""
    tally, turn, tasks = Tally(), itertools.cycle(questions), set[asyncio.Task[None]]()
    client, memory, start = Client(server), [server.megabytes], time.perf_counter()
    for number in range(int(rate * seconds)):
        await asyncio.sleep(max(0.0, start + number / rate - time.perf_counter()))
        task = asyncio.create_task(ask(client, next(turn), tally))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        if number % max(1, int(5 * rate)) == 0:
            memory.append(server.megabytes)
    asked = time.perf_counter() - start
    await asyncio.gather(*tasks)
    took = time.perf_counter() - start
    alive = server.process.poll() is None
    served = tally.statuses[200] / took
    return {
        "asked_per_second": int(rate * seconds) / asked,
        "served_per_second": served,
        "alive": alive,
        "megabytes": memory,
        **tally.as_json(),
    }


def measured(run: Path, questions: Sequence[Question], seconds: float) -> dict[str, Any]:
    """All three phases."""
    short = max(2.0, seconds / 4)
    with serving(run, "--most", "1") as server:
        _, one = asyncio.run(many_clients(server, questions, short))
    with serving(run) as server:
        alone = asyncio.run(one_client(server, questions)).as_json()
        _, together = asyncio.run(many_clients(server, questions, short))
        found = asyncio.run(overload(server, questions, 2 * together, seconds))
    return {
        "one_client": alone,
        "served_per_second": {"one at a time": one, "together": together},
        "times_one_at_a_time": together / one,
        "overload": found,
        "overload_times_one_at_a_time": found["served_per_second"] / one,
    }


def main() -> None:
    """Measure, print and keep."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--questions", type=int, default=1000, help="distinct ones")
    parser.add_argument("--seconds", type=float, default=120, help="of overload")
    parser.add_argument("--seed", type=int, default=0, help="of the choice of questions")
    parser.add_argument("--out", type=Path, default=RECORD)
    given = parser.parse_args()
    opened, start = open_run(given.run), time.perf_counter()
    questions = questions_of(opened, given.questions, given.seed)
    about: dict[str, Any] = {"config": opened.config.model_dump(), "data": opened.kb.name, "digest": opened.kb.digest}
    del opened  # the server opens its own
    found = measured(given.run, questions, given.seconds)
    settings = {"questions": given.questions, "seconds": given.seconds, "clients": CLIENTS, "seed": given.seed}
    provenance = Provenance.collect(**about, seconds=time.perf_counter() - start)
    write_json(given.out, {**settings, **found, "provenance": provenance.as_json()})
    print(f"one client: {found['one_client']['seconds']}")
    print(f"answers in a second: {found['served_per_second']}, {found['times_one_at_a_time']:.2f} times")
    print(f"twice as many as it can serve: {found['overload']}")


if __name__ == "__main__":
    main()
