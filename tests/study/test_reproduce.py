"""`cear reproduce`: it makes what is missing, draws what there is, and the second time it does no work."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from cear.cli import app
from cear.core.errors import UnknownName
from cear.study import PARTS, Cell, Records, parts, published
from cear.study.figures import ranks_put_first
from cear.study.tables import CKG, CLOSED, OKG

STAGE1 = "stage1: {model: complex, rank: 6, batch: 20, epochs: 1}\n"
STAGE2 = (
    "candidates: {k: 5, crossfit: {folds: 4, by: fact}}\n"
    "reranker: {kind: wide, text: false, width: 8, heads: 2, epochs: 1, validate_facts: 10}\n"
)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write_towns: Callable[..., Path]) -> Path:
    """A repository with two cells of WN18RR's tables, over a small knowledge base."""
    monkeypatch.chdir(tmp_path)
    data = write_towns(tmp_path / "towns").relative_to(tmp_path)
    for name, text in {"distmult": STAGE1, "cear-rotate": STAGE1 + STAGE2}.items():
        path = Path(f"configs/wn18rr/{name}.yaml")
        path.parent.mkdir(parents=True, exist_ok=True)
        places = f"--out runs/wn18rr/{name} --json results/wn18rr/{name}.json"
        path.write_text(f"# Command: cear run {path} {places}\ndata: {data}\n{text}")
    return tmp_path


def reproduce(*words: str) -> Result:
    result = CliRunner().invoke(app, ["reproduce", *words], catch_exceptions=False)
    assert result.exit_code == 0
    return result


def made(result: Result) -> list[str]:
    """The commands that were run."""
    return [line for line in result.output.splitlines() if "cear run" in line or "cear evaluate" in line]


def section(label: str) -> list[str]:
    """The lines of a table in the report."""
    report = Path("results/study/cpu/study.md").read_text()
    return report.split(f"(`{label}`)")[1].split("\n## ")[0].splitlines()


@pytest.mark.usefixtures("repository")
class TestReproduce:
    def test_it_makes_what_is_missing_once(self) -> None:
        assert len(made(reproduce("ckg", "--seeds", "1"))) == 2
        assert made(reproduce("ckg", "--seeds", "1")) == []

    def test_cheap_cells_are_made_with_every_seed(self) -> None:
        reproduce("headtail", "--seeds", "2")
        assert Path("results/wn18rr/cear-rotate-seed1.json").exists()

    def test_only_makes_the_cells_that_fit(self) -> None:
        assert [line.split()[5] for line in made(reproduce("ckg", "--seeds", "1", "--only", "*/dist*"))] == [
            "configs/wn18rr/distmult.yaml"
        ]

    def test_making_one_table_leaves_the_others_in_the_report(self) -> None:
        reproduce("ckg", "--seeds", "1")
        reproduce("leak")
        assert any("distmult.json" in line for line in section("ckg"))

    def test_a_pattern_that_no_cell_fits_is_refused(self) -> None:
        result = CliRunner().invoke(app, ["reproduce", "ckg", "--only", "fb*"])
        assert result.exit_code != 0
        assert "no cell is called 'fb*'" in str(result.exception)

    def test_a_table_shows_ours_beside_the_papers(self) -> None:
        reproduce("ckg", "--seeds", "1")
        row = next(line for line in section("ckg") if line.startswith("| DistMult"))
        ours = json.loads(Path("results/wn18rr/distmult.json").read_text())["stage1"]["both"]["mrr"]
        assert f"[{ours:.3f}]".replace("0.", ".") + "(../../wn18rr/distmult.json)" in row.replace("**", "")
        assert "paper 0.43" in row
        assert "not run here" in row, "FB15K-237 has no configuration here"

    def test_confusion_counts_every_query(self) -> None:
        reproduce("confusion", "--seeds", "1")
        row = next(line for line in section("confusion") if line.startswith("| WN18RR"))
        record = json.loads(Path("results/wn18rr/cear-rotate.json").read_text())
        assert all(f"[{count}]" in row for count in record["reranking"]["confusion"].values())

    def test_the_histogram_has_the_golds_that_were_put_first(self) -> None:
        reproduce("wn18rr", "--seeds", "1")
        found = Records(Path("results/study/cpu"), "cpu").of(Cell.of("wn18rr", "cear-rotate"))
        assert sum(ranks_put_first(found)) == found.first["reranking"]["confusion"]["01"]
        assert "Stage-1 rank of the golds that CEAR put first" in Path("results/study/cpu/study.html").read_text()

    def test_validation_is_measured_on_validation(self) -> None:
        reproduce("validation", "--seeds", "1")
        assert json.loads(Path("results/wn18rr/valid/cear-rotate.json").read_text())["split"] == "valid"

    def test_draw_makes_nothing(self) -> None:
        assert made(reproduce("--draw")) == []
        assert not Path("runs").exists()
        assert "not run here" in Path("results/study/cpu/study.md").read_text()

    def test_a_dry_run_says_what_is_to_be_made(self) -> None:
        output = reproduce("ckg", "--dry-run").output
        assert "wn18rr/distmult" in output
        assert not Path("results").exists()

    def test_a_dry_run_leaves_out_what_has_a_record(self) -> None:
        reproduce("ckg", "--seeds", "1", "--only", "*/distmult")
        output = reproduce("ckg", "--dry-run", "--seeds", "2").output
        assert "wn18rr/distmult-seed1" in output
        assert "wn18rr/distmult " not in output


class TestParts:
    def test_the_labels_are_those_of_the_paper(self) -> None:
        paper = {"ckg", "okg", "s1_entities", "ablation", "headtail", "confusion", "params", "params2", "validation"}
        assert paper | {"fb15k237", "wn18rr", "olpbench"} <= PARTS.keys()

    def test_an_unknown_label_is_refused_with_those_that_are_known(self) -> None:
        with pytest.raises(UnknownName, match=r"no table 'ckgg'\. It has: ckg"):
            parts(["ckgg"])

    def test_every_row_of_the_papers_tables_is_there(self) -> None:
        assert published.CKG.keys() == {each.paper or each.label for each in CKG} & published.CKG.keys()
        assert published.OKG.keys() <= {each.label for each in OKG}

    @pytest.mark.parametrize("data", CLOSED)
    def test_every_cell_of_ours_has_a_configuration(self, data: str, request: pytest.FixtureRequest) -> None:
        """But for KG-BERT on FB15K-237 and relation prediction on WN18RR, which were not run."""
        configs = request.config.rootpath / "configs" / data
        lacking = {each.name for each in CKG if not (configs / f"{each.name}.yaml").exists()}
        assert lacking == {"fb15k-237": {"kg-bert"}, "wn18rr": {"complex-n3-relations"}}[data]
