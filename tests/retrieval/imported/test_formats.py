"""Files in the layouts of other libraries become scorers that score as the formulas of these libraries say."""

from __future__ import annotations

import json
import math
import sys
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from cear.core.errors import ConfigError, DataError
from cear.core.types import Queries
from cear.data import KnowledgeBase
from cear.retrieval import ImportedConfig, Scorer
from cear.retrieval.imported.aligning import scorer_of
from cear.retrieval.imported.formats import read_model

# In the models "c" is 0, "a" is 1, "b" is 2, and "knows" is 0, "likes" is 1.
ENTITIES, RELATIONS = ["c", "a", "b"], ["knows", "likes"]
ENTITY_ROWS, RELATION_ROWS = [1, 2, 0], [1, 0]
RANK = 4

Score = Callable[[Tensor, Tensor, Tensor], Tensor]


def scorer(kb: KnowledgeBase, path: Path, **settings: Any) -> Scorer:
    return scorer_of(read_model(ImportedConfig(path=str(path), **settings)), kb)


def rows(n: int, width: int, seed: int) -> Tensor:
    return torch.randn(n, width, generator=torch.Generator().manual_seed(seed))


def assert_scores(found: Scorer, entity: Tensor, relation: Tensor, score: Score) -> None:
    """The scores of all ⟨s, r, o⟩, asked for tails and for heads, are those of a formula; rows are the library's."""
    e, r = entity[ENTITY_ROWS], relation[RELATION_ROWS]
    for s in range(3):
        for p in range(2):
            tails = torch.stack([score(e[s], r[p], e[o]) for o in range(3)])
            heads = torch.stack([score(e[o], r[p], e[s]) for o in range(3)])
            for shift, expected in ((0, tails), (2, heads)):
                ours = found.score_all(Queries(np.array([s]), np.array([p + shift])))[0]
                torch.testing.assert_close(ours, expected, atol=1e-5, rtol=1e-5)


def distmult(s: Tensor, r: Tensor, o: Tensor) -> Tensor:
    return (s * r * o).sum()


def complex_(s: Tensor, r: Tensor, o: Tensor) -> Tensor:
    s, r, o = (torch.complex(*x.chunk(2)) for x in (s, r, o))
    return (s * r * o.conj()).sum().real


def transe(p: int) -> Score:
    return lambda s, r, o: -torch.linalg.vector_norm(s + r - o, ord=p)


def rotate(p: int, scale: float = 1.0) -> Score:
    def score(s: Tensor, r: Tensor, o: Tensor) -> Tensor:
        turned = torch.complex(*s.chunk(2)) * torch.polar(torch.ones(len(r)), r * scale)
        return -torch.linalg.vector_norm((turned - torch.complex(*o.chunk(2))).abs(), ord=p)

    return score


KINDS: dict[str, tuple[int, int, Score]] = {
    "complex": (2 * RANK, 2 * RANK, complex_),
    "distmult": (RANK, RANK, distmult),
    "transe": (RANK, RANK, transe(1)),
    "rotate": (2 * RANK, RANK, rotate(1)),
}


def write_numbered(path: Path, ids: list[str], line: str = "{number}\t{id}\n", first: str = "") -> None:
    path.write_text(first + "".join(line.format(number=number, id=id_) for number, id_ in enumerate(ids)))


