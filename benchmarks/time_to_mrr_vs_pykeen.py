"""Seconds of training until ComplEx has validation MRR .33 on FB15K-237: ours against PyKEEN's, in one run.

    CEAR_DATA=path/to/data python benchmarks/time_to_mrr_vs_pykeen.py

Both sides train ComplEx of one recipe, `--config`: the same rank and fresh scale, reciprocal relations, softmax
cross-entropy over all entities, an N3 regulariser and Adagrad, one after the other on the same machine. PyKEEN uses
its LCWA loop, which also groups facts by query. After each epoch the clock stops and *our* evaluator measures the
validation MRR of either model, so that PyKEEN's slower evaluation is not held against its training. Other than in our
own model selection, the filter holds the test facts too, as in the figures that are published elsewhere (it makes the
MRR about .03 higher). PyKEEN is given `--patience` times our seconds.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch

from cear.config import load_config
from cear.core.context import HERE
from cear.core.files import write_json
from cear.core.types import SPLITS, Queries
from cear.data import KnowledgeBase, load
from cear.evaluation import ScoresEntities, measure, rank_all
from cear.reports import Provenance
from cear.retrieval import ComplExConfig, RowsConfig
from cear.retrieval.training import Stage1Task

CONFIG = Path("configs/fb15k-237/complex-n3-fast.yaml")
RECORD = Path("results/benchmarks/time_to_mrr_vs_pykeen.json")


class Finished(Exception):
    """The target is reached or the time is up."""


class Follower:
    """Validation MRR against seconds of training; the clock stands still while we evaluate."""

    def __init__(self, side: str, kb: KnowledgeBase, *, target: float, limit: float) -> None:
        self.side, self.kb, self.target, self.limit = side, kb, target, limit
        self._known = kb.known(*SPLITS)
        self.curve: list[dict[str, float]] = []
        self._seconds, self._since = 0.0, time.perf_counter()

    def after_epoch(self, model: ScoresEntities) -> None:
        """Note how good the model is; raises `Finished` when there is nothing more to see."""
        self._seconds += time.perf_counter() - self._since
        mrr = self._valid_mrr(model)
        self.curve.append({"epoch": len(self.curve) + 1, "seconds": self._seconds, "valid_mrr": mrr})
        print(f"{self.side:>8}: epoch {len(self.curve):3d}, {self._seconds:7.1f} s, MRR {mrr:.4f}", flush=True)
        if mrr >= self.target or self._seconds > self.limit:
            raise Finished
        self._since = time.perf_counter()

    def _valid_mrr(self, model: ScoresEntities) -> float:
        ranks = rank_all(model, self.kb.queries("valid"), self.kb.gold("valid"), self._known)
        return measure(ranks)["mrr"]

    @property
    def reached(self) -> float | None:
        """Seconds to the target, or None where the time was up before."""
        return self.curve[-1]["seconds"] if self.curve[-1]["valid_mrr"] >= self.target else None


def train_ours(kb: KnowledgeBase, config: ComplExConfig, follower: Follower) -> None:
    """Epochs of our ComplEx until the follower has seen enough."""
    scorer = config.build(kb, HERE)
    task = Stage1Task(scorer, kb, config, lambda _: 0.0, HERE)
    for epoch in itertools.count():
        for (loss,) in task.steps(epoch, first=0, parts=1):
            task.optimizer.zero_grad()
            loss().backward()
            task.optimizer.step()
        follower.after_epoch(scorer)


class PyKEENScorer:
    """PyKEEN's model as something that our evaluator can rank."""

    def __init__(self, model: Any, n_relations: int) -> None:
        self._model, self._n_relations = model, n_relations

    def score_all(self, queries: Queries) -> torch.Tensor:
        """⟨s, r, ?⟩ through r, ⟨?, r, o⟩ through the inverse relation that PyKEEN trained."""
        asks_head = torch.from_numpy(queries.relation >= self._n_relations)
        pairs = torch.from_numpy(np.stack([queries.entity, queries.relation % self._n_relations], axis=1))
        tails = self._model.predict_t(pairs[~asks_head])
        heads = self._model.predict_h(pairs[asks_head].flip(1))
        scores = tails.new_empty(len(pairs), tails.shape[1])
        scores[~asks_head], scores[asks_head] = tails, heads
        return scores


