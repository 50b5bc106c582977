"""Outside truth: a model that PyKEEN trained and saved, imported by us, scores and ranks as PyKEEN's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from pykeen.evaluation import RankBasedEvaluator
from pykeen.models import Model
from pykeen.pipeline import pipeline
from pykeen.triples import TriplesFactory

from cear.core.context import HERE
from cear.core.types import SPLITS, Queries, Split
from cear.data import KnowledgeBase
from cear.evaluation import evaluate
from cear.retrieval import ImportedConfig, Retriever

pytestmark = pytest.mark.filterwarnings("ignore:.*pin_memory")  # PyKEEN asks for it also where there is no GPU

IMAGE = {"embedding_height": 2, "embedding_width": 4, "output_channels": 3, "kernel_height": 2, "kernel_width": 2}
MODELS: dict[str, tuple[str, bool, dict[str, Any]]] = {
    "complex": ("ComplEx", False, {}),
    "complex, inverse": ("ComplEx", True, {}),
    "distmult": ("DistMult", False, {}),
    "distmult, inverse": ("DistMult", True, {}),
    "transe": ("TransE", False, {"scoring_fct_norm": 1}),
    "transe, inverse": ("TransE", True, {"scoring_fct_norm": 2}),
    "transe, squared": ("TransE", False, {"scoring_fct_norm": 2, "power_norm": True}),
    "rotate": ("RotatE", False, {}),
    "rotate, inverse": ("RotatE", True, {}),
    "conve, inverse": ("ConvE", True, IMAGE),
}


def triples(kb: KnowledgeBase, split: Split) -> np.ndarray:
    """The facts of a split by the user's ids."""
    s, r, o = kb.facts(split).T
    ids = kb.entities.table["id"].to_numpy(), kb.relations.table["id"].to_numpy()
    return np.stack([ids[0][s], ids[1][r], ids[0][o]], axis=1).astype(str)


def factories(kb: KnowledgeBase, *, inverse: bool) -> dict[Split, TriplesFactory]:
    """PyKEEN's triples; it numbers entities in an order of its own, which is not ours."""
    every = TriplesFactory.from_labeled_triples(np.concatenate([triples(kb, split) for split in SPLITS]))
    return {
        split: TriplesFactory.from_labeled_triples(
            triples(kb, split),
            entity_to_id=every.entity_to_id,
            relation_to_id=every.relation_to_id,
            create_inverse_triples=inverse and split == "train",
        )
        for split in SPLITS
    }


@pytest.fixture(scope="module", params=MODELS)
def trained(
    request: pytest.FixtureRequest, towns: KnowledgeBase, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Model, dict[Split, TriplesFactory], Path]:
    name, inverse, settings = MODELS[request.param]
    data, folder = factories(towns, inverse=inverse), tmp_path_factory.mktemp("pykeen")
    result = pipeline(
        model=name,
        model_kwargs={"embedding_dim": 8, **settings},
        training=data["train"],
        validation=data["valid"],
        testing=data["test"],
        training_loop="lcwa",
        training_kwargs={"num_epochs": 2, "batch_size": 16, "use_tqdm": False, "drop_last": False},
        evaluation_kwargs={"use_tqdm": False},
        random_seed=1,
        device="cpu",
    )
    result.save_to_directory(folder)
    return result.model.eval(), data, folder


@pytest.fixture(scope="module")
def imported(
    trained: tuple[Model, Any, Path], towns: KnowledgeBase, tmp_path_factory: pytest.TempPathFactory
) -> Retriever:
    """What is loaded after the model was converted, from the step's folder alone."""
    config, folder = ImportedConfig(path=str(trained[2])), tmp_path_factory.mktemp("step")
    config.fit(towns, folder, HERE)
    return config.load(towns, folder, HERE)


@torch.no_grad()
def test_every_score_is_theirs(
    trained: tuple[Model, dict[Split, TriplesFactory], Path], imported: Retriever, towns: KnowledgeBase
) -> None:
    model, data, _ = trained
    e, r = data["train"].entity_to_id, data["train"].relation_to_id
    entity = torch.tensor([e[id_] for id_ in towns.entities.table["id"]])
    relation = torch.tensor([r[id_] for id_ in towns.relations.table["id"]])
    pairs = torch.cartesian_prod(torch.arange(towns.n_entities), torch.arange(towns.n_relations))
    asked, through = pairs.T
    tails = model.predict_t(torch.stack([entity[asked], relation[through]], dim=1))[:, entity]
    heads = model.predict_h(torch.stack([relation[through], entity[asked]], dim=1))[:, entity]
    ours = [imported.score_all(Queries(asked.numpy(), (through + shift).numpy())) for shift in (0, towns.n_relations)]
    torch.testing.assert_close(ours[0], tails, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(ours[1], heads, atol=1e-5, rtol=1e-5)
    assert len(tails.unique()) > 100, "scores that are all alike would say nothing"


def test_every_rank_is_theirs(
    trained: tuple[Model, dict[Split, TriplesFactory], Path], imported: Retriever, towns: KnowledgeBase
) -> None:
    model, data, _ = trained
    evaluator = RankBasedEvaluator(filtered=True, clear_on_finalize=False)
    known = [data[split].mapped_triples for split in ("train", "valid")]
    evaluator.evaluate(
        model, data["test"].mapped_triples, batch_size=8, additional_filter_triples=known, use_tqdm=False
    )
    theirs = np.concatenate([np.concatenate(evaluator.ranks[side, "realistic"]) for side in ("tail", "head")])
    ours = evaluate(imported, towns, "test").ranks.under("expected")
    # PyKEEN sorts its triples, so facts are matched by their ids.
    e, r = data["train"].entity_to_id, data["train"].relation_to_id
    place = {tuple(fact): row for row, fact in enumerate(data["test"].mapped_triples.tolist())}
    order = [place[e[s], r[p], e[o]] for s, p, o in triples(towns, "test")]
    assert np.array_equal(ours, np.concatenate([theirs[: len(order)][order], theirs[len(order) :][order]]))
