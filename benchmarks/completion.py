"""A completion with the test facts hidden: how many proposals are right, how sure they were, and what asking costs.

    CEAR_DATA=path/to/data python benchmarks/completion.py runs/fb15k-237/completion --pykeen

The proposals of a finished run, without training and validation facts, are sorted by their probability and by what else
they could be sorted by: Stage 1's score, its softmax over all entities, the score of Stage 2, the final score. What is
no test fact counts as wrong, so every precision is a lower bound.

    --pykeen    PyKEEN's own `predict_all` with the weights of Stage 1: all triples scored, known facts left out.
                It scores entities × relations × entities: about 35 minutes of one core for FB15K-237

The cost is that of a sample of the same questions, asked anew, and that of the run's own step, as its report tells it.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from completing import STAGE1, keep, stage1_says

from cear.completion import Counts, Expectation, Fitted, Proposals, Questions, among, asked, fact_keys
from cear.core.files import read_json
from cear.core.machine import peak_bytes
from cear.core.types import Floats
from cear.evaluation import Proposed
from cear.pipeline import CompletionEvaluation, Run, open_run
from cear.pipeline.completion_plan import EXPECTATION
from cear.pipeline.parts import Whole
from cear.retrieval.pykeen_weights import pykeen_model

RECORD = Path("results/benchmarks/completion.json")
TOPS = (100, 300, 1_000, 10_000)
OURS, STAGE1_SCORE, SOFTMAX, PYKEEN = "probability", "Stage 1's score", "Stage 1's softmax", "PyKEEN's predict_all"
BATCH = 512  # questions that PyKEEN scores at a time


def all_questions(run: Run) -> Questions:
    """Every plausible question, with what it is expected to lack."""
    steps = run.plan.completion
    trees = Fitted.from_json(read_json(run.plan.store.get(steps.expectation) / EXPECTATION))
    return Expectation(trees).questions(Counts(run.kb), steps.settings.least_share)


def cost(run: Run, sample: int, *, seed: int) -> dict[str, Any]:
    """What is asked, and what asking costs: a sample of the questions asked anew, and the run's own step."""
    steps, plausible = run.plan.completion, all_questions(run)
    chosen = plausible.best(steps.asking.questions).queries
    drawn = chosen[np.sort(np.random.default_rng(seed).permutation(len(chosen))[:sample])]
    each, counts, ranker = steps.settings.proposals, Counts(run.kb), run.ranker
    start = time.perf_counter()
    Proposals.of(drawn, asked(ranker, drawn, each), counts)
    seconds = time.perf_counter() - start
    step = run.plan.store.report(steps.proposals(Whole(run.kb), steps.asking))
    return {
        "plausible_questions": len(plausible),
        "questions": len(chosen),
        "proposals_each": each,
        "sample": {"questions": len(drawn), "seconds": seconds, "questions_per_second": len(drawn) / seconds},
        "peak_bytes": peak_bytes(),
        "step": asdict(step.spent),
    }


def sortings(run: Run, found: CompletionEvaluation) -> dict[str, Proposed]:
    """The proposals by their probability, and by everything else."""
    return {OURS: found.proposed, **found.baselines, SOFTMAX: replace(found.proposed, scores=softmax(run, found))}


def softmax(run: Run, found: CompletionEvaluation) -> Floats:
    """Stage 1's log-softmax over all entities, in the better of the questions that found a proposal, (proposal,)."""
    proposals = run.plan.completion.proposed(Whole(run.kb))
    proposals = proposals[among(fact_keys(proposals.facts, run.kb), found.proposed.facts, run.kb)]
    _, soft = stage1_says(run.scorer, proposals.facts, run.kb)
    return np.asarray(np.where(np.isnan(proposals.views[:, :, STAGE1]), -np.inf, soft).max(axis=1))


