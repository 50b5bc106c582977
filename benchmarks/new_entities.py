"""Entities that the run has never seen: by name, by name and three facts, and by a run that was trained with these.

    python benchmarks/new_entities.py

From the embedded knowledge base so many entities of 4 to 20 facts are left out with all their facts, and the demo's
system is trained on the rest. The newcomers are those of them that have at least 4 facts with entities that are left:
three are given, the others are asked in both directions. A question *about* a newcomer asks for the other end; one
*for* it asks for the newcomer among all. The ceiling is the same system, trained with the three facts. Beside them what
the newcomers cost: the test questions of the rest, before and after.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from cear.config import load_config
from cear.core.context import HERE
from cear.core.files import write_json
from cear.core.types import SPLITS, Bools, Ints, Split
from cear.data import KnowledgeBase, load
from cear.evaluation import Evaluation, measure
from cear.pipeline import Run, run
from cear.ranking import NewEntity, Ranker, evaluate_ranker, extended
from cear.reports import Provenance

RECORD = Path("results/benchmarks/new_entities.json")
FEWEST, MOST, GIVEN = 4, 20, 3  # facts of an entity that is left out, and those that are given

Fact = tuple[str, str, str]


@dataclass(frozen=True)
class LeftOut:
    """A knowledge base without some entities, and what is known of these; facts are of ids."""

    rest: dict[Split, list[Fact]]
    given: dict[str, list[Fact]]
    """Three facts of each entity that is left out."""
    asked: list[Fact]


def leave_out(kb: KnowledgeBase, entities: int, *, seed: int) -> LeftOut:
    """So many entities left out, drawn from those with enough facts with entities that stay."""
    every = np.concatenate([kb.facts(split) for split in SPLITS])
    rng = np.random.default_rng(seed)
    counts = np.bincount(every[:, [0, 2]].reshape(-1), minlength=kb.n_entities)
    drawn = rng.permutation(np.flatnonzero((counts >= FEWEST) & (counts <= MOST)))[:entities]
    gone = np.isin(np.arange(kb.n_entities), drawn)
    left = {split: _without(kb.facts(split), gone) for split in SPLITS}
    known = np.isin(np.arange(kb.n_entities), left["train"][:, [0, 2]])
    given, asked = {}, []
    for entity in drawn:
        own = _ids(kb, rng.permutation(_facts_of(every, int(entity), known)))
        if len(own) >= FEWEST:
            given[kb.entities.id(int(entity))] = own[:GIVEN]
            asked += own[GIVEN:]
    return LeftOut({split: _ids(kb, facts) for split, facts in left.items()}, given, asked)


def _without(facts: Ints, gone: Bools) -> Ints:
    """The facts that none of those who are gone stands in."""
    return facts[~gone[facts[:, [0, 2]]].any(axis=1)]


def _facts_of(facts: Ints, entity: int, known: Bools) -> Ints:
    """The facts that join an entity with one of the known ones."""
    s, _, o = facts.T
    return facts[((s == entity) & known[o]) | ((o == entity) & known[s])]


def _ids(kb: KnowledgeBase, facts: Ints) -> list[Fact]:
    return [(kb.entities.id(s), kb.relations.id(r), kb.entities.id(o)) for s, r, o in facts.tolist()]


def train(kb: KnowledgeBase, facts: dict[Split, list[Fact]], folder: Path, settings: list[str]) -> Run:
    """The demo's system on these facts, with the names of the entities that they have."""
    data = folder / "data"
    data.mkdir(parents=True)
    for split, rows in facts.items():
        (data / f"{split}.txt").write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")
    there = {end for rows in facts.values() for s, _, o in rows for end in (s, o)}
    for kind, vocabulary in (("entity", kb.entities), ("relation", kb.relations)):
        rows = vocabulary.table.select("id", "name").iter_rows()
        kept = [f"{id_}\t{name}\n" for id_, name in rows if kind == "relation" or id_ in there]
        (data / f"{kind}2text.txt").write_text("".join(kept), encoding="utf-8")
    return run(load_config("demo", [f"data={data}", *settings]), folder / "run")


