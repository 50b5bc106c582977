"""What every retriever promises, whoever wrote it: fit and load, score, resume, read no test fact, refuse settings."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from cear.config import RunConfig
from cear.core.context import HERE, Context
from cear.core.errors import ConfigError, MismatchError
from cear.core.settings import Settings
from cear.core.tensors import read_tensors
from cear.core.types import Ints, Queries, Side, Split
from cear.data import KnowledgeBase
from cear.retrieval import (
    EMBEDDINGS,
    LOSSES,
    RETRIEVERS,
    ComplExConfig,
    DotProductScorer,
    EntityPart,
    ExtremeText,
    ImportedConfig,
    InParts,
    Retriever,
    RetrieverConfig,
    SideInParts,
    SidePart,
    closed_nodes,
    map_side,
    side_file,
    slices_of,
    top_k,
    write_scorer,
)
from cear.training import LATEST

pytestmark = pytest.mark.usefixtures("own_cache", "one_thread")

SMALL: dict[str, Any] = {"rank": 4, "batch": 20, "epochs": 3, "checkpoint_seconds": 0, "loss": {"negatives": 9}}
TREE = {"dim": 8, "epochs": 3, "buckets": 1000, "pair_bits": 12, "checkpoint_seconds": 0}
READER = {"tokens": 8, "hidden": 16, "words": 8, "negatives": 5, "hard": 0, "batch": 20, "epochs": 3}
WALK = {"layers": 2, "width": 4, "folds": 3, "batch": 5, "epochs": 3, "queries": 20}
FACTS = {"form_tokens": 4, "max_tokens": 400, "epochs": 2, "validate_facts": 4, "learning_rate": 1e-3}
VARIANTS: dict[str, dict[str, Any]] = {
    "complex": SMALL,
    "complex, names": {"model": "complex", **SMALL, "embedding": {"kind": "lstm"}},
    "complex, texts": {"model": "complex", **SMALL, "embedding": {"kind": "text", "tokens": 8}},
    "distmult": {**SMALL, "relation_prediction": 0.5, "optimizer": {"kind": "adam"}},
    "transe": {**SMALL, "norm": 1, "loss": {"kind": "bce"}},
    "rotate": {
        **SMALL,
        "norm": 1,
        "loss": {"kind": "self_adversarial", "negatives": 9, "subsampling": True},
        "optimizer": {"kind": "lazy_adam", "decay": "linear"},
    },
    "conve": {**SMALL, "image_width": 2, "kernel": 2, "channels": 3, "loss": {"kind": "bce"}},
    "coper_conve": {**SMALL, "image_width": 2, "kernel": 2, "channels": 3, "loss": {"kind": "bce"}},
    "rules": {"min_support": 1},
    "paths": {**WALK, "checkpoint_seconds": 0},
    "paths, pairs": {"model": "paths", **WALK, "by": "pair", "dependent": False, "checkpoint_seconds": 0},
    "text": {**READER, "checkpoint_seconds": 0},
    "text, tuned": {"model": "text", **READER, "checkpoint_seconds": 0, "tune": {"warm_up": 1}},
    "extreme_text": TREE,
    "extreme_text, kmeans": {"model": "extreme_text", **TREE, "tree": "kmeans"},
    "imported": {},
    "lists": {},
    "kg_bert": {**FACTS, "negatives": 2, "checkpoint_seconds": 0},
}
FROM_FILES = ("lists",)  # they learn nothing, so they have no settings to change, and no fold to learn without


@pytest.fixture(scope="module")
def one_thread() -> Iterator[None]:
    """Training on one thread is a function of its arguments, for every retriever."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def trained_model(towns: KnowledgeBase, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model to import, in the layout of our own export; beside it is another."""
    folder, config = tmp_path_factory.mktemp("models"), ComplExConfig(rank=4)
    for seed, name in enumerate(["one", "other"]):
        write_scorer(folder / name, config, config.build(towns, Context(seed=seed)), towns)
    return folder / "one"


