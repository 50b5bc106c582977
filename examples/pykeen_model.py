"""A model that PyKEEN trains becomes Stage 1: train it, import it, re-rank its best, measure both, complete.

    pip install 'cear[pykeen]'
    python examples/pykeen_model.py runs/pykeen

On one core: a minute. PyKEEN is needed to train, not to import.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from pykeen.pipeline import pipeline
from pykeen.triples import TriplesFactory

import cear
from cear.core.types import Split


def triples(kb: cear.KnowledgeBase, split: Split) -> npt.NDArray[Any]:
    """The facts of a split by their ids, (fact, 3): what PyKEEN reads."""
    entities, relations = (vocabulary.table["id"].to_numpy() for vocabulary in (kb.entities, kb.relations))
    s, r, o = kb.facts(split).T
    return np.stack([entities[s], relations[r], entities[o]], axis=1).astype(str)


def train(kb: cear.KnowledgeBase, folder: Path, *, epochs: int) -> None:
    """Train PyKEEN's ComplEx on the training facts, and save it as PyKEEN does."""
    training = TriplesFactory.from_labeled_triples(triples(kb, "train"), create_inverse_triples=True)
    ids = {"entity_to_id": training.entity_to_id, "relation_to_id": training.relation_to_id}
    result = pipeline(
        model="ComplEx",
        model_kwargs={
            "embedding_dim": 32,
            "entity_initializer": "xavier_uniform_",
            "relation_initializer": "xavier_uniform_",
            "regularizer_kwargs": {"weight": 0.05, "p": 3.0},
        },
        training=training,
        testing=TriplesFactory.from_labeled_triples(triples(kb, "valid"), **ids),
        training_loop="lcwa",
        loss="crossentropy",
        optimizer_kwargs={"lr": 0.02},
        training_kwargs={"num_epochs": epochs, "batch_size": 256, "use_tqdm": False},
        evaluation_kwargs={"batch_size": 256, "use_tqdm": False},
        random_seed=0,
        device="cpu",
    )
    result.save_to_directory(folder)


def configuration(model: Path) -> cear.RunConfig:
    """The model as Stage 1, rules beside it, and the wide re-ranker, which learns from half of the validation facts."""
    values = {
        "data": "demo",
        "stage1": {"model": "imported", "path": str(model)},
        "candidates": {"k": 30, "learn_from": "valid", "extra_retrievers": {"rules": {"model": "rules"}}},
        "reranker": {"kind": "wide", "text": False, "width": 32, "epochs": 10, "dropout": 0.2, "max_tokens": 1000},
    }
    return cear.RunConfig.parse(values, source="examples/pykeen_model.py")


def main(folder: Path, *, epochs: int = 12) -> None:
    """Train, import, re-rank, measure, complete."""
    train(cear.load("demo"), folder / "model", epochs=epochs)
    run = cear.run(configuration(folder / "model"), folder / "run", store=folder / "steps")
    evaluation = run.evaluate("test")
    assert evaluation.before is not None
    for name, each in (("PyKEEN's ComplEx", evaluation.before), ("re-ranked", evaluation)):
        print(f"{name:18}MRR {each.summary()['both']['mrr']:.3f}")
    measured = run.evaluate_completion()
    for name, proposed in (("probability", measured.proposed), *measured.baselines.items()):
        print(f"right of the first 100 proposals, sorted by {name}: {proposed.right_at(100)}")
    for fact in run.complete().table.head(8).iter_rows(named=True):
        print(f"  {fact['probability']:.3f}  {fact['subject_name']}, {fact['relation_name']}, {fact['object_name']}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "runs/pykeen"))