def newcomers(kb: KnowledgeBase, left: LeftOut, *, with_facts: bool) -> list[NewEntity]:
    """The entities that were left out, as a curator would tell of them."""
    names = {each: kb.entities.name(kb.entities.by_id[each]) for each in left.given}
    return [NewEntity(id_, names[id_], None, tuple(facts) if with_facts else ()) for id_, facts in left.given.items()]


def asked_of(ranker: Ranker, left: LeftOut) -> Evaluation:
    """The ranks of both questions of the asked facts; given facts are filtered, whether the ranker has them or not."""
    kb, given = ranker.kb, [fact for facts in left.given.values() for fact in facts]
    splits: dict[Split, Ints] = {"valid": _numbers(kb, given), "test": _numbers(kb, left.asked)}
    splits["train"] = kb.facts("train")
    retrievers = replace(ranker.retrievers, kb=kb.with_facts(splits))
    return evaluate_ranker(replace(ranker, retrievers=retrievers), "test")


def _numbers(kb: KnowledgeBase, facts: list[Fact]) -> Ints:
    e, r = kb.entities.by_id, kb.relations.by_id
    return np.array([(e[subject], r[relation], e[object_]) for subject, relation, object_ in facts], np.int64)


def figures(ranker: Ranker, left: LeftOut) -> dict[str, Any]:
    """MRR and hits of both stages, of questions about newcomers and for them."""
    evaluation = asked_of(ranker, left)
    assert evaluation.before is not None
    ids = np.array([ranker.kb.entities.by_id[each] for each in left.given])
    about = np.isin(evaluation.queries.entity, ids)
    stages = {"stage1": evaluation.before, "both_stages": evaluation}
    return {
        name: {"about": measure(each.ranks[about]), "for": measure(each.ranks[~about]), "queries": int(about.sum())}
        for name, each in stages.items()
    }


def mrr(ranker: Ranker) -> float:
    """MRR of the test questions of the rest."""
    return float(evaluate_ranker(ranker, "test").summary()["both"]["mrr"])


def compare(entities: int, seed: int, settings: list[str], folder: Path) -> dict[str, Any]:
    """Each way to meet a newcomer, measured on the same questions."""
    kb = load("demo")
    left = leave_out(kb, entities, seed=seed)
    without = train(kb, left.rest, folder / "without", settings).ranker
    more = [*left.rest["train"], *(fact for facts in left.given.values() for fact in facts)]
    trained = train(kb, left.rest | {"train": more}, folder / "with", settings).ranker
    start = time.perf_counter()
    by_name = extended(without, newcomers(kb, left, with_facts=False), HERE)
    by_facts = extended(without, newcomers(kb, left, with_facts=True), HERE)
    seconds = (time.perf_counter() - start) / 2
    ways = {"by name": by_name, "by name and three facts": by_facts, "trained with them": trained}
    return {
        "entities": len(left.given),
        "asked_facts": len(left.asked),
        "seconds_to_extend": seconds,
        "newcomers": {name: figures(ranker, left) for name, ranker in ways.items()},
        "old_questions_mrr": {"before": mrr(without)} | {name: mrr(ranker) for name, ranker in ways.items()},
    }


def main(arguments: list[str]) -> None:
    """Measure, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--entities", type=int, default=200, help="entities that are left out")
    parser.add_argument("--seed", type=int, default=0, help="of the draw")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--set", nargs="*", default=[], help="settings of the runs, such as stage1.epochs=2")
    parser.add_argument("--out", type=Path, default=RECORD, help="where the record goes")
    options = parser.parse_args(arguments)
    torch.set_num_threads(options.threads)
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        record = compare(options.entities, options.seed, [f"threads={options.threads}", *options.set], Path(folder))
    for name, found in record["newcomers"].items():
        about, for_them = (found["both_stages"][which]["mrr"] for which in ("about", "for"))
        print(f"{name:<24} MRR about newcomers {about:.3f}, for them {for_them:.3f}")
    config = {"entities": options.entities, "seed": options.seed, "threads": options.threads, "set": options.set}
    kb = load("demo")
    spent = time.perf_counter() - start
    provenance = Provenance.collect(config=config, data=kb.name, digest=kb.digest, seconds=spent)
    what = "questions about entities that the run has never seen, and for them, by what is told of them"
    write_json(options.out, {"what": what, **record, "provenance": provenance.as_json()})
    print(options.out)


if __name__ == "__main__":
    main(sys.argv[1:])
