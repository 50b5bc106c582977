"""The benchmarks of completion on the towns: what they count, and that each leaves a record."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from cear.config import RunConfig
from cear.core.types import SPLITS, Queries
from cear.data import Judged, KnowledgeBase, load
from cear.pipeline import Run, open_run, run

TINY: dict[str, Any] = {
    "threads": 1,
    "stage1": {"rank": 4, "batch": 60, "epochs": 2, "validate_every": 2},
    "candidates": {"k": 6, "crossfit": {"folds": 2, "held_out_folds": 1}, "extra_retrievers": {}},
    "reranker": {"kind": "wide", "text": False, "width": 8, "heads": 2, "epochs": 1, "validate_facts": 10},
    "calibration": {"questions": 100, "proposals": 4, "folds": 0},
}
SETTINGS = [f"{key}={json.dumps(value)}" for key, value in TINY.items() if key != "threads"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, write_towns: Callable[..., Path]) -> Run:
    """A run on the towns, some of whose false facts were judged."""
    folder = tmp_path_factory.mktemp("completed")
    data = write_towns(folder / "towns")
    (data / "judged").mkdir()
    for split, first in (("valid", 0), ("test", 12)):
        lines = [f"t{i}\tlies_in\tc{(i + 2) % 5}\n" for i in range(first, first + 12)]
        (data / "judged" / f"{split}_false.txt").write_text("".join(lines))
    run(RunConfig.model_validate(TINY | {"data": str(data)}), folder / "run")
    return open_run(folder / "run")


def read(path: Path) -> Any:
    return json.loads(path.read_text())


class TestShared:
    def test_stage1_says_scores_and_their_softmax_of_both_questions(self, script: Any, towns: KnowledgeBase) -> None:
        class Fixed:
            """Entity 1 is twice as likely as all others, whatever is asked; scores grow with the relation asked."""

            n_entities = towns.n_entities

            def score_all(self, queries: Queries) -> Tensor:
                scores = torch.zeros(len(queries), self.n_entities)
                scores[:, 1] = np.log(2)
                return scores + torch.from_numpy(queries.relation).float()[:, None]

        stage1_says = script("audit").stage1_says
        raw, soft = stage1_says(Fixed(), np.array([[0, 2, 1], [3, 0, 4], [0, 2, 5]]), towns)
        np.testing.assert_allclose(raw, [[2 + np.log(2), 5], [0, 3], [2, 5]], rtol=1e-6)
        np.testing.assert_allclose(np.exp(soft), [[2 / 31, 1 / 31], [1 / 31, 1 / 31], [1 / 31, 1 / 31]], rtol=1e-5)

    def test_a_record_keeps_what_it_holds_of_other_data(
        self, script: Any, towns: KnowledgeBase, tmp_path: Path
    ) -> None:
        keep, path = script("audit").keep, tmp_path / "record.json"
        other = KnowledgeBase("villages", towns.entities, towns.relations, {s: towns.facts(s) for s in SPLITS})
        for kb, value in ((towns, 1), (other, 2), (towns, 3)):
            keep(path, "numbers", kb, {"value": value}, config={}, seconds=1.0)
        assert {name: entry["value"] for name, entry in read(path)["data"].items()} == {"towns": 3, "villages": 2}


class TestCompletion:
    @pytest.mark.filterwarnings("ignore")  # PyKEEN's own
    def test_its_record_counts_what_the_run_and_pykeen_find(self, script: Any, finished: Run, tmp_path: Path) -> None:
        module, out = script("completion"), tmp_path / "record.json"
        module.main([str(finished.folder), "--pykeen", "--questions", "20", "--json", str(out)])
        entry = read(out)["data"]["towns"]
        found = finished.evaluate_completion()
        tops = entry["all"]["sorted_by"]["probability"]["tops"]
        assert [top["n"] for top in tops] == [100, 300, 1000, 10_000]
        assert [top["right"] for top in tops] == [found.proposed.right_at(n) for n in (100, 300, 1000, 10_000)]
        assert entry["cost"]["sample"]["questions"] == 20
        assert entry["cost"]["questions"] == 100
        assert entry["cost"]["peak_bytes"] > 0
        pykeen = entry["all"]["sorted_by"]["PyKEEN's predict_all"]
        assert [top["right"] for top in pykeen["tops"]] == self.right_of_all_triples(finished)

    @staticmethod
    def right_of_all_triples(finished: Run) -> list[int]:
        """Test facts among the first of all triples that train and valid lack, by Stage 1's score of ⟨s, r, ?⟩."""
        kb = finished.kb
        s, r = (each.reshape(-1) for each in np.indices((kb.n_entities, kb.n_relations)))
        with torch.no_grad():
            scores = finished.scorer.score_all(Queries(s, r)).numpy()
        known = {tuple(fact) for split in ("train", "valid") for fact in kb.facts(split).tolist()}
        hidden = {tuple(fact) for fact in kb.facts("test").tolist()}
        q, o = np.unravel_index(np.argsort(-scores, axis=None), scores.shape)
        triples = zip(s[q].tolist(), r[q].tolist(), o.tolist(), strict=True)
        right = np.cumsum([triple in hidden for triple in triples if triple not in known])
        return [int(right[min(n, len(right)) - 1]) for n in (100, 300, 1000, 10_000)]


