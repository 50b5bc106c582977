"""KG-BERT beside CEAR on the same lists: quality and queries a second, and KG-BERT's two other uses where asked for.

    CEAR_DATA=path/to/data python benchmarks/kg_bert.py runs/wn18rr/cear-complex-fused runs/wn18rr/kg-bert

Both runs have the same Stage 1 and the same candidates. Stage 1 ranks a fixed sample of test facts once; each re-ranker
reads the same lists, one after the other, in one process, and is measured alone and fused with Stage 1.

    --judge       triple classification: test facts against corruptions, the threshold chosen on validation facts
    --relations   relation prediction: trains `[CLS] s [SEP] o [SEP]` for one short epoch and ranks the relations
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from cear.candidates import Lists, distinct_lists
from cear.core.context import Context
from cear.core.errors import MismatchError
from cear.core.files import write_json
from cear.core.types import Floats
from cear.data import KnowledgeBase
from cear.evaluation import Asked, Evaluation, compare, measure, sample_facts
from cear.pipeline import Run, open_run
from cear.reports import Provenance
from cear.reranking import KgBertReranker
from cear.retrieval import (
    Classification,
    JudgedFacts,
    KgBert,
    RelationPredictionConfig,
    choose_threshold,
    corrupted_facts,
)

RECORD = Path("results/benchmarks/kg_bert.json")
WARM_UP = 4
RELATIONS = RelationPredictionConfig(epochs=1, facts_per_epoch=20_000, learning_rate=1e-4, max_tokens=1600)


def refuse_other_lists(first: Run, second: Run) -> None:
    """Raise `MismatchError` unless both re-rankers are handed the same lists."""
    one, other = ([step.key for step in run.plan.stage1.values()] for run in (first, second))
    made = [(run.config.candidates.k, run.config.candidates.known) for run in (first, second)]
    if one != other or made[0] != made[1]:
        raise MismatchError(
            f"The runs in {first.folder} and {second.folder} differ in their Stage 1 or their candidates, so their "
            "re-rankers read other lists. Give two runs that differ in `reranker` alone."
        )


def timed(run: Run, lists: Lists) -> tuple[Floats, float]:
    """The scores of the lists by a run's re-ranker, and the lists that it reads in a second."""
    reranker, (once, place) = run.ranker.reranker, distinct_lists(lists)
    assert reranker is not None
    reranker.rerank(once[:WARM_UP])
    start = time.perf_counter()
    scores = reranker.rerank(once)
    return scores[place], len(once) / (time.perf_counter() - start)


def figures(evaluation: Evaluation) -> dict[str, Any]:
    """MRR and hits with their intervals."""
    return {"both": evaluation.summary()["both"], "intervals": evaluation.intervals()["both"]}


def rerankers(runs: dict[str, Run], *, facts: int, seed: int) -> dict[str, Any]:
    """Stage 1 and each re-ranker, alone and fused, on the same queries; and how fast each re-ranker is."""
    ranker = next(iter(runs.values())).ranker
    asked = Asked.of(ranker.kb, "test", sample_facts(ranker.kb, "test", facts, seed=seed))
    places = ranker.places(asked.queries, asked.golds, asked.filters, with_lists=True)
    assert places.lists is not None
    before = asked.evaluation(places.ranks, ties="expected", seconds=0.0)
    found: dict[str, Any] = {"queries": len(asked.queries), "stage1": figures(before)}
    fused: dict[str, Evaluation] = {}
    for name, run in runs.items():
        scores, speed = timed(run, places.lists)
        alone = replace(before, ranks=places.after(scores, asked.known))
        final = run.ranker.fusion.fuse(places.lists, scores, ranker.kb)
        fused[name] = replace(before, ranks=places.after(final, asked.known))
        found[name] = {"alone": figures(alone), "fused": figures(fused[name]), "queries_per_second": speed}
        print(
            f"{name}: {measure(alone.ranks)} alone, {measure(fused[name].ranks)} fused, {speed:.2f} queries/s",
            flush=True,
        )
    one, other = fused
    differences = {name: asdict(each) for name, each in compare(fused[other], fused[one]).items()}
    ratio = found[one]["queries_per_second"] / found[other]["queries_per_second"]
    return found | {"first_against_second": {"fused": differences, "times_faster": ratio}}


def some(judged: JudgedFacts, most: int, *, seed: int) -> JudgedFacts:
    """A fixed sample of judged facts."""
    chosen = np.random.default_rng([seed, len(judged)]).permutation(len(judged))[:most]
    return JudgedFacts(judged.facts[chosen], judged.true[chosen])


def judging(run: Run, *, most: int, seed: int) -> dict[str, Any]:
    """Triple classification by the network of KG-BERT's re-ranker."""
    reranker = run.ranker.reranker
    assert isinstance(reranker, KgBertReranker)
    model = KgBert(run.kb, reranker.reader)
    valid, test = (some(corrupted_facts(run.kb, split, seed=seed), most, seed=seed) for split in ("valid", "test"))
    threshold = choose_threshold(model.judge(valid.facts), valid.true)
    found = asdict(Classification.of(model.judge(test.facts), test.true, threshold))
    print(f"triple classification: {found}", flush=True)
    return {"facts": len(test), "true": float(test.true.mean()), **found}


def relations(kb: KnowledgeBase, folder: Path, *, facts: int, seed: int) -> dict[str, Any]:
    """Relation prediction, trained in a folder where it goes on if it was interrupted."""
    made = RELATIONS.fit(kb, folder, Context(seed=seed))
    found = measure(made.ranks("test", facts=facts))
    print(f"relation prediction: {found}", flush=True)
    return {"facts": facts, "settings": RELATIONS.model_dump(), **found}


def parse(arguments: list[str]) -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cear", type=Path, help="a finished run with `reranker: {kind: sequence}`")
    parser.add_argument("kg_bert", type=Path, help="one with `reranker: {kind: kg_bert}` and all else the same")
    parser.add_argument("--facts", type=int, default=500, help="test facts whose two queries are ranked")
    parser.add_argument("--judge", type=int, default=0, metavar="N", help="judge so many true and false facts")
    parser.add_argument("--relations", type=Path, metavar="FOLDER", help="predict relations; what is trained goes here")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0, help="of samples and corruptions")
    parser.add_argument("--out", type=Path, default=RECORD, help="where the record goes")
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> None:
    """Measure, and write the record."""
    options = parse(arguments)
    start = time.perf_counter()
    runs = {"cear": open_run(options.cear), "kg_bert": open_run(options.kg_bert)}
    refuse_other_lists(*runs.values())
    torch.set_num_threads(options.threads)
    kb = runs["cear"].kb
    record = rerankers(runs, facts=options.facts, seed=options.seed)
    if options.judge:
        record["triple_classification"] = judging(runs["kg_bert"], most=options.judge, seed=options.seed)
    if options.relations:
        predicted = relations(kb, options.relations, facts=options.facts, seed=options.seed)
        record["relation_prediction"] = predicted
    config = {name: run.config.model_dump() for name, run in runs.items()}
    config |= {"facts": options.facts, "threads": options.threads, "seed": options.seed}
    seconds = time.perf_counter() - start
    provenance = Provenance.collect(config=config, data=kb.name, digest=kb.digest, seconds=seconds)
    what = "CEAR and KG-BERT as re-rankers of the same lists: quality, and queries a second of Stage 2 alone"
    write_json(options.out, {"what": what, **record, "provenance": provenance.as_json()})
    print(f"CEAR is {record['first_against_second']['times_faster']:.1f} times as fast; {options.out}")


if __name__ == "__main__":
    main(sys.argv[1:])