def train_pykeen(kb: KnowledgeBase, config: ComplExConfig, follower: Follower) -> None:
    """Epochs of PyKEEN's ComplEx in its LCWA loop until the follower has seen enough."""
    from pykeen.losses import CrossEntropyLoss
    from pykeen.models import ComplEx
    from pykeen.training import LCWATrainingLoop, TrainingCallback
    from pykeen.triples import CoreTriplesFactory

    class Follow(TrainingCallback):  # type: ignore[misc]
        def post_epoch(self, *_: Any, **__: Any) -> None:
            follower.after_epoch(PyKEENScorer(self.model, kb.n_relations))
            self.model.train()

    facts = torch.from_numpy(kb.facts("train").copy())
    sizes = {"num_entities": kb.n_entities, "num_relations": kb.n_relations}
    factory = CoreTriplesFactory(facts, **sizes, create_inverse_triples=True)
    # PyKEEN's own scale is 1, from which this loss and optimiser learn next to nothing in our time.
    assert isinstance(config.embedding, RowsConfig)
    fresh = partial(torch.nn.init.normal_, std=config.embedding.scale)
    model = ComplEx(
        triples_factory=factory,
        embedding_dim=config.rank,
        loss=CrossEntropyLoss(),
        entity_initializer=fresh,
        relation_initializer=fresh,
        regularizer="powersum",
        regularizer_kwargs={"p": 3.0, "weight": config.regularizer.weight},
        random_seed=0,
    )
    optimizer = torch.optim.Adagrad(model.parameters(), lr=config.optimizer.learning_rate)
    loop = LCWATrainingLoop(model=model, triples_factory=factory, optimizer=optimizer)
    sizes = {"num_epochs": 10_000, "batch_size": config.batch}
    loop.train(factory, **sizes, callbacks=Follow(), use_tqdm=False, use_tqdm_batch=False)


def race(train: Callable[[Follower], None], follower: Follower) -> dict[str, Any]:
    """One side's way to the target."""
    with suppress(Finished):
        train(follower)
    return {"seconds_to_target": follower.reached, "curve": follower.curve}


def compare(options: argparse.Namespace) -> dict[str, Any]:
    """The record of both sides and their ratio, a lower bound where PyKEEN ran out of time."""
    start = time.perf_counter()
    torch.set_num_threads(options.threads)
    kb, config = load("fb15k-237"), load_config(options.config).stage1
    if not isinstance(config, ComplExConfig):
        raise SystemExit(f"{options.config} is not a configuration of `model: complex`.")
    ours = race(partial(train_ours, kb, config), Follower("ours", kb, target=options.target, limit=float("inf")))
    limit = options.patience * ours["seconds_to_target"]
    theirs = race(partial(train_pykeen, kb, config), Follower("pykeen", kb, target=options.target, limit=limit))
    spent = theirs["seconds_to_target"] or theirs["curve"][-1]["seconds"]
    settings = {**vars(options), "config": config.model_dump()}
    seconds = time.perf_counter() - start
    return {
        "what": f"seconds of training to validation MRR {options.target} on FB15K-237, ComplEx",
        "ours": ours,
        "pykeen": theirs,
        "times_faster": spent / ours["seconds_to_target"],
        "times_faster_is_a_lower_bound": theirs["seconds_to_target"] is None,
        "pykeen_version": version("pykeen"),
        "provenance": Provenance.collect(config=settings, data=kb.name, digest=kb.digest, seconds=seconds).as_json(),
    }


def parse(arguments: list[str]) -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", type=Path, default=CONFIG, help="our side")
    parser.add_argument("--target", type=float, default=0.33)
    parser.add_argument("--patience", type=float, default=5.5, help="times our seconds that PyKEEN may train")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=Path, default=RECORD)
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> None:
    """Race and write the record."""
    options = parse(arguments)
    record = compare(options)
    write_json(options.out, record)
    at_least = "at least " if record["times_faster_is_a_lower_bound"] else ""
    print(f"{at_least}{record['times_faster']:.1f} times faster; {options.out}")


if __name__ == "__main__":
    main(sys.argv[1:])
