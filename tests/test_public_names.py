"""The public names: adding, renaming or removing one is a decision, made here and told in the changelog."""

from __future__ import annotations

import inspect
from importlib import import_module

import pytest

import cear

ROOMS = (
    "candidates",
    "cli",
    "cluster",
    "completion",
    "data",
    "evaluation",
    "explaining",
    "pipeline",
    "ranking",
    "reports",
    "reranking",
    "retrieval",
    "steps",
    "texts",
    "training",
    "tuning",
)


def test_what_users_import_from_cear_is_this() -> None:
    names = "Answer CearError ComplExConfig KnowledgeBase Run RunConfig SequenceConfig WideConfig"
    assert sorted(cear.__all__) == sorted([*names.split(), "load", "load_config", "open_run", "run"])


@pytest.mark.parametrize("module", ["cear", *(f"cear.{room}" for room in ROOMS)])
def test_every_public_name_is_there_and_documented(module: str) -> None:
    room = import_module(module)
    assert room.__all__
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


@pytest.mark.parametrize("room", [f"cear.{room}" for room in ROOMS if room != "cli"])
def test_rooms_are_reached_after_import_cear_alone(room: str) -> None:
    # Asked for directly: once anybody has imported a room, it is an attribute like any other.
    assert cear.__getattr__(room.removeprefix("cear.")) is import_module(room)
