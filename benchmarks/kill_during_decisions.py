"""Kill a service (SIGKILL) while four people decide about 200 facts, and look for every decision that it acknowledged.

A run on the embedded knowledge base, `cear demo`'s or any other, is served by `cear serve` in a process of its own.
Four clients send 200 decisions in turn, as the page does: each has an id, and one that was not acknowledged is sent
again to the service that is started next. The service is killed after a random number of acknowledgements. After each
kill the log is read from disk: every acknowledged decision must be there, once, and as it was made. When all kills are
done, the service starts once more, what was not acknowledged is sent again, and every decision must be there once.

    python benchmarks/kill_during_decisions.py --run runs/demo              # 20 kills, 200 decisions each
    python benchmarks/kill_during_decisions.py --run runs/demo --kills 2 --out /tmp/kills.json
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from service_load import Server, serving

from cear.core.files import write_json
from cear.data import KnowledgeBase
from cear.pipeline import open_run
from cear.reports import Provenance
from cear.serving import Decision, Decisions
from cear.serving.decisions import DECISIONS

RECORD = Path("results/benchmarks/kill_during_decisions.json")
PEOPLE, FACTS = 4, 200
VERDICTS = ("accepted", "rejected", "skipped")

Body = dict[str, Any]


@dataclass(frozen=True)
class Service:
    """A service that decisions are sent to."""

    address: str

    def decide(self, body: Body) -> Decision | None:
        """The decision as the service acknowledges it; None if it does not answer, or not any more."""
        headers = {"Content-Type": "application/json", "X-Cear": "1"}
        request = urllib.request.Request(f"{self.address}/decisions", json.dumps(body).encode(), headers)
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return Decision(**json.loads(answer.read()))
        except urllib.error.HTTPError as error:
            sys.exit(f"The service refused a decision: {error.code}, {error.read().decode()}")
        except (OSError, ValueError):  # it was killed before or while it answered
            return None


@dataclass
class Trial:
    """200 decisions, and what became of them."""

    bodies: list[Body]
    acknowledged: dict[str, Decision] = field(default_factory=dict)

    def send(self, server: Server, kill_at: int | None = None) -> None:
        """Send what is not acknowledged, four at a time; the service is killed after so many acknowledgements."""
        waiting = [body for body in self.bodies if body["id"] not in self.acknowledged]
        service, killed = Service(server.address), threading.Event()

        def one(body: Body) -> None:
            if killed.is_set():
                return
            kept = service.decide(body)
            if kept is not None:
                self.acknowledged[kept.id] = kept
            if kill_at is not None and len(self.acknowledged) >= kill_at and not killed.is_set():
                killed.set()
                server.process.kill()

        with ThreadPoolExecutor(PEOPLE) as people:
            list(people.map(one, waiting))

    def lost(self, log: Sequence[Decision]) -> list[str]:
        """The ids of what was acknowledged and is not in the log as it was acknowledged, or is there twice."""
        found = [each for each in log if each.id in self.acknowledged]
        times = Counter(each.id for each in found)
        wrong = {each.id for each in found if each != self.acknowledged[each.id]}
        return sorted(wrong | {id_ for id_ in self.acknowledged if times[id_] != 1})


def bodies(names: tuple[Sequence[str], Sequence[str]], trial: int) -> list[Body]:
    """200 decisions about facts that no other trial decides about."""
    entities, relations = names
    facts = range(trial * FACTS, (trial + 1) * FACTS)
    return [
        {
            "subject": entities[number % len(entities)],
            "relation": relations[number // len(entities) % len(relations)],
            "object": entities[(number * 7 + 1) % len(entities)],
            "verdict": VERDICTS[number % 3],
            "who": f"person {number % PEOPLE}",
            "note": f"decision {number} 👩‍🚀",
            "id": f"{trial}-{number}",
        }
        for number in facts
    ]


def log_of(folder: Path) -> list[Decision]:
    """Every decision that is on disk."""
    decisions = Decisions(folder / DECISIONS)
    found = decisions.log()
    decisions.close()
    return found


def run_trials(folder: Path, options: Sequence[str], trials: list[Trial], rng: random.Random) -> list[dict[str, Any]]:
    """One kill a trial, then all that is left in peace; what each kill found and left."""
    told: list[dict[str, Any]] = []
    for number, trial in enumerate(trials, start=1):
        kill_at = rng.randint(1, FACTS - PEOPLE)
        with serving(folder, *options) as server:
            trial.send(server, kill_at)
        log = log_of(folder)
        lost = [id_ for each in trials for id_ in each.lost(log)]
        told.append(
            {"killed_after": kill_at, "acknowledged": len(trial.acknowledged), "on_disk": len(log), "lost": lost}
        )
        print(f"kill {number}: {len(trial.acknowledged)} acknowledged, {len(lost)} lost", flush=True)
    with serving(folder, *options) as server:
        for trial in trials:
            trial.send(server)
    return told


def record(folder: Path, trials: list[Trial], kills: list[dict[str, Any]], kb: KnowledgeBase, seconds: float) -> Body:
    """What was sent, what was lost, and where it comes from."""
    log = log_of(folder)
    settings = {"kills": len(kills), "decisions": FACTS, "people": PEOPLE}
    provenance = Provenance.collect(config=settings, data=kb.name, digest=kb.digest, seconds=seconds)
    return {
        "what": f"a service killed (SIGKILL) during {FACTS} decisions of {PEOPLE} people",
        "kills": len(kills),
        "acknowledged_before_kills": sum(each["acknowledged"] for each in kills),
        "lost": sum(len(each["lost"]) for each in kills),
        "sent_in_all": sum(len(each.bodies) for each in trials),
        "on_disk_in_the_end": len(log),
        "twice_in_the_end": len(log) - len({each.id for each in log}),
        "each_kill": kills,
        "provenance": provenance.as_json(),
    }


def parse() -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path, default=Path("runs/demo"), help="a finished run; is copied")
    parser.add_argument("--store", type=Path, help="where the run's steps are now, if they have moved")
    parser.add_argument("--kills", type=int, default=20, help="how many kills")
    parser.add_argument("--seed", type=int, default=0, help="of the moments of the kills")
    parser.add_argument("--out", type=Path, default=RECORD, help="where the record goes")
    return parser.parse_args()


def main() -> None:
    """Run all trials, write the record, and fail if a decision is lost or doubled."""
    options, start = parse(), time.perf_counter()
    kb = open_run(options.run, store=options.store).kb
    names = kb.entities.table["id"].to_list(), kb.relations.table["id"].to_list()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "run"
        shutil.copytree(options.run, folder, ignore=shutil.ignore_patterns(f"{DECISIONS}*"))
        where = [] if options.store is None else ["--store", str(options.store)]
        trials = [Trial(bodies(names, number)) for number in range(options.kills)]
        kills = run_trials(folder, where, trials, random.Random(options.seed))
        made = record(folder, trials, kills, kb, time.perf_counter() - start)
    write_json(options.out, made)
    print(
        f"{made['kills']} kills, {made['acknowledged_before_kills']} acknowledged, {made['lost']} lost; {options.out}"
    )
    if made["lost"] or made["twice_in_the_end"] or made["on_disk_in_the_end"] != made["sent_in_all"]:
        sys.exit(1)


if __name__ == "__main__":
    main()
