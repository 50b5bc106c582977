"""What a provenance holds."""

import json
import platform
import re
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
import torch

import cear
from cear.core.errors import MismatchError
from cear.reports import Provenance


def test_it_names_versions_machine_and_moment(provenance):
    assert provenance.versions == {
        "cear": cear.__version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
        "polars": provenance.versions["polars"],
    }
    assert provenance.threads == torch.get_num_threads()
    assert re.match(r"\d+ x \S", provenance.cpu)
    moment = datetime.fromisoformat(provenance.date)
    assert moment.utcoffset() == timedelta(0)
    assert abs(datetime.now(UTC) - moment) < timedelta(minutes=5)


def test_it_is_json(provenance):
    assert json.loads(json.dumps(provenance.as_json()))["config"] == {"model": "complex", "rank": 8}


def test_it_holds_no_path_of_this_machine(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.argv", [f"{tmp_path}/bin/cear", "run", f"{tmp_path}/x.yaml"])
    made = Provenance.collect(config={"data": str(tmp_path / "kb")}, data=str(tmp_path / "kb"), digest="", seconds=0.0)
    assert str(tmp_path) not in json.dumps(made.as_json())
    assert made.command == "cear run x.yaml"


STEPS = [
    {"name": "stage1", "key": "a1", "seconds": 100.25, "reused": True},
    {"name": "evaluation", "key": "b2", "seconds": 2.5, "reused": False},
]


def test_its_seconds_are_those_of_the_whole_chain_of_steps():
    made = Provenance.collect(config={}, data="toy", digest="abc", steps=STEPS)
    assert made.seconds == 102.75
    assert json.loads(json.dumps(made.as_json()))["steps"] == STEPS
    assert Provenance.collect(config={}, data="toy", digest="abc", steps=STEPS, seconds=102.75).seconds == 102.75


def test_seconds_that_are_not_the_sum_of_the_steps_are_refused():
    with pytest.raises(MismatchError, match=r"says 2\.5 seconds, but its 2 steps took 102\.75"):
        Provenance.collect(config={}, data="toy", digest="abc", steps=STEPS, seconds=2.5)


def test_one_of_seconds_and_steps_must_be_known():
    with pytest.raises(MismatchError, match="needs the seconds"):
        Provenance.collect(config={}, data="toy", digest="abc")


def test_without_steps_there_are_none(provenance):
    assert (list(provenance.steps), provenance.seconds) == ([], 12.5)
