"""The public names: adding, renaming or removing one is a decision, made here and told in the changelog."""

from __future__ import annotations

import inspect
from importlib import import_module

import pytest

import cear

PUBLIC: dict[str, str] = {
    "cear": "Answer KnowledgeBase Run RunConfig SequenceConfig Stage1Config WideConfig load load_config open_run run",
    "cear.candidates": (
        "CandidatesConfig CrossfitConfig Fold Lists Manifest Retrievers crossfit_folds distinct_lists "
        "fold_by_pair hold_out joined labels load_retrievers make_lists read_lists sample_queries scores_of "
        "train_retrievers write_lists"
    ),
    "cear.cli": "app console main",
    "cear.data": (
        "CARDINALITIES Cardinality Finding Findings KnowledgeBase KnownAnswers Mentions ReadReport Reading "
        "Severity TextRule Variant Vocabulary cache_root cardinalities check check_source load read"
    ),
    "cear.evaluation": (
        "Difference Evaluation Hits Intervals LeakReport MRR Measure STANDARD ScoresEntities Summary about compare "
        "confusion evaluate find_equal_score_leak from_frame measure rank rank_all rank_in_lists "
        "rank_under_filters read_ranks refuse_leaks reranked sample_facts to_frame write_ranks"
    ),
    "cear.reports": (
        "Check Comparison Group Loaded Provenance Record Spread check_records checks_table compare_groups "
        "comparison_table evaluation_table open_ranks read_record read_records reranking_table results_table "
        "seeds_table spread write_record"
    ),
    "cear.reranking": (
        "Fusion Int8Reranker Reranker RerankerConfig STAGE2_ALONE SequenceConfig SequenceReranker Trainable WideConfig "
        "WideReranker choose_fusion train_stage2"
    ),
    "cear.retrieval": (
        "Atom ComplEx ComplExLSTM DistMult DotProductScorer ExtremeText ExtremeTextConfig FiredRule MODELS "
        "Retriever RotatE RuleBook RuleRetriever RulesConfig Scorer SearchesItself SideTraining Stage1Config "
        "TEXT_MODELS TextConfig TextScorer TransE build_scorer learn_rules load_rules load_stage1 "
        "save_rules scorer_for top_k train_extreme_text train_stage1"
    ),
    "cear.texts": (
        "EMBEDDED Init KeptVectors SpecialTokens TunedVectors embedded_folder encode learn_last load_encoder "
        "numbered pack_by_tokens padding pooled positions shuffled_batches special_tokens text_vectors texts words_of"
    ),
}


@pytest.mark.parametrize("module", PUBLIC)
def test_the_public_names_are_these(module: str) -> None:
    assert sorted(import_module(module).__all__) == sorted(PUBLIC[module].split())


@pytest.mark.parametrize("module", PUBLIC)
def test_every_public_name_is_there_and_documented(module: str) -> None:
    room = import_module(module)
    for name in room.__all__:
        value = getattr(room, name)
        if inspect.isclass(value) or inspect.isfunction(value):
            assert value.__doc__, f"{module}.{name} has no docstring"


def test_the_front_door_hands_out_what_the_rooms_have() -> None:
    assert cear.KnowledgeBase is import_module("cear.data").KnowledgeBase
    assert cear.run is import_module("cear.pipeline").run
    assert set(cear.__all__) <= set(dir(cear))


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"module 'cear' has no attribute 'nothing'"):
        cear.nothing  # noqa: B018 - asking for it is the test


@pytest.mark.parametrize("room", [module for module in PUBLIC if module not in ("cear", "cear.cli")])
def test_rooms_are_reached_after_import_cear_alone(room: str) -> None:
    # Asked for directly: once anybody has imported a room, it is an attribute like any other.
    assert cear.__getattr__(room.removeprefix("cear.")) is import_module(room)
