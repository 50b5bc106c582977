"""Known answers as context: marked, read by the other candidates, and left out of the loss."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from cear.candidates import Lists, Manifest, fold_by_pair, hold_out, labels
from cear.config import RunConfig
from cear.core.context import Context
from cear.core.errors import ConfigError, DataError
from cear.core.types import Candidates, Queries
from cear.data import KnowledgeBase
from cear.pipeline import open_run, run
from cear.reranking import RERANKERS, Examples, SequenceReranker, Stage2Task, WideConfig

KINDS = ("sequence", "wide")
MakeReranker = Callable[..., SequenceReranker]


@pytest.fixture
def seen(towns: KnowledgeBase) -> KnowledgeBase:
    """The towns without a fold of their training facts."""
    return hold_out(towns, fold_by_pair(towns.facts("train"), 2, seed=0), 0)[0]


@pytest.fixture
def one(towns: KnowledgeBase) -> Lists:
    """⟨?, lies in, country 27⟩: the towns 2, 7, 17 and 22 do, 1 and 5 do not."""
    found = Candidates(np.array([[2, 7, 1, 22, 17, 5]]), -np.arange(6.0)[None])
    manifest = Manifest("towns", towns.digest, "train", 6, "keep", "mine")
    return Lists(Queries(np.array([27]), np.array([0 + 3])), found, manifest)


@pytest.fixture
def half_seen(towns: KnowledgeBase) -> KnowledgeBase:
    """The towns without the facts that 7 and 17 lie there."""
    facts = towns.facts("train")
    return towns.with_facts({"train": facts[~((facts[:, 2] == 27) & np.isin(facts[:, 0], [7, 17]))]})


def flags(kind: str, lists: Lists, seen: KnowledgeBase) -> Any:
    config = RERANKERS[kind](flag_known=True)
    return config.only_read(config.features_of(lists, seen))


@pytest.mark.parametrize("kind", KINDS)
class TestMarks:
    def test_are_on_the_answers_that_the_retrievers_have_seen(
        self, lists: Lists, towns: KnowledgeBase, seen: KnowledgeBase, kind: str
    ) -> None:
        """Never on those of the fold, which are to be found."""
        marked, right = flags(kind, lists, seen), labels(lists, towns.known("train"))
        np.testing.assert_array_equal(marked, labels(lists, seen.known("train")))
        assert 0 < marked.sum() < right.sum()
        assert not (marked & ~right).any()

    def test_are_one_more_feature_which_is_not_there_without_the_setting(
        self, lists: Lists, seen: KnowledgeBase, kind: str
    ) -> None:
        plain, marked = (RERANKERS[kind](flag_known=flag).features_of(lists, seen) for flag in (False, True))
        np.testing.assert_array_equal(marked[..., :-1], plain)
        assert not RERANKERS[kind]().only_read(plain).any()

    @pytest.mark.parametrize(
        ("candidates", "reason"),
        [
            ({"known": "drop"}, r"candidates\.known: drop leaves none; set known: keep"),
            ({"known": "keep", "crossfit": None}, r"without folds these are all; set candidates\.crossfit"),
        ],
        ids=["dropped", "all of them known"],
    )
    def test_are_refused_where_they_say_nothing(self, kind: str, candidates: Any, reason: str) -> None:
        values = {"candidates": candidates, "reranker": {"kind": kind, "flag_known": True}}
        with pytest.raises(ConfigError, match=reason):
            RunConfig.parse(values, source="here")
        values["candidates"] = {"known": "keep"}
        assert RunConfig.parse(values, source="here").reranker is not None


class TestInTheLoss:
    def test_a_known_answer_is_neither_right_nor_wrong(
        self, one: Lists, towns: KnowledgeBase, half_seen: KnowledgeBase
    ) -> None:
        marked = flags("wide", one, half_seen)
        examples = Examples.of(one, np.zeros((1, 6, 1)), towns, marked)
        assert marked[0].tolist() == [True, False, False, True, False, False]
        assert examples.positive[0].tolist() == [False, True, False, False, True, False]
        assert examples.judged[0].tolist() == [False, True, True, False, True, True]

    def test_a_list_with_known_answers_alone_is_left_out(
        self, lists: Lists, towns: KnowledgeBase, seen: KnowledgeBase
    ) -> None:
        marked, right = flags("wide", lists, seen), labels(lists, towns.known("train"))
        useful = (right & ~marked).any(axis=1)
        examples = Examples.of(lists, np.zeros((len(lists), 6, 1)), towns, marked)
        np.testing.assert_array_equal(examples.lists.queries.entity, lists.queries.entity[useful])
        assert 0 < useful.sum() < right.any(axis=1).sum()

    def test_without_marks_it_is_as_right_as_one_to_be_found(self, lists: Lists, towns: KnowledgeBase) -> None:
        examples = Examples.of(lists, np.zeros((len(lists), 6, 1)), towns)
        np.testing.assert_array_equal(examples.positive, labels(examples.lists, towns.known("train")))
        assert examples.judged.all()

    @pytest.mark.parametrize("loss", ["bce", "softmax"])
    def test_it_is_read_and_has_no_gradient_of_its_own(
        self, reranker_of: MakeReranker, one: Lists, towns: KnowledgeBase, half_seen: KnowledgeBase, loss: str
    ) -> None:
        remembering: Any = Remembering(reranker_of(flag_known=True, loss=loss, dropout=0.0))
        features = remembering.config.features_of(one, half_seen)
        examples = Examples.of(one, features, towns, remembering.config.only_read(features))
        Stage2Task(remembering, examples, lambda _: 0.0, Context()).loss_of(np.array([0])).backward()
        assert (remembering.scores.grad[0] != 0).tolist() == [False, True, True, False, True, True]

    def test_with_nothing_but_known_answers_there_is_nothing_to_learn(self, lists: Lists, towns: KnowledgeBase) -> None:
        with pytest.raises(DataError, match="there is nothing to learn"):
            Examples.of(lists, np.zeros((len(lists), 6, 1)), towns, flags("wide", lists, towns))


class Remembering:
    """A re-ranker that remembers the scores that it gave, and what their gradient is."""

    def __init__(self, reranker: SequenceReranker) -> None:
        self._reranker = reranker

    def __getattr__(self, name: str) -> Any:
        return getattr(self._reranker, name)

    def score(self, lists: Lists, features: Any) -> torch.Tensor:
        self.scores = self._reranker.score(lists, features)
        self.scores.retain_grad()
        return self.scores


class TestTheSequence:
    @pytest.mark.parametrize(("attention", "others_change"), [("cross", True), ("independent", False)])
    def test_shows_marks_to_the_other_candidates(
        self, reranker_of: MakeReranker, one: Lists, half_seen: KnowledgeBase, attention: str, others_change: bool
    ) -> None:
        reranker = reranker_of(flag_known=True, attention=attention)
        marked = reranker.config.features_of(one, half_seen)
        unmarked = np.concatenate([marked[..., :-1], np.zeros((1, 6, 1), np.float32)], axis=-1)
        with torch.inference_mode():
            scores = [reranker.score(one, features)[0].numpy() for features in (marked, unmarked)]
        change = np.abs(scores[0] - scores[1])
        assert (change[[0, 3]] > 1e-3).all()
        assert (change[[1, 2, 4, 5]].max() > 1e-3) == others_change

    def test_at_use_marks_what_all_training_facts_say(self, reranker_of: MakeReranker, one: Lists) -> None:
        assert reranker_of(flag_known=True).features(one)[0, :, -1].tolist() == [1, 1, 0, 1, 1, 0]

    def test_without_a_known_answer_is_what_it_is_without_the_setting(
        self, reranker_of: MakeReranker, one: Lists
    ) -> None:
        """Token type 0 is what an encoder reads where nothing is said."""
        another = Lists(Queries(np.array([0]), np.array([0])), one.candidates, one.manifest)
        plain, flagged = reranker_of(), reranker_of(flag_known=True)
        assert not flagged.features(another)[..., -1].any()
        np.testing.assert_array_equal(flagged.rerank(another), plain.rerank(another))

    @pytest.mark.parametrize("family", ["mpnet", "modernbert"])
    def test_is_refused_with_an_encoder_of_one_token_type(self, reranker_of: MakeReranker, family: str) -> None:
        with pytest.raises(ConfigError, match=r"second token type, and \w+ has [01]\. Take .* encoder: embedded"):
            reranker_of(family, flag_known=True)


@pytest.mark.usefixtures("own_cache")
@pytest.mark.parametrize("kind", KINDS)
def test_a_run_with_marks_learns_and_opens_to_the_same_run(
    tmp_path: Path, write_towns: Any, encoder_of: Callable[..., str], kind: str
) -> None:
    small = {"sequence": {"hidden": 8, "text": "name"}, "wide": {"width": 8, "heads": 2}}[kind]
    reranker = {"kind": kind, "encoder": encoder_of(), "flag_known": True, "epochs": 1, "validate_facts": 5} | small
    values = {"data": str(write_towns(tmp_path / "towns")), "stage1": {"rank": 8, "batch": 60, "epochs": 2}}
    values |= {"candidates": {"k": 6, "known": "keep", "crossfit": {"folds": 3}}, "reranker": reranker}
    made = run(RunConfig.model_validate(values), tmp_path / "run")
    queries = made.kb.queries("test")
    np.testing.assert_array_equal(open_run(tmp_path / "run").rank(queries).scores, made.rank(queries).scores)


def test_the_mark_is_a_group_of_inputs_of_the_wide_one(towns: KnowledgeBase, lists: Lists) -> None:
    from cear.reranking.wide.features import feature_groups

    config = WideConfig(flag_known=True, text=False)
    columns = feature_groups(config, [])
    assert [*columns][-1] == "known answers"
    assert config.features_of(lists, towns)[..., columns["known answers"]].any()