class TestRotatERepository:
    def write(self, folder: Path, model: str, width: int, relation_width: int, **config: Any) -> tuple[Tensor, Tensor]:
        entity, relation = rows(3, width, 1), rows(2, relation_width, 2)
        np.save(folder / "entity_embedding.npy", entity.numpy())
        np.save(folder / "relation_embedding.npy", relation.numpy())
        said = {"model": model, "hidden_dim": RANK, "gamma": 6.0, "data_path": str(folder / "data"), **config}
        (folder / "config.json").write_text(json.dumps(said))
        (folder / "data").mkdir(exist_ok=True)
        write_numbered(folder / "data" / "entities.dict", ENTITIES)
        write_numbered(folder / "data" / "relations.dict", RELATIONS)
        return entity, relation

    @pytest.mark.parametrize(
        ("model", "kind"), [("ComplEx", "complex"), ("DistMult", "distmult"), ("TransE", "transe")]
    )
    def test_scores(self, kb: KnowledgeBase, tmp_path: Path, model: str, kind: str) -> None:
        width, relation_width, score = KINDS[kind]
        entity, relation = self.write(tmp_path, model, width, relation_width)
        assert_scores(scorer(kb, tmp_path), entity, relation, score)

    def test_the_phases_of_rotate_are_in_units_of_its_range(self, kb: KnowledgeBase, tmp_path: Path) -> None:
        entity, relation = self.write(tmp_path, "RotatE", 2 * RANK, RANK)
        in_radians = math.pi / ((6.0 + 2.0) / RANK)
        assert_scores(scorer(kb, tmp_path), entity, relation, rotate(1, in_radians))

    def test_ids_may_be_named(self, kb: KnowledgeBase, tmp_path: Path) -> None:
        entity, relation = self.write(tmp_path, "DistMult", RANK, RANK, data_path="/gone")
        with pytest.raises(
            DataError, match=r"no file with the ids of entities; looked for .*Name it with `entities: FILE`"
        ):
            scorer(kb, tmp_path)
        ids = {"entities": str(tmp_path / "data/entities.dict"), "relations": str(tmp_path / "data/relations.dict")}
        assert_scores(scorer(kb, tmp_path, **ids), entity, relation, distmult)

    def test_another_model_is_refused(self, kb: KnowledgeBase, tmp_path: Path) -> None:
        self.write(tmp_path, "pRotatE", RANK, RANK)
        with pytest.raises(
            DataError, match=r"'pRotatE'. Those that can be imported: ComplEx, DistMult, RotatE, TransE"
        ):
            scorer(kb, tmp_path)

    def test_vectors_of_objects_are_refused(self, kb: KnowledgeBase, tmp_path: Path) -> None:
        self.write(tmp_path, "DistMult", RANK, RANK)
        np.save(tmp_path / "entity_embedding.npy", np.array([{}], dtype=object), allow_pickle=True)
        with pytest.raises(DataError, match="allow_pickle=False"):
            scorer(kb, tmp_path)


class TestOpenKE:
    def write(self, folder: Path, state: dict[str, Tensor]) -> Path:
        write_numbered(folder / "entity2id.txt", ENTITIES, "{id}\t{number}\n", "3\n")
        write_numbered(folder / "relation2id.txt", RELATIONS, "{id}\t{number}\n", "2\n")
        constants = {"zero_const": torch.zeros(1), "pi_const": torch.tensor([math.pi])}
        torch.save(OrderedDict(constants | state), folder / "model.ckpt")
        return folder / "model.ckpt"

    def plain(self, folder: Path) -> tuple[Path, Tensor, Tensor]:
        entity, relation = rows(3, RANK, 1), rows(2, RANK, 2)
        return (
            self.write(folder, {"ent_embeddings.weight": entity, "rel_embeddings.weight": relation}),
            entity,
            relation,
        )

    def test_distmult(self, kb: KnowledgeBase, tmp_path: Path) -> None:
        path, entity, relation = self.plain(tmp_path)
        assert_scores(scorer(kb, path, scorer="distmult"), entity, relation, distmult)

    @pytest.mark.parametrize("norm", [1, 2])
    def test_transe_of_vectors_brought_to_length_1(self, kb: KnowledgeBase, tmp_path: Path, norm: int) -> None:
        path, entity, relation = self.plain(tmp_path)
        found = scorer(kb, path, scorer="transe", norm=norm, unit_length=True)
        entity, relation = (x / x.norm(dim=1, keepdim=True) for x in (entity, relation))
        assert_scores(found, entity, relation, transe(norm))

    def test_complex_keeps_real_and_imaginary_parts_apart(self, kb: KnowledgeBase, tmp_path: Path) -> None:
        entity, relation = rows(3, 2 * RANK, 1), rows(2, 2 * RANK, 2)
        parts = {"ent": entity, "rel": relation}
        state = {f"{what}_re_embeddings.weight": x[:, :RANK].clone() for what, x in parts.items()}
        state |= {f"{what}_im_embeddings.weight": x[:, RANK:].clone() for what, x in parts.items()}
        assert_scores(scorer(kb, self.write(tmp_path, state)), entity, relation, complex_)

    def test_rotate(self, kb: KnowledgeBase, tmp_path: Path) -> None:
        entity, relation, unit = rows(3, 2 * RANK, 1), rows(2, RANK, 2), 2.0
        state = {"ent_embeddings.weight": entity, "rel_embeddings.weight": relation, "margin": torch.tensor([6.0])}
        state |= {"rel_embedding_range": torch.tensor([unit]), "ent_embedding_range": torch.tensor([1.0])}
        assert_scores(scorer(kb, self.write(tmp_path, state)), entity, relation, rotate(1, math.pi / unit))

    def test_what_the_weights_do_not_tell_is_asked_for(self, kb: KnowledgeBase, tmp_path: Path) -> None:
        path, *_ = self.plain(tmp_path)
        with pytest.raises(ConfigError, match="may be OpenKE's TransE or DistMult"):
            scorer(kb, path)
        with pytest.raises(ConfigError, match=r"Set `norm` .* and `unit_length`"):
            scorer(kb, path, scorer="transe", norm=1)

    def test_other_models_are_refused(self, kb: KnowledgeBase, tmp_path: Path) -> None:
        state = {"ent_embeddings.weight": rows(3, RANK, 1), "rel_embeddings.weight": rows(2, RANK, 2)}
        path = self.write(tmp_path, state | {"norm_vector.weight": rows(2, RANK, 3)})
        with pytest.raises(
            DataError, match=r"norm_vector.weight, .*ComplEx, DistMult, RotatE and TransE can be imported"
        ):
            scorer(kb, path)


