"""ComplEx-LSTM: a vector is what an LSTM reads in a name, read once where nothing is learned, and made for any name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from cear.candidates import fold_by_pair, hold_out
from cear.config import RunConfig
from cear.core.context import HERE, Context
from cear.core.tensors import read_tensors
from cear.core.types import SPLITS, Ints, Queries
from cear.data import KnowledgeBase, Vocabulary
from cear.evaluation import evaluate
from cear.pipeline import open_run, run
from cear.retrieval import ComplEx, ComplExConfig, Scorer, top_k
from cear.retrieval.complex import conjugate
from cear.retrieval.embeddings.lstm import NameEncoder
from cear.retrieval.embeddings.names import Names, Words

SETTINGS: dict[str, Any] = {
    "rank": 6,
    "embedding": {"kind": "lstm", "scale": 0.3},
    "loss": {"negatives": 12},
    "regularizer": {"weight": 0},
    "optimizer": {"kind": "adam", "learning_rate": 0.02},
    "batch": 20,
    "epochs": 2,
}
CONFIG = ComplExConfig.model_validate(SETTINGS)


@pytest.fixture
def scorer(towns: KnowledgeBase) -> ComplEx:
    return built(towns, seed=1)


def built(kb: KnowledgeBase, *, seed: int = 0) -> ComplEx:
    scorer = CONFIG.build(kb, HERE.with_seed(seed))
    assert isinstance(scorer, ComplEx)
    return scorer


class TestReading:
    @staticmethod
    def read(encoder: NameEncoder, words: Words, name: int) -> torch.Tensor:
        """The last state over one name alone, without padding."""
        read = words.tokens[name, : words.lengths[name]]
        _, (last, _) = encoder.lstm(encoder.word(read * words.known[read]).unsqueeze(0))
        return torch.as_tensor(last[-1, 0])

    def test_the_vector_of_a_name_is_the_last_state_over_its_own_words(
        self, scorer: ComplEx, towns: KnowledgeBase
    ) -> None:
        entity, relation = scorer.get_submodule("entity"), scorer.get_submodule("relation")
        assert isinstance(entity, NameEncoder)
        assert isinstance(relation, NameEncoder)
        names = Names.of(towns, tokens=10, min_count=2)
        assert len(set(names.relations.lengths.tolist())) > 1, "or padding is not tested"
        for name, vector in enumerate(entity(None)):
            torch.testing.assert_close(vector, self.read(entity, names.entities, name))
        for name, vector in enumerate(relation(None)):
            read = self.read(relation, names.relations, name)
            torch.testing.assert_close(vector, conjugate(read) if name >= 3 else read)

    def test_a_block_reads_as_all_do(self, scorer: ComplEx, monkeypatch: pytest.MonkeyPatch) -> None:
        every = scorer.entity_vectors()
        monkeypatch.setattr("cear.retrieval.embeddings.lstm._BLOCK", 7)
        torch.testing.assert_close(scorer.entity_vectors(), every)
        torch.testing.assert_close(scorer.entity_vectors(np.array([9, 2, 9])), every[[9, 2, 9]])

    def test_names_that_no_training_fact_has_are_read_by_their_words(self, towns: KnowledgeBase) -> None:
        names = [*(towns.entities.name(i) for i in range(30)), "Town A", "town 7", "Nowhere", "Elsewhere"]
        entities = Vocabulary.from_ids("entity", [str(i) for i in range(34)], names=names)
        larger = KnowledgeBase("more", entities, towns.relations, {split: towns.facts(split) for split in SPLITS})
        vectors = built(larger).entity_vectors()
        assert torch.equal(vectors[31], vectors[7]), "the same words"
        assert torch.equal(vectors[32], vectors[33]), "two unknown words"
        distinct = vectors[[*range(31), 32]].unique(dim=0)
        assert len(distinct) == 32


class TestReadingOnce:
    @pytest.fixture
    def reads(self, monkeypatch: pytest.MonkeyPatch) -> list[int]:
        """How many names each pass of an LSTM had."""
        counts: list[int] = []
        last_states = NameEncoder._last_states

        def counted(self: NameEncoder, names: Ints) -> torch.Tensor:
            counts.append(len(names))
            return last_states(self, names)

        monkeypatch.setattr(NameEncoder, "_last_states", counted)
        return counts

    def test_an_evaluation_and_lists_read_every_entity_once(
        self, scorer: ComplEx, towns: KnowledgeBase, reads: list[int]
    ) -> None:
        evaluate(scorer, towns, "test", block=5)
        top_k(scorer, towns.queries("test"), 5)
        assert [count for count in reads if count > 6] == [30], "and of relations, six with their reciprocals"

    def test_what_is_kept_is_what_is_read(self, scorer: ComplEx, towns: KnowledgeBase) -> None:
        queries = towns.queries("test")
        with_gradients = scorer.score_all(queries).detach()
        with torch.no_grad():
            torch.testing.assert_close(scorer.score_all(queries), with_gradients)
            torch.testing.assert_close(scorer.score_all(queries, np.array([3, 1])), with_gradients[:, [3, 1]])

    def test_training_and_loading_forget_it(self, scorer: ComplEx, towns: KnowledgeBase) -> None:
        queries = towns.queries("test")
        with torch.no_grad():
            before = scorer.score_all(queries)
            scorer.train()
            for weight in scorer.parameters():
                weight += 0.1
            scorer.eval()
            after = scorer.score_all(queries)
            assert not torch.allclose(after, before)
            scorer.load_state_dict(built(towns, seed=1).state_dict())
            assert torch.equal(scorer.score_all(queries), before)

    def test_in_training_dropout_is_on_and_nothing_is_kept(self, scorer: ComplEx, towns: KnowledgeBase) -> None:
        queries = towns.queries("test")
        scorer.train()
        with torch.no_grad():
            assert not torch.equal(scorer.score_all(queries), scorer.score_all(queries))


class TestTraining:
    def test_weights_of_a_fold_read_names_as_they_did_there(self, towns: KnowledgeBase, tmp_path: Path) -> None:
        rest, _ = hold_out(towns, fold_by_pair(towns.facts("train"), 2, seed=0), 0)
        trained = CONFIG.fit(rest, tmp_path, HERE).retriever
        loaded, fresh, queries = CONFIG.load(towns, tmp_path, HERE), built(towns), towns.queries("test")
        assert isinstance(trained, Scorer)
        assert not torch.equal(fresh.get_buffer("entity.known"), trained.get_buffer("entity.known"))
        with torch.no_grad():
            assert torch.equal(loaded.score_all(queries), trained.score_all(queries))

    def test_a_file_holds_weights_and_no_names(self, towns: KnowledgeBase, tmp_path: Path) -> None:
        CONFIG.fit(towns, tmp_path, HERE)
        weights, _ = read_tensors(tmp_path / "best.safetensors")
        assert {name.split(".")[1] for name in weights} == {"word", "lstm", "known"}

    def test_a_run_opens_to_the_same_ranking_and_can_be_asked(
        self, write_towns: Callable[..., Path], tmp_path: Path
    ) -> None:
        data = write_towns(tmp_path / "towns")
        finished = run(RunConfig(data=str(data), stage1=CONFIG), tmp_path / "run")
        again = open_run(tmp_path / "run")
        assert again.evaluate("test").summary() == finished.evaluate("test").summary()
        assert finished.training.best == finished.evaluate("valid").summary()["both"]["mrr"]
        assert len(again.ask("lies in", subject="Town 1", k=30)) == 30
        assert finished.record(finished.evaluate("test")).as_json()["details"]["rank"] == 6


def test_lazy_adam_moves_only_the_words_that_were_read(towns: KnowledgeBase, tmp_path: Path) -> None:
    lazy = ComplExConfig.model_validate(SETTINGS | {"optimizer": {"kind": "lazy_adam", "learning_rate": 0.02}})
    history = lazy.fit(towns, tmp_path, Context()).training.history
    assert np.isfinite(history[-1]["loss"])


def test_one_query_is_scored_like_many(scorer: ComplEx, towns: KnowledgeBase) -> None:
    queries: Queries = towns.queries("train")
    torch.testing.assert_close(scorer.score_all(queries[:1]), scorer.score_all(queries)[:1])
