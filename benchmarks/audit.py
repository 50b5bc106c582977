"""Wrong facts found: some training facts are replaced by plausible wrong ones, and an audit looks for them.

    python benchmarks/audit.py --data demo
    CEAR_DATA=path/to/data python benchmarks/audit.py --data wn18rr

Of a replaced fact one end, by a coin, is now another entity that stands in that place of the same relation, and no
split has the new fact. A run learns from all of it as from any data, and its audit judges every training fact by models
that never saw it. Measured is how many of the least likely facts, as many as were replaced, are wrong ones, and the
area under the ROC curve. Beside the probability what else facts could be sorted by, from the worse up: the scores of
Stage 1 that has learned from these facts, its softmax over all entities, and the scores that do not know them. Each
is taken in the better of a fact's two questions, and as the mean of both.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from completing import FINAL, STAGE1, demo_config, keep, stage1_says, write_facts

from cear.completion import among, fact_keys
from cear.config import load_config
from cear.core.types import SPLITS, Bools, Floats, Ints
from cear.data import KnowledgeBase, load
from cear.evaluation import average_precision, roc_auc
from cear.pipeline import Audit, AuditPlan, Run, run

RECORD, WORK = Path("results/benchmarks/audit.json"), Path("runs/benchmarks/audit")
CONFIG = Path("configs/wn18rr/audit.yaml")
SHARE = 0.05
TRIES = 20  # entities that are tried in the place of one

Fact = tuple[int, int, int]


@dataclass(frozen=True, eq=False)
class Corrupted:
    """Training facts, some of which are wrong."""

    facts: Ints  # (fact, 3)
    wrong: Bools  # (fact,)


def corrupt(kb: KnowledgeBase, share: float, *, seed: int) -> Corrupted:
    """The training facts with a share of them replaced by plausible wrong ones."""
    facts, rng = kb.facts("train").copy(), np.random.default_rng(seed)
    known = {tuple(fact) for split in SPLITS for fact in kb.facts(split).tolist()}
    wrong, left = np.zeros(len(facts), bool), round(share * len(facts))
    seats = {end: _seats(kb.facts("train"), end, kb.n_relations) for end in (0, 2)}
    for place in rng.permutation(len(facts)):
        end = int(rng.choice([0, 2]))
        if left and (made := _wrong(facts[place], end, seats[end], known, rng)):
            known.add(made)
            facts[place], wrong[place], left = made, True, left - 1
    return Corrupted(facts, wrong)


def _wrong(fact: Ints, end: int, seats: list[Ints], known: set[Fact], rng: np.random.Generator) -> Fact | None:
    """The fact with another entity at an end, so that nobody knows it; None where none is found."""
    for other in rng.choice(seats[fact[1]], TRIES).tolist():
        s, r, o = (other if place == end else part for place, part in enumerate(fact.tolist()))
        if (s, r, o) not in known:
            return s, r, o
    return None


def _seats(facts: Ints, end: int, n_relations: int) -> list[Ints]:
    """The entities that stand at one end of each relation's facts."""
    return [np.unique(facts[facts[:, 1] == relation, end]) for relation in range(n_relations)]


def scores_of(finished: Run, audit: Audit) -> Iterator[tuple[str, Floats]]:
    """What facts could be sorted by, (fact,) each; low is wrong."""
    raw, soft = stage1_says(finished.scorer, audit.proposals.facts, finished.kb)
    views = audit.proposals.views
    yield "probability", audit.probability
    both = {"Stage 1's score": raw, "Stage 1's softmax": soft}
    both |= {"Stage 1's score, unseen": views[:, :, STAGE1], "the final score, unseen": views[:, :, FINAL]}
    for name, each in both.items():
        yield f"{name}, better question", each.max(axis=1)
        yield f"{name}, mean of both", each.mean(axis=1)


def figures(scores: Floats, wrong: Bools) -> dict[str, float]:
    """How well low scores find the wrong facts."""
    first = np.argsort(scores, kind="stable")[: wrong.sum()]
    doubt = -scores.astype(np.float64)
    precision, auc = float(wrong[first].mean()), roc_auc(doubt, wrong)
    return {"precision_at_n": precision, "auc": auc, "average_precision": average_precision(doubt, wrong)}


def train(kb: KnowledgeBase, made: Corrupted, options: argparse.Namespace) -> Run:
    """A run on data with wrong facts; an interrupted one goes on."""
    folder = options.work / kb.name
    splits = {split: made.facts if split == "train" else kb.facts(split) for split in SPLITS}
    settings = [f"data={write_facts(folder / 'data', splits, kb)}", f"threads={options.threads}", *options.set]
    config = load_config(options.config, settings) if options.config else demo_config(settings)
    return run(config, folder / "run")


def measure(finished: Run, audit: Audit, wrong: Ints) -> dict[str, Any]:
    """The figures of everything that could find the wrong facts."""
    found = among(fact_keys(audit.proposals.facts, finished.kb), wrong, finished.kb)
    sorted_by = {name: figures(scores, found) for name, scores in scores_of(finished, audit)}
    return {"facts": len(found), "replaced": int(found.sum()), "sorted_by": sorted_by}


def renumbered(made: Corrupted, kb: KnowledgeBase, other: KnowledgeBase) -> Ints:
    """The wrong facts in the integers of the knowledge base that was read, which may be others."""
    rows = made.facts[made.wrong].tolist()
    e, r = other.entities.by_id, other.relations.by_id
    ids = [(kb.entities.id(s), kb.relations.id(relation), kb.entities.id(o)) for s, relation, o in rows]
    return np.array([(e[s], r[relation], e[o]) for s, relation, o in ids], np.int64)


def show(entry: Mapping[str, Any]) -> None:
    """Print the figures of everything that could find wrong facts."""
    print(f"{entry['replaced']:,} of {entry['facts']:,} facts are wrong")
    for name, each in entry["sorted_by"].items():
        print(f"{name:<42} precision {each['precision_at_n']:.3f}, AUC {each['auc']:.3f}")


def parse(arguments: list[str]) -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="demo", help="demo, wn18rr, or another knowledge base")
    parser.add_argument("--config", type=Path, help="of the run; for demo the demo's, for others that of wn18rr")
    parser.add_argument("--seed", type=int, default=0, help="of the wrong facts")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--set", nargs="*", default=[], help="settings of the run, such as stage1.epochs=2")
    parser.add_argument("--work", type=Path, default=WORK, help="where data and run go; an interrupted one goes on")
    parser.add_argument("--json", type=Path, default=RECORD, help="where the record goes; it holds several data sets")
    options = parser.parse_args(arguments)
    if options.config is None and options.data != "demo":
        options.config = CONFIG
    return options


def main(arguments: list[str]) -> None:
    """Measure, and write the record."""
    options = parse(arguments)
    kb = load(options.data)
    made = corrupt(kb, SHARE, seed=options.seed)
    finished = train(kb, made, options)
    audits = AuditPlan(finished.plan)
    entry = measure(finished, audits.audit(), renumbered(made, kb, finished.kb))
    show(entry)
    config = {"share": SHARE, "seed": options.seed, "run": finished.config.model_dump()}
    steps = [report.as_json() for report in finished.steps(*map(audits.step, audits.folds))]
    what = "plausible wrong facts among the training facts, found by an audit and by scores of the stages"
    keep(options.json, what, kb, entry, config=config, steps=steps)


if __name__ == "__main__":
    main(sys.argv[1:])
