"""Mutated files of every kind that we read: each is read, or refused by a sentence; nothing else may happen.

python benchmarks/fuzz.py

A mutation flips bits, cuts, doubles, moves and inserts bytes and words that parsers stumble over. It is drawn from a
seed and its number, so that a case that failed can be made again: `--only NUMBER` says what became of it. Files of a
finished run are sealed: of these a mutation has to be told, or to change no answer.
"""

from __future__ import annotations

import argparse
import gzip
import random
import shutil
import signal
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import polars as pl

from cear.config import RunConfig, load_config
from cear.core.errors import CearError
from cear.core.files import write_json
from cear.data import KnowledgeBase, load, read, read_facts, read_judged
from cear.pipeline import Run, open_run, read_newcomers, run
from cear.reports import Provenance, read_record, write_record
from cear.retrieval.listed import read_rankings
from cear.serving import read_log

RECORD = Path("results/benchmarks/fuzz.json")
SEALED = "a file of a run"
SECONDS = 20  # a reader of a few hundred bytes that takes longer hangs

Became = Literal["read", "refused", "a traceback", "a hang", "other answers"]
WRONG: tuple[Became, ...] = ("a traceback", "a hang", "other answers")

FACTS = "".join(
    f"t{i}\t{relation}\tt{(i + step) % 12}\n" for i in range(12) for relation, step in (("near", 1), ("twin", 5))
)
TURTLE = '@prefix x: <http://x.org/> .\nx:a x:near x:b , x:c .\nx:b x:twin [ x:near ( x:a "two"@en 3 ) ] .\n'
N_TRIPLES = "".join(f"<http://x.org/t{i}> <http://x.org/near> <http://x.org/t{(i + 1) % 9}> .\n" for i in range(9))
CONFIG = (
    "data: demo\nstage1: {model: complex, rank: 8, optimizer: {kind: adagrad, learning_rate: 0.1}}\n"
    "candidates: {k: 6, crossfit: {folds: 2}, extra_retrievers: {rules: {model: rules}}}\nreranker: {kind: wide}\n"
)
LIST_LINE = (
    '{"subject": "t1", "relation": "near", "candidates": [{"id": "t2", "score": 1.5}, {"id": "t3", "score": 1}]}'
)
TREC = "".join(f"tail:t1:near Q0 t{i} {i} {9 - i}.5 x\n" for i in range(1, 5))
SIMKGC = '[{"head": "t1", "relation": "near", "topk_score_info": "{\\"t2\\": 0.9, \\"t3\\": 0.1}"}]'
DECISION = '{"subject": "a", "relation": "r", "object": "b", "verdict": "accepted", "id": "1", "at": "2026-01-01"}'
STUMBLING = (
    *(
        b'"',
        b"'",
        b"\t",
        b"\r",
        b"\n",
        b"\r\n",
        b"\0",
        b"\xff",
        b"\xef\xbb\xbf",
        b"\xed\xa0\x80",
        b"{",
        b"}",
        b"[",
        b"]",
    ),
    *(
        b"null",
        b"NaN",
        b"-1",
        b"1e999",
        b"9" * 400,
        b"1.5",
        b"true",
        b"~",
        b"&a",
        b"*a",
        b"!!int x",
        b"<<: *a",
        b"../x",
    ),
    *(
        b"[" * 3000,
        b"<",
        b">",
        b"\\u0000",
        b"\\uD800",
        b"# ",
        b"2024-02-30",
        b"\xe2\x80\xae",
        b"\x1b]0;x\x07",
        b" " * 99,
    ),
)


@dataclass(frozen=True)
class Target:
    """Files that one way of reading is tried with."""

    name: str
    files: tuple[Path, ...]
    """One of these is mutated."""
    read: Callable[[Path], Any]
    """Reads it, or what it is a part of; gives back the answers that a mutation may not change, None for any."""


class Hang(BaseException):
    """A reader took too long."""


def mutated(content: bytes, dice: random.Random) -> bytes:
    """The content with one to four changes."""
    for _ in range(dice.choice((1, 1, 2, 4))):
        content = dice.choice(MUTATIONS)(content, dice)
    return content


def _flip(content: bytes, dice: random.Random) -> bytes:
    at = dice.randrange(len(content)) if content else 0
    return content[:at] + bytes([content[at] ^ (1 << dice.randrange(8))]) + content[at + 1 :] if content else b"\x01"


def _cut_off(content: bytes, dice: random.Random) -> bytes:
    return content[: dice.randint(0, len(content))]


