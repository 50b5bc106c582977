"""Trees read from their text say what LightGBM says, to the last bit."""

from __future__ import annotations

import subprocess
import sys

import lightgbm
import numpy as np
import pytest

from cear.completion.boosting import Boosted, HiddenTruth
from cear.completion.trees import Trees


def grown(seed: int, **params: object) -> lightgbm.Booster:
    draw = np.random.default_rng(seed)
    x = draw.normal(size=(400, 5))
    x[draw.random(x.shape) < 0.15] = np.nan
    x[draw.random(x.shape) < 0.15] = 0.0
    y = np.nan_to_num(x[:, 0]) * np.isnan(x[:, 1]) + x[:, 2:4].sum(axis=1, where=~np.isnan(x[:, 2:4]))
    settings = {"verbosity": -1, "num_leaves": 9, "min_data_in_leaf": 3, "num_threads": 1, **params}
    return lightgbm.train(settings, lightgbm.Dataset(x, y, params={"verbosity": -1}), num_boost_round=20)


def rows(seed: int, n: int = 300) -> np.ndarray:
    draw = np.random.default_rng(seed)
    x = draw.normal(size=(n, 5)).astype(np.float32)
    x[draw.random(x.shape) < 0.2] = np.nan
    x[draw.random(x.shape) < 0.2] = 0.0
    return x


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("params", [{}, {"zero_as_missing": True}, {"use_missing": False}, {"num_leaves": 2}])
def test_they_say_the_same(seed: int, params: dict[str, object]) -> None:
    booster, x = grown(seed, **params), rows(seed + 100)
    assert np.array_equal(Trees.of(booster.model_to_string()).raw(x), booster.predict(x, raw_score=True, num_threads=1))


def test_a_tree_that_is_one_leaf_says_its_value() -> None:
    booster = grown(0, min_data_in_leaf=400)  # no split leaves 400 rows on a side
    text = booster.model_to_string()
    assert "num_leaves=1\n" in text
    assert np.array_equal(Trees.of(text).raw(rows(0)), booster.predict(rows(0), raw_score=True))


def test_a_row_is_judged_the_same_alone_and_among_many() -> None:
    draw = np.random.default_rng(3)
    x, ones = draw.normal(size=(1500, 3)).astype(np.float32), np.ones(1500)
    truth = HiddenTruth((x[:, 0] > 0).astype(np.float64), ones, 0 * ones, ones)
    groups = np.arange(1500)
    fitted = Boosted().fit(x, truth, groups, seed=0)
    many = fitted.raw(np.repeat(x, 8, axis=0), np.repeat(groups, 8))[::8]  # over a thousand rows for each model
    assert np.array_equal(many[:20], [fitted.raw(x[[i]], groups[[i]])[0] for i in range(20)])


def test_asking_for_a_few_rows_does_not_import_lightgbm() -> None:
    text = grown(0).model_to_string()
    code = (
        "import sys, numpy as np; from cear.completion.boosting import Fitted; text = sys.stdin.read()\n"
        "Fitted(((text,) * 5,), 0.0, 0).raw(np.zeros((3, 5), np.float32), np.arange(3))\n"
        "print(*{'lightgbm', 'sklearn', 'scipy.optimize'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], input=text, capture_output=True, text=True, timeout=120)
    assert (done.stdout.strip(), done.stderr) == ("", "")