class Config:
    """What LibKGE pickles as the configuration: an object with its options."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.options = options


@pytest.fixture
def config_class(monkeypatch: pytest.MonkeyPatch) -> type[Config]:
    """The class under the name that it has in LibKGE, so that files are written as LibKGE writes them."""
    module = ModuleType("kge.config")
    module.Config = Config  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "kge", ModuleType("kge"))
    monkeypatch.setitem(sys.modules, "kge.config", module)
    monkeypatch.setattr(Config, "__module__", "kge.config")
    return Config


class TestLibKGE:
    def write(
        self, path: Path, config_class: type[Config], options: dict[str, Any], state: dict[str, Tensor], **more: Any
    ) -> Path:
        checkpoint = {"type": "train", "epoch": 3, "config": config_class(options)}
        torch.save(checkpoint | {"model": (OrderedDict(state), {})} | more, path)
        write_numbered(path.parent / "entity_ids.del", ENTITIES)
        write_numbered(path.parent / "relation_ids.del", RELATIONS)
        return path

    def plain(self, kind: str, relations: int = 2, prefix: str = "") -> tuple[Tensor, Tensor, dict[str, Tensor]]:
        width, relation_width, _ = KINDS[kind]
        entity, relation = rows(3, width, 1), rows(relations, relation_width, 2)
        names = {"entity": entity, "relation": relation}
        return entity, relation, {f"{prefix}_{name}_embedder._embeddings.weight": x for name, x in names.items()}

    @pytest.mark.parametrize("kind", KINDS)
    def test_scores(self, kb: KnowledgeBase, tmp_path: Path, config_class: type[Config], kind: str) -> None:
        entity, relation, state = self.plain(kind)
        options = {"model": kind, kind: {"class_name": "X", "l_norm": 1.0}}
        path = self.write(tmp_path / "checkpoint.pt", config_class, options, state)
        assert_scores(scorer(kb, path), entity, relation, KINDS[kind][2])

    def test_the_norm_is_that_of_the_checkpoint(
        self, kb: KnowledgeBase, tmp_path: Path, config_class: type[Config]
    ) -> None:
        entity, relation, state = self.plain("transe")
        options = {"model": "transe", "transe": {"l_norm": 2.0}}
        path = self.write(tmp_path / "checkpoint.pt", config_class, options, state)
        assert_scores(scorer(kb, path), entity, relation, transe(2))

    def test_a_reciprocal_model_has_the_inverse_of_r_at_r_plus_R(  # noqa: N802
        self, kb: KnowledgeBase, tmp_path: Path, config_class: type[Config]
    ) -> None:
        entity, relation, state = self.plain("complex", relations=4, prefix="_base_model.")
        options = {"model": "reciprocal_relations_model", "complex": {}}
        options |= {"reciprocal_relations_model": {"base_model": {"type": "complex"}}}
        found = scorer(kb, self.write(tmp_path / "checkpoint.pt", config_class, options, state))
        # Who likes a, and "likes" is relation 1 of the model: its inverse is 3.
        ours = found.score_all(Queries(np.array([0]), np.array([2])))[0]
        expected = [complex_(entity[ENTITY_ROWS[0]], relation[3], entity[row]) for row in ENTITY_ROWS]
        torch.testing.assert_close(ours, torch.stack(expected))

    def test_a_package_has_its_ids_inside(self, kb: KnowledgeBase, tmp_path: Path, config_class: type[Config]) -> None:
        entity, relation, state = self.plain("distmult")
        meta = {"entity_ids": ENTITIES, "relation_ids": RELATIONS}
        dataset = {"num_entities": 3, "num_relations": 2, "meta": meta}
        options = {"model": "distmult", "distmult": {}}
        path = self.write(tmp_path / "model.pt", config_class, options, state, type="package", dataset=dataset)
        for file in tmp_path.glob("*.del"):
            file.unlink()
        assert_scores(scorer(kb, path), entity, relation, distmult)

    def test_conve_has_its_bias_in_front_and_no_scale_in_its_normalisation(
        self, kb: KnowledgeBase, tmp_path: Path, config_class: type[Config]
    ) -> None:
        """Rank 8 is an image of 2 × 4; a filter of 2 × 2 over subject above relation leaves 3 × 3 in 32 channels."""
        entity, relation = rows(3, 9, 1), rows(4, 9, 2)
        convolution, line = nn.Conv2d(1, 32, 2), nn.Linear(32 * 9, 8)
        between, behind = nn.BatchNorm2d(32, affine=False).eval(), nn.BatchNorm1d(8, affine=False).eval()
        for layer, seed in ((between, 3), (behind, 4)):
            layer.running_mean, layer.running_var = (
                rows(1, layer.num_features, seed)[0],
                rows(1, layer.num_features, 5)[0].exp(),
            )
        state = {"_entity_embedder._embeddings.weight": entity, "_relation_embedder._embeddings.weight": relation}
        network = nn.ModuleDict({"convolution": convolution, "projection": line, "bn1": between, "bn2": behind})
        state |= {f"_scorer.{name}": tensor for name, tensor in network.state_dict().items()}
        settings = {"2D_aspect_ratio": 2, "filter_size": 2, "stride": 1, "padding": 0}
        options = {"model": "reciprocal_relations_model", "conve": settings}
        options |= {"reciprocal_relations_model": {"base_model": {"type": "conve"}}}
        both = {f"_base_model.{name}": tensor for name, tensor in state.items()} | state
        found = scorer(kb, self.write(tmp_path / "checkpoint.pt", config_class, options, both))
        with torch.no_grad():
            image = torch.cat([entity[1, 1:].view(1, 1, 2, 4), relation[3, 1:].view(1, 1, 2, 4)], dim=2)
            hidden = behind(line(between(convolution(image)).relu().flatten(1))).relu()
            expected = (hidden @ entity[:, 1:].T + entity[:, 0])[:, ENTITY_ROWS]
            ours = found.score_all(Queries(np.array([0]), np.array([2])))
        torch.testing.assert_close(ours, expected, atol=1e-5, rtol=1e-5)

    def test_weights_may_have_the_names_of_earlier_versions(
        self, kb: KnowledgeBase, tmp_path: Path, config_class: type[Config]
    ) -> None:
        entity, relation, state = self.plain("distmult")
        state = {name.replace("._embeddings", ".embeddings"): tensor for name, tensor in state.items()}
        path = self.write(tmp_path / "old.pt", config_class, {"model": "distmult", "distmult": {}}, state)
        assert_scores(scorer(kb, path), entity, relation, distmult)

    def test_options_that_are_missing_are_told(
        self, kb: KnowledgeBase, tmp_path: Path, config_class: type[Config]
    ) -> None:
        *_, state = self.plain("transe")
        path = self.write(tmp_path / "checkpoint.pt", config_class, {"model": "transe", "transe": {}}, state)
        with pytest.raises(DataError, match=r"looks like the format `libkge`, but .*: KeyError\('l_norm'\)"):
            scorer(kb, path)

    def test_other_models_are_refused(self, kb: KnowledgeBase, tmp_path: Path, config_class: type[Config]) -> None:
        *_, state = self.plain("distmult")
        path = self.write(tmp_path / "checkpoint.pt", config_class, {"model": "rescal", "rescal": {}}, state)
        with pytest.raises(DataError, match=r"'rescal'. Those that can be imported: complex, conve"):
            scorer(kb, path)


class TestVectors:
    def write(self, folder: Path, entity: Tensor, relation: Tensor, *, arrays: bool = True) -> Path:
        tensors = {"entity": entity, "relation": relation}
        if arrays:
            for name, tensor in tensors.items():
                np.save(folder / f"{name}.npy", tensor.numpy())
        else:
            save_file(tensors, folder / "vectors.safetensors")
        (folder / "entities.txt").write_text("".join(f"{id_}\n" for id_ in ENTITIES))
        (folder / "relations.txt").write_text("".join(f"{id_}\n" for id_ in RELATIONS))
        return folder

    @pytest.mark.parametrize("arrays", [True, False], ids=["npy", "safetensors"])
    @pytest.mark.parametrize("kind", KINDS)
    def test_scores(self, kb: KnowledgeBase, tmp_path: Path, kind: str, arrays: bool) -> None:
        width, relation_width, score = KINDS[kind]
        entity, relation = rows(3, width, 1), rows(2, relation_width, 2)
        norm = {"norm": 1} if kind in ("transe", "rotate") else {}
        path = self.write(tmp_path, entity, relation, arrays=arrays)
        assert_scores(scorer(kb, path, scorer=kind, **norm), entity, relation, score)

    def test_the_user_says_what_they_do(self, kb: KnowledgeBase, tmp_path: Path) -> None:
        path = self.write(tmp_path, rows(3, RANK, 1), rows(2, RANK, 2))
        with pytest.raises(ConfigError, match="say what they do: `scorer: complex`"):
            scorer(kb, path)
        with pytest.raises(ConfigError, match="`norm: 1` or `norm: 2`"):
            scorer(kb, path, scorer="transe")
        with pytest.raises(ConfigError, match="no distance and has no norm"):
            scorer(kb, path, scorer="distmult", norm=1)

    @pytest.mark.parametrize("bad", [math.nan, math.inf])
    def test_numbers_that_are_none_are_refused(self, kb: KnowledgeBase, tmp_path: Path, bad: float) -> None:
        entity = rows(3, RANK, 1)
        entity[1, 2] = bad
        path = self.write(tmp_path, entity, rows(2, RANK, 2))
        with pytest.raises(DataError, match=r"1 of the 12 numbers in `entity` .* are NaN or infinite"):
            scorer(kb, path, scorer="distmult")

    def test_vectors_and_ids_of_different_data_are_refused(self, kb: KnowledgeBase, tmp_path: Path) -> None:
        path = self.write(tmp_path, rows(5, RANK, 1), rows(2, RANK, 2))
        with pytest.raises(DataError, match=r"shape \(5, 4\), but its ids ask for 3 rows"):
            scorer(kb, path, scorer="distmult")

    def test_vectors_of_another_width_are_refused(self, kb: KnowledgeBase, tmp_path: Path) -> None:
        path = self.write(tmp_path, rows(3, RANK, 1), rows(2, RANK + 1, 2))
        with pytest.raises(DataError, match="`relation` has 5 columns where 4 are expected"):
            scorer(kb, path, scorer="distmult")

    def test_an_array_that_is_cut_off_is_refused(self, kb: KnowledgeBase, tmp_path: Path) -> None:
        path = self.write(tmp_path, rows(3, RANK, 1), rows(2, RANK, 2)) / "entity.npy"
        path.write_bytes(path.read_bytes()[:-8])
        with pytest.raises(DataError, match=r"entity.npy cannot be read"):
            scorer(kb, tmp_path, scorer="distmult")


class TestRecognising:
    def test_a_folder_of_no_known_format_says_what_was_looked_for(self, kb: KnowledgeBase, tmp_path: Path) -> None:
        with pytest.raises(
            DataError, match=r"(?s)no trained model that we read. Looked for:.*trained_model.pkl.*LibKGE"
        ):
            scorer(kb, tmp_path)

    def test_a_path_that_is_not_there(self, kb: KnowledgeBase, tmp_path: Path) -> None:
        with pytest.raises(DataError, match="There is no trained model"):
            scorer(kb, tmp_path / "gone")

    def test_a_setting_that_the_files_say_is_refused(self, kb: KnowledgeBase, tmp_path: Path) -> None:
        TestRotatERepository().write(tmp_path, "TransE", RANK, RANK)
        with pytest.raises(ConfigError, match="of the format `rotate`, whose files say norm: leave it out"):
            scorer(kb, tmp_path, norm=2)