class TestJudging:
    def test_a_relation_with_enough_judged_facts_has_its_own_threshold(
        self, script: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        module = script("judging")
        monkeypatch.setattr(module, "LEAST", 2)
        facts = np.array([[0, 0, 1], [0, 0, 2], [0, 1, 1], [0, 1, 2], [0, 2, 1]])
        judged = Judged(facts, np.array([True, False, True, False, True]))
        scores = np.array([9.0, 7.0, 3.0, 1.0, 5.0])
        thresholds = module.by_relation(scores, judged.truth, facts[:, 1], 4.0, 4)
        assert thresholds.tolist() == [8.0, 2.0, 4.0, 4.0]
        found = module.figures(judged, judged, (scores, scores), 4)
        assert found["accuracy"] == 0.8  # with 2, which calls the fact of score 7 true
        assert found["by_relation"] == {"accuracy": 1.0, "f1": 1.0}

    def test_its_record_has_every_score_and_says_where_true_facts_come_from(
        self, script: Any, finished: Run, tmp_path: Path
    ) -> None:
        out = tmp_path / "record.json"
        script("judging").main([str(finished.folder), "--json", str(out)])
        entry = read(out)["data"]["towns"]
        true = len(finished.kb.facts("test"))
        assert entry["judged"]["test"] == {
            "facts": true + 12,
            "true": true,
            "skipped": 0,
            "true_in_split": {"train": 0, "valid": 0, "test": true},
        }
        assert {"probability", "learned", "Stage 1's score", "the final score"} <= entry["judged_by"].keys()
        assert all(0 <= each["auc"] <= 1 for each in entry["judged_by"].values())
        false = [(f"t{i}", "lies_in", f"c{(i + 2) % 5}") for i in range(12, 24)]
        expected = finished.judge([*words(finished.kb, "test"), *false])["probability"].sum()
        assert entry["calibration"]["probability"]["expected"] == pytest.approx(expected)


class TestPromises:
    def test_facts_are_split_anew_in_the_same_sizes(self, script: Any, towns: KnowledgeBase, tmp_path: Path) -> None:
        split_anew = script("promises").split_anew
        one, other = (load(split_anew(towns, tmp_path / str(seed), seed=seed), cache=False) for seed in (0, 1))
        for kb in (one, other):
            assert [len(kb.facts(split)) for split in SPLITS] == [len(towns.facts(split)) for split in SPLITS]
            assert words(kb, *SPLITS) == words(towns, *SPLITS)
            assert kb.entities.name(kb.entities.by_id["c0"]) == "Country A"
        assert words(one, "test") != words(other, "test")

    def test_a_split_that_is_done_is_not_made_again(
        self, script: Any, towns: KnowledgeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        module, made = script("promises"), []

        def measured(_: KnowledgeBase, folder: Path, *, seed: int, settings: list[str]) -> dict[str, Any]:
            folder.mkdir()
            made.append(settings)
            return {"seed": seed, "settings": settings}

        monkeypatch.setattr(module, "measure_split", measured)
        for settings in (["seed=1"], ["seed=1"], ["seed=2"]):
            assert module.kept_split(towns, tmp_path, seed=3, settings=settings)["settings"] == settings
        assert made == [["seed=1"], ["seed=2"]]

    def test_a_promise_that_was_not_made_is_not_held(self, script: Any) -> None:
        none = {"threshold": None}
        held, broken = ({"threshold": 0.9, "precision": p, "proposals": 40, "holds": p >= 0.9} for p in (0.95, 0.85))
        splits = [
            {"promises": [held, none], "right": {"100": 90, "300": 200}, "ece": 0.02},
            {"promises": [broken, none], "right": {"100": 80, "300": 210}, "ece": 0.04},
        ]
        found = script("promises").summary(splits)
        assert (found["promises"]["0.1"]["made"], found["promises"]["0.1"]["held"]) == (2, 1)
        assert found["promises"]["0.1"]["precision"]["mean"] == pytest.approx(0.9)
        assert found["promises"]["0.2"] == {"made": 0, "held": 0}
        assert found["right"]["100"]["mean"] == 85
        assert found["ece"]["deviation"] == pytest.approx(0.02 / np.sqrt(2))

    def test_it_leaves_a_record(self, script: Any, write_towns: Callable[..., Path], tmp_path: Path) -> None:
        out, work = tmp_path / "record.json", tmp_path / "work"
        places = ["--data", str(write_towns(tmp_path / "towns")), "--work", str(work), "--json", str(out)]
        script("promises").main(["--splits", "1", "--threads", "1", *places, "--set", *SETTINGS])
        (split,) = read(out)["splits"]
        assert [each["max_false"] for each in split["promises"]] == [0.1, 0.2]
        assert split["seconds"] > 0
        assert [path.name for path in work.iterdir()] == ["split-00.json"]


class TestAudit:
    def test_wrong_facts_are_plausible_and_in_no_split(self, script: Any, towns: KnowledgeBase) -> None:
        corrupt, train = script("audit").corrupt, towns.facts("train")
        made = corrupt(towns, 0.2, seed=0)
        assert made.wrong.sum() == round(0.2 * len(train))
        np.testing.assert_array_equal(made.facts[~made.wrong], train[~made.wrong])
        every = {tuple(fact) for split in SPLITS for fact in towns.facts(split).tolist()}
        for old, new in zip(train[made.wrong].tolist(), made.facts[made.wrong].tolist(), strict=True):
            assert tuple(new) not in every
            (end,) = [place for place in range(3) if old[place] != new[place]]
            assert new[end] in train[train[:, 1] == old[1], end]
        assert len(np.unique(made.facts, axis=0)) == len(train)
        np.testing.assert_array_equal(corrupt(towns, 0.2, seed=0).facts, made.facts)
        assert (corrupt(towns, 0.2, seed=1).facts != made.facts).any()

    def test_low_scores_of_wrong_facts_are_finds(self, script: Any) -> None:
        found = script("audit").figures(np.array([0.1, 0.2, 0.3, 0.4]), np.array([True, False, True, False]))
        assert found == {"precision_at_n": 0.5, "auc": 0.75, "average_precision": pytest.approx((1 + 2 / 3) / 2)}

    def test_its_record_is_of_all_training_facts(
        self, script: Any, write_towns: Callable[..., Path], tmp_path: Path, towns: KnowledgeBase
    ) -> None:
        module, out = script("audit"), tmp_path / "record.json"
        places = ["--data", str(write_towns(tmp_path / "towns")), "--work", str(tmp_path / "work"), "--json", str(out)]
        own = tmp_path / "own.yaml"
        own.write_text(json.dumps(TINY))
        module.main([*places, "--config", str(own)])
        entry = read(out)["data"]["towns"]
        assert entry["facts"] == len(towns.facts("train"))
        assert entry["replaced"] == round(module.SHARE * entry["facts"])
        assert len(entry["sorted_by"]) == 9
        assert {"stage1", "fold 0, audit", "fold 1, audit"} <= {step["name"] for step in entry["provenance"]["steps"]}


def words(kb: KnowledgeBase, *splits: Any) -> set[tuple[str, str, str]]:
    facts = [fact for split in splits for fact in kb.facts(split).tolist()]
    return {(kb.entities.id(s), kb.relations.id(r), kb.entities.id(o)) for s, r, o in facts}
