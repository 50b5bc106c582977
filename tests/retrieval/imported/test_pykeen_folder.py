"""What is refused of a folder of PyKEEN, and that reading it runs nothing."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from pykeen.models import ComplEx, ConvE, DistMult, ERModel, RotatE, SimplE, TransE
from pykeen.triples import CoreTriplesFactory, TriplesFactory

from cear.core.errors import ConfigError, DataError
from cear.data import KnowledgeBase
from cear.retrieval import Scorer
from cear.retrieval.imported.aligning import scorer_of
from cear.retrieval.imported.config import ImportedSettings
from cear.retrieval.imported.formats import digest_of, read_model

TRIPLES = np.array([["a", "likes", "b"], ["b", "knows", "c"], ["c", "likes", "a"]])


def save(folder: Path, model: type[ERModel[Any, Any, Any]], *, inverse: bool = False, **settings: Any) -> Path:
    """What `save_to_directory` leaves of a fresh model."""
    factory = TriplesFactory.from_labeled_triples(TRIPLES, create_inverse_triples=inverse)
    torch.save(model(triples_factory=factory, embedding_dim=8, random_seed=0, **settings), folder / "trained_model.pkl")
    factory.to_path_binary(folder / "training_triples")
    return folder


def imported(folder: Path, kb: KnowledgeBase) -> Scorer:
    return scorer_of(read_model(ImportedSettings(path=str(folder))), kb)


def test_a_class_that_we_do_not_know(kb: KnowledgeBase, tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match=r"a model with ClampedInteraction. Those that can be imported: ComplExInteraction"
    ):
        imported(save(tmp_path, SimplE), kb)


def test_conve_without_inverse_triples(kb: KnowledgeBase, tmp_path: Path) -> None:
    folder = save(tmp_path, ConvE, embedding_height=2, embedding_width=4, kernel_height=2, kernel_width=2)
    with pytest.raises(DataError, match="ConvE without inverse relations"):
        imported(folder, kb)


def test_conve_of_another_shape(kb: KnowledgeBase, tmp_path: Path) -> None:
    image = {"embedding_height": 2, "embedding_width": 4, "kernel_height": 1, "kernel_width": 2}
    with pytest.raises(DataError, match="a ConvE of another shape than ours"):
        imported(save(tmp_path, ConvE, inverse=True, **image), kb)


def test_another_norm_of_transe(kb: KnowledgeBase, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"norm: Input should be 1 or 2, but found 3"):
        imported(save(tmp_path, TransE, scoring_fct_norm=3), kb)


def test_vectors_that_are_normalised_before_they_score(kb: KnowledgeBase, tmp_path: Path) -> None:
    folder = save(tmp_path, DistMult, entity_representations_kwargs={"normalizer": torch.nn.functional.normalize})
    with pytest.raises(
        DataError, match=r"The entity vectors in .* are made by Embedding, and not of plain rows or with"
    ):
        imported(folder, kb)


def test_relations_that_are_no_rotations(kb: KnowledgeBase, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="are no rotations"):
        imported(save(tmp_path, RotatE, relation_initializer="normal_", relation_constrainer=None), kb)


def test_a_factory_without_labels(kb: KnowledgeBase, tmp_path: Path) -> None:
    save(tmp_path, ComplEx)
    for file in (tmp_path / "training_triples").iterdir():
        file.unlink()
    CoreTriplesFactory(torch.tensor([[0, 0, 1], [2, 1, 0]]), 3, 2).to_path_binary(tmp_path / "training_triples")
    with pytest.raises(DataError, match=r"no file with the ids of entities; looked for .*entity_to_id.tsv.gz"):
        imported(tmp_path, kb)


def test_ids_of_another_training(kb: KnowledgeBase, tmp_path: Path) -> None:
    save(tmp_path, ComplEx)
    TriplesFactory.from_labeled_triples(TRIPLES[:1]).to_path_binary(tmp_path / "training_triples")
    with pytest.raises(DataError, match=r"shape \(3, 16\), but its ids ask for 2 rows"):
        imported(tmp_path, kb)


def test_a_table_of_ids_that_is_cut_off(kb: KnowledgeBase, tmp_path: Path) -> None:
    path = save(tmp_path, ComplEx) / "training_triples" / "entity_to_id.tsv.gz"
    path.write_bytes(path.read_bytes()[:-6])
    with pytest.raises(DataError, match=r"entity_to_id.tsv.gz cannot be read"):
        imported(tmp_path, kb)


class Marks:
    """Whoever unpickles it writes a file."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> Any:
        return os.system, (f"touch {self.mark}",)


def test_a_pickle_that_is_no_model_is_refused_and_not_run(kb: KnowledgeBase, tmp_path: Path) -> None:
    save(tmp_path, ComplEx)
    torch.save(Marks(tmp_path / "mark"), tmp_path / "trained_model.pkl")
    with pytest.raises(DataError, match=r"holds no model of PyKEEN with an interaction: system"):
        imported(tmp_path, kb)
    assert not (tmp_path / "mark").exists()


def test_what_is_hidden_in_a_model_is_not_run(kb: KnowledgeBase, tmp_path: Path) -> None:
    factory = TriplesFactory.from_labeled_triples(TRIPLES)
    model = ComplEx(triples_factory=factory, embedding_dim=8, random_seed=0)
    model.extra = Marks(tmp_path / "mark")
    torch.save(model, tmp_path / "trained_model.pkl")
    factory.to_path_binary(tmp_path / "training_triples")
    assert imported(tmp_path, kb).n_entities == 3
    assert not (tmp_path / "mark").exists()


def test_the_digest_is_that_of_the_content(tmp_path: Path) -> None:
    one, other = (tmp_path / name for name in ("one", "other"))
    for folder in (one, other):
        folder.mkdir()
    save(one, ComplEx)
    for path in one.rglob("*"):
        if path.is_file():
            (other / path.relative_to(one)).parent.mkdir(exist_ok=True)
            (other / path.relative_to(one)).write_bytes(path.read_bytes())
    same = [digest_of(ImportedSettings(path=str(folder))) for folder in (one, other)]
    assert same[0] == same[1]
    TriplesFactory.from_labeled_triples(TRIPLES[:1]).to_path_binary(other / "training_triples")
    assert digest_of(ImportedSettings(path=str(other))) != same[0], "ids are part of a model"
