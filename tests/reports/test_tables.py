"""Tables: rounded for the eye, aligned with the records."""

from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console

from cear.reports import Record, evaluation_table, results_table, write_record


def drawn(table):
    console = Console(width=80, record=True, file=StringIO())
    console.print(table)
    return console.export_text()


def test_an_evaluation_fits_eighty_columns_with_its_intervals(evaluation):
    text = drawn(evaluation_table(evaluation))
    rows = [line for line in text.splitlines() if "±" in line]
    assert [row.split("│")[1].strip() for row in rows] == ["both", "head", "tail"]
    for side, row in zip(("both", "head", "tail"), rows, strict=True):
        low, high = evaluation.intervals()[side]["mrr"]
        mrr = evaluation.summary()[side]["mrr"]
        assert row.split("│")[2].strip() == f"{mrr:.3f}±{(high - low) / 2:.3f}".replace("±0.", "±.")
    assert all(name in text for name in ("MRR", "H@1", "H@3", "H@10", "H@50"))


def test_an_evaluation_says_its_protocol(evaluation):
    text = " ".join(drawn(evaluation_table(evaluation)).split())
    assert "toy, test" in text
    assert "filtered, ties expected, 16 queries, 95 % intervals" in text
    text = " ".join(drawn(evaluation_table(replace(evaluation, protocol="care"))).split())
    assert "CaRe's protocol, ties expected, 16 queries, 95 % intervals" in text


def test_a_record_of_another_protocol_says_so_in_its_row(evaluation, provenance, tmp_path):
    care = replace(evaluation, protocol="care")
    write_record(tmp_path / "a.json", Record.of(care, provenance, model="complex"), care)
    assert "| toy (CaRe's protocol) |" in results_table(tmp_path)


@pytest.fixture
def results(evaluation, provenance, tmp_path):
    mrr = evaluation.summary()["both"]["mrr"]
    record = Record.of(evaluation, provenance, model="complex")
    details = {"rank": 8, "epochs": 3, "training_seconds": 1234.5}
    write_record(tmp_path / "a.json", replace(record, details=details, target={"mrr": mrr, "hits@10": 0.0}), evaluation)
    write_record(tmp_path / "deep" / "b.json", replace(record, split="valid", target={"mrr": mrr + 0.001}), evaluation)
    (tmp_path / "speed.json").write_text("{}")
    return tmp_path


def test_the_markdown_of_all_records(results, evaluation):
    both = evaluation.summary()["both"]
    values = [f"{both[name]:.3f}" for name in ("mrr", "hits@1", "hits@3", "hits@10")]
    head, align, first, second = (
        [cell.strip() for cell in line.strip("|").split("|")] for line in results_table(results).splitlines()
    )
    assert head == [
        "data",
        "record",
        "model",
        "queries",
        "MRR",
        "H@1",
        "H@3",
        "H@10",
        "over Stage 1",
        "seconds",
        "target",
    ]
    assert len(align) == len(head)
    model = ["[a](../results/a.json)", "complex, rank 8, epochs 3"]
    queries = f"{len(evaluation.queries):,}"
    assert first == ["toy", *model, queries, *values, "–", "12", f"MRR >= {both['mrr']:.3f}, H@10 >= 0.000: met"]
    assert second[:3] == ["toy (valid)", "[b](../results/deep/b.json)", "complex"]
    assert second[-2] == "12", "the seconds of the whole chain, as the provenance has them"
    assert second[-1].endswith(": missed")


def test_a_folder_without_records_gives_the_head_alone(tmp_path):
    assert len(results_table(tmp_path).splitlines()) == 2