def _left_out(content: bytes, dice: random.Random) -> bytes:
    first, last = _slice(content, dice)
    return content[:first] + content[last:]


def _doubled(content: bytes, dice: random.Random) -> bytes:
    first, last = _slice(content, dice)
    return content[:last] + content[first:last] * dice.choice((1, 1, 50)) + content[last:]


def _moved(content: bytes, dice: random.Random) -> bytes:
    first, last = _slice(content, dice)
    rest, at = content[:first] + content[last:], dice.randint(0, len(content) - last + first)
    return rest[:at] + content[first:last] + rest[at:]


def _inserted(content: bytes, dice: random.Random) -> bytes:
    at = dice.randint(0, len(content))
    return content[:at] + dice.choice(STUMBLING) + content[at:]


def _put_over(content: bytes, dice: random.Random) -> bytes:
    first, last = _slice(content, dice)
    return content[:first] + dice.choice(STUMBLING) + content[last:]


def _anything(content: bytes, dice: random.Random) -> bytes:
    return dice.choice((b"", dice.randbytes(dice.randint(1, 300)), content[::-1]))


MUTATIONS = (_flip, _flip, _cut_off, _left_out, _doubled, _moved, _inserted, _inserted, _put_over, _anything)


def _slice(content: bytes, dice: random.Random) -> tuple[int, int]:
    first = dice.randint(0, len(content))
    return first, min(len(content), first + dice.choice((1, 4, 16, 64)))


def targets(folder: Path) -> list[Target]:
    """Everything that is read, on files that are whole; they are written into a folder."""
    kb = load(_written(folder / "kb.tsv", FACTS), cache=False)
    return [*_fact_targets(folder), *_other_targets(folder, kb), *_run_targets(folder)]


def _fact_targets(folder: Path) -> list[Target]:
    contents: dict[str, str | bytes] = {
        "facts.tsv": FACTS,
        "facts.csv": FACTS.replace("\t", ","),
        "semicolons.csv": FACTS.replace("\t", ";"),
        "facts.tsv.gz": gzip.compress(FACTS.encode(), mtime=0),
        "facts.nt": N_TRIPLES,
        "facts.ttl": TURTLE,
    }
    paths = [_written(folder / name, content) for name, content in contents.items()]
    table = folder / "facts.parquet"
    pl.DataFrame(
        [line.split("\t") for line in FACTS.splitlines()], ("subject", "relation", "object"), orient="row"
    ).write_parquet(table)
    parts = _written(folder / "parts" / "train.txt", FACTS), _written(folder / "parts" / "test.txt", "t1\tnear\tt3\n")
    texts = _written(folder / "parts" / "entity2text.txt", "t1\tTown 1\nt2\tTown 2\n")
    types = _written(folder / "parts" / "entity2types.txt", "t1\ttown | city\nt2\ttown\n")
    return [
        *(Target(path.name, (path,), lambda path: read(path, cache=False)) for path in (*paths, table)),
        *(
            Target(
                f"{path.name}, bad lines skipped", (path,), lambda path: read(path, cache=False, skip_bad_lines=True)
            )
            for path in paths
        ),
        Target("a folder of facts", (*parts, texts, types), lambda path: read(path.parent, cache=False)),
        Target("facts to judge", (paths[0],), read_facts),
    ]


def _other_targets(folder: Path, kb: KnowledgeBase) -> list[Target]:
    judged = _written(folder / "judged.tsv", "t1\tnear\tt2\t1\nt2\ttwin\tt3\t0\n")
    newcomers = _written(folder / "new.json", '[{"id": "n", "name": "New", "facts": [["n", "near", "t1"]]}]')
    lists = {
        "lists.jsonl": "".join(f"{LIST_LINE.replace('t1', each)}\n" for each in ("t1", "t4", "t5")),
        "run.trec": TREC,
        "simkgc.json": SIMKGC,
    }
    return [
        Target("a configuration", (_written(folder / "config.yaml", CONFIG),), load_config),
        Target("judged facts", (judged,), lambda path: read_judged(path, kb)),
        Target("new entities", (newcomers,), lambda path: read_newcomers(path, kb)),
        *(
            Target(f"lists, {name}", (_written(folder / name, text),), lambda path: read_rankings([path], kb))
            for name, text in lists.items()
        ),
        Target("a log of decisions", (_written(folder / "log.jsonl", f"{DECISION}\n" * 3),), read_log),
    ]


