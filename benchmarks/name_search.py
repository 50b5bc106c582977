"""Names found while somebody types, among 2.5 million: milliseconds of every keystroke, and what the index costs.

    python benchmarks/name_search.py

The names are made up: one to four words, of which few are in many names and most are in few, as it is with real ones.
Every third name is typed as it is, every third with two letters the wrong way round, every third with one missing.
"""

from __future__ import annotations

import argparse
import random
import resource
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from cear.core.files import write_json
from cear.data import KnowledgeBase, Vocabulary
from cear.reports import Provenance
from cear.serving.names import NameSearch

RECORD = Path("results/benchmarks/name_search.json")
SYLLABLES = [a + b for a in "bcdfghjklmnprstvwz" for b in ("a", "e", "i", "o", "u", "an", "er", "on", "in", "ar", "is")]
QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "most": 1.0}
SHOWN = 10  # names for each keystroke


def made_up(n_names: int, seed: int) -> KnowledgeBase:
    """A knowledge base of so many entities with names of words, and as many facts."""
    chance, rng = random.Random(seed), np.random.default_rng(seed)
    words = ["".join(chance.choices(SYLLABLES, k=chance.choice((1, 2, 2, 3, 3, 4)))) for _ in range(n_names // 8)]
    often = 1 / np.arange(20, 20 + len(words))
    drawn = iter(rng.choice(len(words), 4 * n_names, p=often / often.sum()).tolist())
    names = [" ".join(words[next(drawn)] for _ in range(count)) for count in rng.integers(1, 5, n_names).tolist()]
    facts = (rng.power(0.4, (n_names, 3)) * [n_names, 1, n_names]).astype(np.int64)
    entities = Vocabulary.from_ids("entity", [f"e{i}" for i in range(n_names)], names=names)
    return KnowledgeBase("made up", entities, Vocabulary.from_ids("relation", ["r"]), {"train": facts})


def typed(name: str, which: int, chance: random.Random) -> str:
    """A name as somebody may type it: right, with two letters the wrong way round, or with one missing."""
    place = chance.randrange(1, max(2, len(name) - 1))
    if which % 3 == 1:
        return name[:place] + name[place : place + 2][::-1] + name[place + 2 :]
    return name[:place] + name[place + 1 :] if which % 3 == 2 else name


def keystrokes(kb: KnowledgeBase, n_typed: int, seed: int) -> Iterator[tuple[int, str]]:
    """What stands in the field after each keystroke, with the entity that is meant."""
    chance = random.Random(seed)
    for which, entity in enumerate(chance.sample(range(kb.n_entities), n_typed)):
        whole = typed(kb.entities.name(entity), which, chance)
        for length in range(1, len(whole) + 1):
            yield entity, whole[:length]


def measured(search: NameSearch, kb: KnowledgeBase, n_typed: int, seed: int) -> dict[str, Any]:
    """Milliseconds of each keystroke by how many letters stand there, and how many names were among those shown."""
    search.search("warm up", SHOWN)
    seconds: dict[str, list[float]] = {}
    shown: dict[int, bool] = {}
    for entity, text in keystrokes(kb, n_typed, seed):
        begin = time.perf_counter()
        hits = search.search(text, SHOWN)
        took = time.perf_counter() - begin
        for group in ("all", f"{min(len(text), 4)} letters" + " or more" * (len(text) > 3)):
            seconds.setdefault(group, []).append(took)
        shown[entity] = any(hit.name == kb.entities.name(entity) for hit in hits)
    quantiles = {
        group: {"keystrokes": len(each)} | {name: 1e3 * float(np.quantile(each, q)) for name, q in QUANTILES.items()}
        for group, each in sorted(seconds.items())
    }
    return {"milliseconds": quantiles, "typed": n_typed, "shown_at_the_end": sum(shown.values()) / n_typed}


def costs(kb: KnowledgeBase, folder: Path) -> tuple[NameSearch, dict[str, float]]:
    """A search whose index was built and then opened again, with the seconds and megabytes of both."""
    begin = time.perf_counter()
    NameSearch.of(kb, folder)
    built = time.perf_counter()
    search = NameSearch.of(kb, folder)
    opened = time.perf_counter()
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    figures = {"build_seconds": built - begin, "open_seconds": opened - built, "index_mb": size / 1e6, "peak_mb": peak}
    return search, figures


def main() -> None:
    """Measure, print and keep."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in {"names": 2_500_000, "typed": 300, "seed": 0}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--out", type=Path, default=RECORD, help="where the record goes")
    given = parser.parse_args()
    start = time.perf_counter()
    kb = made_up(given.names, given.seed)
    with tempfile.TemporaryDirectory() as folder:
        search, figures = costs(kb, Path(folder))
        figures |= measured(search, kb, given.typed, given.seed)
    config = {name: value for name, value in vars(given).items() if name != "out"}
    about = Provenance.collect(config=config, data=kb.name, digest=kb.digest, seconds=time.perf_counter() - start)
    what = "names found at every keystroke, the index built and opened again"
    write_json(given.out, {"what": what, "names": given.names, **figures, "provenance": about.as_json()})
    print(f"built in {figures['build_seconds']:.1f} s, opened in {figures['open_seconds']:.1f} s")
    for group, values in figures["milliseconds"].items():
        print(f"{group:>17}: " + ", ".join(f"{name} {values[name]:.1f} ms" for name in QUANTILES))
    print(f"{figures['shown_at_the_end']:.0%} of {given.typed} names were shown when they were typed")


if __name__ == "__main__":
    main()