def write_drawn_lists(path: Path, kb: KnowledgeBase, seed: int = 0) -> Path:
    """Lists of twelve entities, drawn, for every query of valid and test facts."""
    rng = np.random.default_rng(seed)
    asked = {(e, r) for split in ("valid", "test") for e, r in zip(*queries_of(kb, split), strict=True)}
    lines = []
    for entity, relation in sorted(asked):
        end = "subject" if relation < kb.n_relations else "object"
        query = {end: kb.entities.id(entity), "relation": kb.relations.id(relation % kb.n_relations)}
        best = rng.permutation(kb.n_entities)[:12]
        listed = [{"id": kb.entities.id(each), "score": rng.normal()} for each in best]
        lines.append(json.dumps(query | {"candidates": listed}))
    path.write_text("\n".join(lines))
    return path


def queries_of(kb: KnowledgeBase, split: Split) -> tuple[list[int], list[int]]:
    queries = kb.queries(split)
    return queries.entity.tolist(), queries.relation.tolist()


@pytest.fixture(scope="module", params=VARIANTS)
def config(
    request: pytest.FixtureRequest,
    encoder_of: Callable[..., str],
    towns: KnowledgeBase,
    trained_model: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> RetrieverConfig:
    name: str = request.param
    settings = {"model": name} | VARIANTS[name]
    if name == "lists":
        settings |= {"path": str(write_drawn_lists(tmp_path_factory.mktemp("lists") / "drawn.jsonl", towns))}
    if name == "imported":
        settings |= {"path": str(trained_model)}
    if name.startswith("text") or name == "kg_bert":
        settings |= {"encoder": encoder_of()}
    if "embedding" in settings and settings["embedding"]["kind"] == "text":
        settings |= {"embedding": settings["embedding"] | {"encoder": encoder_of()}}
    return RETRIEVERS[settings["model"]].model_validate(settings)


@pytest.fixture(scope="module")
def folder(config: RetrieverConfig, towns: KnowledgeBase, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the retriever was fitted."""
    path = tmp_path_factory.mktemp("fitted")
    config.fit(towns, path, HERE)
    return path


@pytest.fixture(scope="module")
def retriever(config: RetrieverConfig, folder: Path, towns: KnowledgeBase) -> Retriever:
    return config.load(towns, folder, HERE)


@pytest.fixture
def queries(towns: KnowledgeBase) -> Queries:
    return towns.queries("test")


@torch.no_grad()
def scores_of(retriever: Retriever, queries: Queries, among: Ints | None = None) -> torch.Tensor:
    return retriever.score_all(queries, among)


def weights(folder: Path) -> dict[str, bytes]:
    """The arrays that a folder holds of a fitted retriever, to the byte."""
    kept = [path for path in folder.rglob("*.safetensors") if path.name != LATEST]
    return {
        f"{path.name} {name}": array.numpy().tobytes() for path in kept for name, array in read_tensors(path)[0].items()
    }


def test_every_retriever_is_covered_here() -> None:
    assert {settings.get("model", name) for name, settings in VARIANTS.items()} == set(RETRIEVERS)
    embeddings = {settings.get("embedding", {"kind": "rows"})["kind"] for settings in VARIANTS.values()}
    assert embeddings == set(EMBEDDINGS)


class TestScores:
    def test_there_is_one_for_every_entity_and_all_are_finite(
        self, retriever: Retriever, queries: Queries, towns: KnowledgeBase
    ) -> None:
        scores = scores_of(retriever, queries)
        assert retriever.n_entities == towns.n_entities
        assert scores.shape == (len(queries), towns.n_entities)
        assert scores.isfinite().all()

    def test_scoring_some_entities_gives_those_columns(self, retriever: Retriever, queries: Queries) -> None:
        among = np.array([2, 5, 29])
        expected = scores_of(retriever, queries)[:, among]
        torch.testing.assert_close(scores_of(retriever, queries, among), expected, atol=1e-5, rtol=1e-5)

    def test_candidates_are_scored_as_all_are(self, retriever: Retriever, queries: Queries) -> None:
        entities = np.random.default_rng(0).integers(retriever.n_entities, size=(len(queries), 6))
        entities[:, 0] = queries.entity
        with torch.no_grad():
            found = retriever.score_candidates(queries, entities)
        expected = scores_of(retriever, queries).gather(1, torch.from_numpy(entities))
        torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)

    def test_one_does_not_depend_on_its_batch(self, retriever: Retriever, queries: Queries) -> None:
        alone = torch.cat([scores_of(retriever, queries[i : i + 1]) for i in range(len(queries))])
        torch.testing.assert_close(scores_of(retriever, queries), alone, atol=1e-5, rtol=1e-5)


class HeldHere:
    """Holds entities in two parts, in this process."""

    def vectors(self, scorer: DotProductScorer, path: Path) -> InParts:
        slices = slices_of(scorer.n_entities, 2)
        return InParts(scorer, [EntityPart.mapped(path, "entity.weight", each) for each in slices])

    def trees(self, folder: Path) -> ExtremeText:
        return ExtremeText(tail=self.side(folder, "tail"), head=self.side(folder, "head"))

    def side(self, folder: Path, side: Side) -> SideInParts:
        path = side_file(folder, side)
        model = map_side(path)
        parts = [SidePart.mapped(path, number, 2) for number in range(len(closed_nodes(model.tree, 2)))]
        return SideInParts(model, parts)


def test_held_in_parts_it_finds_the_same(
    config: RetrieverConfig, folder: Path, retriever: Retriever, towns: KnowledgeBase, queries: Queries
) -> None:
    in_parts = config.load_in_parts(towns, folder, HERE, HeldHere())
    whole, found = (top_k(each, queries, 10, drop=towns.known("train")) for each in (retriever, in_parts))
    assert np.array_equal(whole.entities, found.entities)
    assert whole.scores.tobytes() == found.scores.tobytes()
    assert torch.equal(scores_of(retriever, queries), scores_of(in_parts, queries))


class TestFitting:
    def test_what_is_loaded_is_what_was_fitted(
        self, config: RetrieverConfig, retriever: Retriever, towns: KnowledgeBase, tmp_path: Path, queries: Queries
    ) -> None:
        fitted = config.fit(towns, tmp_path, HERE)
        assert fitted.training.done
        assert torch.equal(scores_of(fitted.retriever, queries), scores_of(config.load(towns, tmp_path, HERE), queries))
        assert torch.equal(scores_of(fitted.retriever, queries), scores_of(retriever, queries)), "the same seed"

    def test_fitted_again_it_is_the_same(
        self, config: RetrieverConfig, folder: Path, towns: KnowledgeBase, queries: Queries, retriever: Retriever
    ) -> None:
        before = weights(folder)
        assert torch.equal(scores_of(config.fit(towns, folder, HERE).retriever, queries), scores_of(retriever, queries))
        assert weights(folder) == before

    @pytest.mark.parametrize("stop", [1, 8])
    def test_interrupted_it_goes_on_to_the_same_weights(
        self,
        config: RetrieverConfig,
        folder: Path,
        towns: KnowledgeBase,
        tmp_path: Path,
        stopping: Callable[[int], Any],
        stop: int,
    ) -> None:
        with pytest.raises(KeyboardInterrupt):
            config.fit(towns, tmp_path, Context(progress=stopping(stop)))
        config.fit(towns, tmp_path, HERE)
        assert weights(tmp_path) == weights(folder)

    def test_test_facts_are_never_read(
        self, config: RetrieverConfig, folder: Path, towns: KnowledgeBase, tmp_path: Path
    ) -> None:
        poison = np.array([[i, i % 3, (7 * i + 3) % 30] for i in range(25)])
        splits: dict[Split, Ints] = {split: towns.facts(split) for split in ("train", "valid")} | {"test": poison}
        other = KnowledgeBase(towns.name, towns.entities, towns.relations, splits)
        config.fit(other, tmp_path, HERE)
        assert weights(tmp_path) == weights(folder)

    def test_the_folder_of_other_settings_or_facts_is_refused(
        self, config: RetrieverConfig, folder: Path, towns: KnowledgeBase, tmp_path: Path
    ) -> None:
        fields = {
            "rules": "min_support",
            "extreme_text": "dim",
            "text": "hidden",
            "kg_bert": "negatives",
            "paths": "width",
        }
        field = fields.get(config.model, "rank")
        if isinstance(config, ImportedConfig):
            change: dict[str, Any] = {"path": str(Path(config.path).with_name("other"))}
        elif config.model == "lists":
            change = {"path": str(write_drawn_lists(tmp_path / "others.jsonl", towns, seed=1))}
        else:
            change = {field: getattr(config, field) + 1}
        other = config.model_copy(update=change)
        splits: dict[Split, Ints] = {"train": towns.facts("train")[1:], "valid": towns.facts("valid")}
        fewer = KnowledgeBase(towns.name, towns.entities, towns.relations, splits)
        for settings, kb in ((other, towns), (config, fewer)):
            with pytest.raises(MismatchError):
                settings.fit(kb, folder, HERE)


class TestSettings:
    def test_what_is_dumped_is_read_again(self, config: RetrieverConfig) -> None:
        values = config.model_dump(mode="json")
        again = RunConfig.parse({"stage1": values}, source="here").stage1
        assert type(again) is type(config)
        assert again.model_dump(mode="json") == values
        assert again.settings_key() == config.settings_key()

    def test_how_long_is_a_setting_of_whoever_has_epochs(self, config: RetrieverConfig) -> None:
        if config.model in FROM_FILES:
            with pytest.raises(ConfigError, match="cannot learn without a fold"):
                config.on_fold(1)
            return
        fewer = config.on_fold(1)
        assert getattr(fewer, "epochs", 1) == 1
        if config.brought() is not None:
            return  # what is brought cannot be trained again: somebody else stands in for it
        assert fewer.model_dump(exclude={"epochs"}) == config.model_dump(exclude={"epochs"})


def foreign(kinds: dict[str, type[Any]]) -> list[tuple[str, str]]:
    """Every kind with every key that only others have."""
    keys = {name: set(settings.model_fields) for name, settings in kinds.items()}
    return [(name, key) for name in kinds for key in sorted(set().union(*keys.values()) - keys[name])]


class TestSettingsNobodyReads:
    """A key that the chosen one does not read is refused, whoever else reads it."""

    @pytest.mark.parametrize(("model", "key"), foreign(RETRIEVERS))
    def test_of_another_retriever(self, model: str, key: str) -> None:
        renamed = key in RETRIEVERS[model].renamed  # `text` was a group once, and is a setting of another now
        problem = " is called otherwise now" if renamed else ": no such setting."
        self.refused({"model": model, key: 1}, f"stage1.{key}", problem)

    @pytest.mark.parametrize(("kind", "key"), foreign(LOSSES))
    def test_of_another_loss(self, kind: str, key: str) -> None:
        self.refused({"loss": {"kind": kind, key: 1}}, f"stage1.loss.{key}")

    @pytest.mark.parametrize(("kind", "key"), foreign(EMBEDDINGS))
    def test_of_another_embedding(self, kind: str, key: str) -> None:
        self.refused({"embedding": {"kind": kind, key: 1}}, f"stage1.embedding.{key}")

    @pytest.mark.parametrize("model", RETRIEVERS)
    def test_of_nobody(self, model: str) -> None:
        self.refused({"model": model, "mood": 1}, "stage1.mood")

    @pytest.mark.parametrize("model", RETRIEVERS)
    def test_of_a_group_inside(self, model: str) -> None:
        fields = RETRIEVERS[model].model_fields.items()
        groups = [name for name, field in fields if isinstance(field.default, Settings)]
        for group in groups:
            self.refused({"model": model, group: {"mood": 1}}, f"stage1.{group}.mood")

    def refused(self, stage1: dict[str, Any], where: str, problem: str = ": no such setting.") -> None:
        for values in ({"stage1": stage1}, {"candidates": {"extra_retrievers": {"mine": stage1}}}):
            with pytest.raises(ConfigError) as caught:
                RunConfig.parse(values, source="here")
            place = where if "stage1" in values else where.replace("stage1", "candidates.extra_retrievers.mine", 1)
            assert f"{place}{problem}" in str(caught.value)