def predict_all(run: Run, most: int) -> Proposed:
    """What PyKEEN proposes with the weights of Stage 1: its best triples, at least so many that are not known."""
    from pykeen import models
    from pykeen.predict import predict_all as predict
    from pykeen.triples import CoreTriplesFactory

    kb, made = run.kb, pykeen_model(run.scorer)
    nothing = torch.empty(0, 3, dtype=torch.long)
    triples = CoreTriplesFactory(nothing, kb.n_entities, kb.n_relations, create_inverse_triples=True)
    arguments = {"embedding_dim": made.dimension, "random_seed": 0, **made.arguments}
    model = getattr(models, made.name)(triples_factory=triples, **arguments)
    model.load_state_dict(made.state)
    known = np.concatenate([kb.facts("train"), kb.facts("valid")])
    best = predict(model, k=len(known) + most, batch_size=BATCH)  # if all that is known stands first, `most` are left
    facts, scores = best.result.numpy(), best.scores.numpy().astype(np.float64)
    keys, counts, hidden = fact_keys(facts, kb), Counts(kb), kb.facts("test")
    new = ~among(keys, known, kb)
    facts, scores, right = facts[new], scores[new], among(keys, hidden, kb)[new]
    easy, hidden_easy = counts.turned_round(facts), int(counts.turned_round(hidden).sum())
    return Proposed(facts, scores, right, easy, len(hidden), hidden_easy)


def figures(found: Mapping[str, Proposed]) -> dict[str, Any]:
    """What is right among the first of each sorting, and how many times more that is than by Stage 1's score."""
    stage1 = found[STAGE1_SCORE]
    times = {str(n): found[OURS].right_at(n) / stage1.right_at(n) if stage1.right_at(n) else None for n in TOPS}
    return {"sorted_by": {by: each.summary(TOPS).as_json() for by, each in found.items()}, "times_stage1": times}


def measure(run: Run, options: argparse.Namespace) -> dict[str, Any]:
    """All figures of a run. Asking comes first: the peak of memory is the process's own."""
    spent = cost(run, options.questions, seed=options.seed)
    found = run.evaluate_completion()
    sorted_by = sortings(run, found)
    entry: dict[str, Any] = {"hidden": found.proposed.hidden, "cost": spent}
    if options.pykeen:
        start = time.perf_counter()
        sorted_by[PYKEEN] = predict_all(run, max(TOPS))
        entry["pykeen"] = {"version": version("pykeen"), "seconds": time.perf_counter() - start, "batch_size": BATCH}
    entry["all"], entry["calibration"] = figures(sorted_by), found.calibration.as_json()
    entry["without_easy"] = figures({by: each.without_easy() for by, each in sorted_by.items()})
    return entry


def show(entry: Mapping[str, Any]) -> None:
    """Print what is right among the first of each sorting."""
    spent, calibration = entry["cost"], entry["calibration"]
    for which in ("all", "without_easy"):
        print(f"{which.replace('_', ' '):<22}" + "".join(f"{n:>8,}" for n in TOPS) + "   average precision")
        for by, each in entry[which]["sorted_by"].items():
            right = "".join(f"{top['right']:>8,}" for top in each["tops"])
            print(f"{by:<22}{right}   {each['average_precision']:.4f}")
    print(
        f"ECE {calibration['ece']:.4f} over {calibration['count']:,} proposals; {spent['questions']:,} questions, "
        f"{spent['sample']['questions_per_second']:.0f} a second, {spent['peak_bytes'] / 2**20:.0f} MB"
    )


def parse(arguments: list[str]) -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, help="the folder of a finished run")
    parser.add_argument("--store", type=Path, help="where its steps are, if they have moved")
    parser.add_argument("--pykeen", action="store_true", help="let PyKEEN propose, too")
    parser.add_argument("--questions", type=int, default=2_000, help="how many are asked anew")
    parser.add_argument("--seed", type=int, default=0, help="of these")
    parser.add_argument("--json", type=Path, default=RECORD, help="where the record goes; it holds several data sets")
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> None:
    """Measure, and write the record."""
    options, start = parse(arguments), time.perf_counter()
    run = open_run(options.run, store=options.store)
    entry = measure(run, options)
    show(entry)
    config = {"run": run.config.model_dump(), "questions": options.questions, "seed": options.seed}
    what = "test facts right among the first proposals of a completion, by what sorts them; and what asking costs"
    keep(options.json, what, run.kb, entry, config=config, seconds=time.perf_counter() - start)


if __name__ == "__main__":
    main(sys.argv[1:])
