"""Facts that people judged: how well the probabilities of a run tell the true ones from the false ones.

    CEAR_DATA=path/to/data python benchmarks/judging.py runs/codex-m/completion

Every score is measured alike: the threshold is the best one on the judged validation facts, the figures are those of
the judged test facts. `by_relation` has a threshold for each relation with enough judged validation facts, as is usual
in triple classification.

    probability    of the run, as `judge` gives it: learned from validation facts and proposals, not from judgements
    learned        as `judge --learn-from` gives it: learned from judged validation facts, none of which judges itself

Beside them Stage 1's score in the better of a fact's two questions and in ⟨s, r, ?⟩, Stage 2's score, the final score.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from completing import FINAL, STAGE1, STAGE2, keep

from cear.completion import (
    Counts,
    Fitted,
    Proposals,
    among,
    fact_keys,
    judged,
    judged_probability,
    learn_from_judgements,
)
from cear.completion.proposals import TAIL
from cear.core.types import SPLITS, Bools, Floats, Ints
from cear.data import Judged, KnowledgeBase, judged_of
from cear.evaluation import Calibration, Judgement, best_threshold
from cear.pipeline import Run, open_run

RECORD = Path("results/benchmarks/judging.json")
LEAST = 20  # judged facts of a relation that has a threshold of its own
PUBLISHED = {"codex-m": {"accuracy": 0.826, "of": "the best model of Safavi and Koutra (2020)"}}
NOTES = {
    "codex-m": "True are the facts of the split itself; the run's probabilities were learned from those of valid.",
    "fb15k-237-n": "All facts that were judged true, those of valid_true too, are test facts of the split.",
}
PROBABILITIES = ("probability", "learned")


def looked_at(run: Run, facts: Ints) -> Proposals:
    """What both stages and training facts say of given facts, in their order."""
    found = judged(run.ranker, facts, Counts(run.kb))
    return found[np.searchsorted(fact_keys(found.facts, run.kb), fact_keys(facts, run.kb))]


def scores_of(run: Run, proposals: Proposals, trees: Fitted) -> dict[str, Floats]:
    """What facts could be judged by, (fact,) each; the trees alone have seen judgements, of other facts."""
    return {
        "probability": run.plan.completion.in_use.truth(proposals),
        "learned": judged_probability(trees, proposals, run.kb),
        "Stage 1's score": proposals.best_view(STAGE1),
        "Stage 1's score of ⟨s, r, ?⟩": proposals.views[:, TAIL, STAGE1],
        "Stage 2's score": proposals.best_view(STAGE2),
        "the final score": proposals.best_view(FINAL),
    }


def by_relation(scores: Floats, truth: Bools, relations: Ints, otherwise: float, n_relations: int) -> Floats:
    """The best threshold of each relation, (relation,); the common one where it has too few facts, or of one kind."""
    found = np.full(n_relations, otherwise)
    for relation in np.unique(relations).tolist():
        of = relations == relation
        if of.sum() >= LEAST and 0 < truth[of].sum() < of.sum():
            found[relation] = best_threshold(scores[of], truth[of])
    return found


def figures(valid: Judged, test: Judged, told: tuple[Floats, Floats], n_relations: int) -> dict[str, Any]:
    """How well scores of valid and test tell judged test facts apart, with thresholds from valid."""
    on_valid, on_test = (scores.astype(np.float64) for scores in told)
    threshold = best_threshold(on_valid, valid.truth)
    own = by_relation(on_valid, valid.truth, valid.facts[:, 1], threshold, n_relations)
    apart = Judgement.of(on_test - own[test.facts[:, 1]], test.truth, 0.0)
    narrow = {"accuracy": apart.accuracy, "f1": apart.f1}
    return {**Judgement.of(on_test, test.truth, threshold).as_json(), "by_relation": narrow}


def measure(run: Run, *, seed: int) -> dict[str, Any]:
    """The figures of every score, and how far probabilities hold for judged facts."""
    kb, data = run.kb, run.config.data
    valid, test = (judged_of(data, kb, split, skip_bad_lines=True) for split in ("valid", "test"))
    seen, asked = (looked_at(run, each.facts) for each in (valid, test))
    trees = learn_from_judgements(seen, valid.truth, kb, seed=seed)
    on_valid, on_test = (scores_of(run, each, trees) for each in (seen, asked))
    return {
        "note": NOTES.get(kb.name, ""),
        "published": PUBLISHED.get(kb.name),
        "judged": {"valid": composition(valid, kb), "test": composition(test, kb)},
        "judged_by": {name: figures(valid, test, (on_valid[name], on_test[name]), kb.n_relations) for name in on_test},
        "calibration": {name: Calibration.of(on_test[name], test.truth, floor=0.0).as_json() for name in PROBABILITIES},
    }


def composition(facts: Judged, kb: KnowledgeBase) -> dict[str, Any]:
    """How many judged facts there are, and which splits have those that are true."""
    true = fact_keys(facts.facts[facts.truth], kb)
    there = {split: int(among(true, kb.facts(split), kb).sum()) for split in SPLITS}
    return {"facts": len(facts), "true": len(true), "skipped": facts.skipped, "true_in_split": there}


def show(entry: Mapping[str, Any]) -> None:
    """Print the figures of every score."""
    print(f"{'judged by':<30} accuracy     F1    AUC     AP   by relation")
    for name, each in entry["judged_by"].items():
        told = "".join(f"{each[key]:7.3f}" for key in ("accuracy", "f1", "auc", "average_precision"))
        print(f"{name:<30}  {told}   {each['by_relation']['accuracy']:.3f}")
    print("ECE: " + ", ".join(f"{name} {each['ece']:.3f}" for name, each in entry["calibration"].items()))


def parse(arguments: list[str]) -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, help="the folder of a finished run on data with judged facts")
    parser.add_argument("--store", type=Path, help="where its steps are, if they have moved")
    parser.add_argument("--seed", type=int, default=0, help="of the trees that learn from judged facts")
    parser.add_argument("--json", type=Path, default=RECORD, help="where the record goes; it holds several data sets")
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> None:
    """Measure, and write the record."""
    options, start = parse(arguments), time.perf_counter()
    run = open_run(options.run, store=options.store)
    entry = measure(run, seed=options.seed)
    show(entry)
    config = {"run": run.config.model_dump(), "seed": options.seed, "least": LEAST}
    what = "facts that people judged, told apart by the scores of a run; thresholds from judged validation facts"
    keep(options.json, what, run.kb, entry, config=config, seconds=time.perf_counter() - start)


if __name__ == "__main__":
    main(sys.argv[1:])
