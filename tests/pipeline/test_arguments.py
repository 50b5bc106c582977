"""Arguments of Python users: a wrong one is refused in a sentence, with the closest right one, before any work."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import cear
from cear.core.errors import CearError, ConfigError, DataError, UnknownName
from cear.core.types import Queries

QUESTION = {"relation": "lies in", "subject": "Town 7"}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, write_towns: Callable[..., Path]) -> cear.Run:
    folder = tmp_path_factory.mktemp("arguments")
    config = cear.RunConfig(data=str(write_towns(folder / "towns")), stage1=cear.ComplExConfig(rank=4, epochs=1))
    return cear.run(config, folder / "run")


@pytest.mark.parametrize("k", [-1, 0, 2.5, "3", None, True])
def test_the_number_of_answers_is_a_whole_one(run: cear.Run, k: Any) -> None:
    told = rf"k={k!r}: expected a whole number of at least 1"
    with pytest.raises(ConfigError, match=told):
        run.ask("lies in", subject="Town 7", k=k)
    with pytest.raises(ConfigError, match=told):
        run.ask_many(pl.DataFrame([QUESTION]), k=k)
    with pytest.raises(ConfigError, match=told):
        run.rank(run.kb.queries("test"), k=k)


def test_a_number_of_numpy_is_one(run: cear.Run) -> None:
    assert len(run.ask("lies in", subject="Town 7", k=np.int64(2), new=True)) == 2


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"split": "tset"}, r"split='tset': there is no such choice\. Did you mean 'test'\? Known: train, valid, test"),
        ({"split": "VALID"}, r"Did you mean 'valid'\?"),
        ({"split": 1}, r"split=1: there is no such choice\. Known: train, valid, test"),
        ({"ties": "x"}, r"ties='x': there is no such choice\. Known: expected, optimistic, pessimistic"),
        ({"ties": "optimist"}, r"Did you mean 'optimistic'\?"),
        ({"protocol": "caer"}, r"protocol='caer'.*Did you mean 'care'\? Known: ours, care"),
        ({"facts": 0}, r"facts=0: expected a whole number of at least 1"),
    ],
)
def test_an_evaluation_that_there_is_not(run: cear.Run, wrong: dict[str, Any], told: str) -> None:
    with pytest.raises(CearError, match=told):
        run.evaluate(**wrong)


@pytest.mark.parametrize(
    ("without", "error", "told"),
    [
        (("train", "tset"), UnknownName, r"without='tset'.*Did you mean 'test'\?"),
        ("valid", ConfigError, r"expected a sequence of splits\. Write without=\('valid',\)"),
    ],
)
def test_what_is_left_out_is_splits(run: cear.Run, without: Any, error: type[CearError], told: str) -> None:
    with pytest.raises(error, match=told):
        run.rank(run.kb.queries("test"), without=without)


@pytest.mark.parametrize(
    ("entity", "relation", "told"),
    [
        (-1, 0, r"queries\.entity holds -1: expected numbers from 0 to 29"),
        (30, 0, r"queries\.entity holds 30"),
        (0, 6, r"queries\.relation holds 6: expected numbers from 0 to 5"),
    ],
)
def test_queries_are_of_what_there_is(run: cear.Run, entity: int, relation: int, told: str) -> None:
    with pytest.raises(DataError, match=told):
        run.rank(Queries(np.array([0, entity]), np.array([0, relation])))


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"config": "own.yaml"}, r"config='own\.yaml': expected a cear\.RunConfig.*cear\.load_config"),
        ({"minutes": -1}, r"minutes=-1: expected a number of at least 0"),
        ({"minutes": float("nan")}, r"minutes=nan"),
        ({"ranking_minutes": "10"}, r"ranking_minutes='10'"),
    ],
)
def test_a_run_of_nothing_leaves_nothing(tmp_path: Path, wrong: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        cear.run(**{"config": cear.RunConfig(), "out": tmp_path / "run", **wrong})
    assert not (tmp_path / "run").exists()


def test_a_seed_that_no_generator_takes_is_refused_when_it_is_written() -> None:
    with pytest.raises(ValueError, match=rf"seed\D+less than {2**63}"):
        cear.RunConfig(seed=10**20)