def _run_targets(folder: Path) -> list[Target]:
    """The files of a finished run of two stages, its store among them, and its record."""
    values: dict[str, Any] = {"data": str(_written(folder / "run.tsv", FACTS)), "threads": 1}
    values["stage1"] = {"rank": 4, "batch": 64, "epochs": 2, "validate_every": 2}
    values["candidates"] = {"k": 6, "crossfit": {"folds": 2}, "extra_retrievers": {"rules": {"model": "rules"}}}
    values["reranker"] = {"kind": "wide", "text": False, "width": 8, "heads": 2, "epochs": 1}
    made = run(RunConfig.model_validate(values), folder / "run")
    evaluation = made.evaluate("test")
    write_record(folder / "record.json", made.record(evaluation), evaluation)
    files = sorted(path for path in made.folder.rglob("*") if path.is_file() and path.suffix != ".lock")
    return [
        Target(SEALED, tuple(files), lambda _: _said(open_run(made.folder))),
        Target("a record", (folder / "record.json",), read_record),
    ]


def _said(finished: Run) -> Any:
    """What a run answers."""
    return finished.ask("near", subject="t3", k=5), finished.evaluate("test").summary()


def _written(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@dataclass(frozen=True)
class Case:
    """One mutation and what became of it."""

    number: int
    target: str
    file: str
    became: Became
    told: str = ""


def cases(count: int, seed: int, folder: Path, only: int | None = None) -> Iterator[Case]:
    """So many mutations, every target in its turn; what they change is put back."""
    tried = targets(folder)
    whole = {each.name: each.read(each.files[0]) for each in tried}  # all of it can be read
    right = {name: answers if name == SEALED else None for name, answers in whole.items()}
    for number in range(count) if only is None else [only]:
        target, dice = tried[number % len(tried)], random.Random(f"{seed} {number}")
        file = dice.choice(target.files)
        content = file.read_bytes()
        kept = _files(folder) if target.name == SEALED else {}
        file.write_bytes(mutated(content, dice))
        became, told = _try(target, file, right[target.name])
        file.write_bytes(content)
        _put_back(kept)
        yield Case(number, target.name, file.relative_to(folder).as_posix(), became, told)


def _try(target: Target, file: Path, right: Any) -> tuple[Became, str]:
    try:
        with _at_most(SECONDS), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = target.read(file)
    except CearError as error:
        return "refused", str(error)
    except Hang:
        return "a hang", ""
    except BaseException:  # a panic of a compiled library is no Exception
        return "a traceback", traceback.format_exc()
    return ("read", "") if right is None or found == right else ("other answers", "")


@contextmanager
def _at_most(seconds: int) -> Iterator[None]:
    def ring(*_: object) -> None:
        raise Hang

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _files(folder: Path) -> dict[Path, bytes]:
    """What a run that is opened may make again, with its content."""
    return {path: path.read_bytes() for path in (folder / "run").rglob("*") if path.is_file()}


def _put_back(kept: dict[Path, bytes]) -> None:
    for path, content in kept.items():
        if not path.exists() or path.read_bytes() != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)


def main() -> None:
    """Make the mutations and write down what became of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, help="make this one alone, and say what became of it")
    parser.add_argument("--out", type=Path, default=RECORD)
    given = parser.parse_args()
    folder, began = Path(tempfile.mkdtemp()), time.perf_counter()
    found: Counter[tuple[str, str]] = Counter()
    failed = []
    try:
        for case in cases(given.cases, given.seed, folder, given.only):
            found[case.target, case.became] += 1
            if case.became in WRONG or given.only is not None:
                failed.append(case.number)
                print(case.number, case.target, case.file, case.became, case.told, sep="\n", flush=True)
    finally:
        shutil.rmtree(folder)
    total = Counter({became: sum(n for (_, each), n in found.items() if each == became) for _, became in found})
    print(dict(total), f"{time.perf_counter() - began:.0f} s")
    if given.only is None:
        names = sorted({name for name, _ in found})
        by_target = {name: {became: n for (each, became), n in found.items() if each == name} for name in names}
        config = {"cases": given.cases, "seed": given.seed}
        seconds = time.perf_counter() - began
        provenance = Provenance.collect(config=config, data="generated", digest="", seconds=seconds)
        what = "mutated files of every kind that is read, and what became of each"
        write_json(
            given.out,
            {"what": what, **total, "failed": failed, "targets": by_target, "provenance": provenance.as_json()},
        )


if __name__ == "__main__":
    main()
