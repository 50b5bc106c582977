"""Files as a person takes them home, and what the run is worth."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect


@pytest.fixture
def accepted(service: Any, open_page: Callable[..., Page]) -> Page:
    """A page on which two facts were accepted and one rejected."""
    page = open_page(service, "#/review")
    expect(page.get_by_role("listbox").get_by_role("option").first).to_be_visible()
    for key in "ara":
        page.keyboard.press(key)
    expect(page.locator("#how-far")).to_contain_text("2 accepted · 1 rejected")
    page.get_by_role("link", name="Take home").click()
    return page


def saved(page: Page, title: str, folder: Path) -> str:
    with page.expect_download() as started:
        page.get_by_role("button", name=f"Download {title}").click()
    path = folder / started.value.suggested_filename
    started.value.save_as(path)
    return path.read_text(encoding="utf-8")


def test_accepted_facts_are_downloaded(accepted: Page, service: Any, tmp_path: Path) -> None:
    expect(accepted.get_by_text("2 accepted facts are ready")).to_be_visible()
    texts = {title: saved(accepted, title, tmp_path) for title in ("TSV", "N-Triples", "RDF 1.2", "JSON lines")}
    subjects = [each.subject for each in service.desk.decisions.log() if each.verdict == "accepted"]
    found = {title: [each in text for each in subjects] for title, text in texts.items()}
    assert found == {title: [True, True] for title in texts}
    assert len(texts["JSON lines"].splitlines()) == 2


def test_the_log_goes_out_and_comes_in_once(accepted: Page, service: Any, tmp_path: Path) -> None:
    lines = saved(accepted, "Log of decisions", tmp_path).splitlines()
    assert [json.loads(line)["verdict"] for line in lines] == ["accepted", "rejected", "accepted"]
    other = json.loads(lines[1]) | {"id": "from-elsewhere", "verdict": "accepted"}
    log = tmp_path / "other.jsonl"
    log.write_text(f"{lines[0]}\n{json.dumps(other)}\n", encoding="utf-8")
    accepted.get_by_label("A file of decisions").set_input_files(log)
    expect(accepted.get_by_text("1 of 2 decisions were new.")).to_be_visible()
    expect(accepted.get_by_text("3 accepted facts are ready")).to_be_visible()
    assert len(service.verdicts()) == 4


def test_trust_shows_figures_with_intervals_and_every_relation(service: Any, open_page: Callable[..., Page]) -> None:
    page = open_page(service, "#/trust")
    said = page.request.get("trust").json()
    ranking = page.get_by_role("region", name="Ranking", exact=True)
    figure = next(
        each for each in said["figures"] if (each["stage"], each["side"], each["measure"]) == (2, "both", "mrr")
    )
    expect(ranking).to_contain_text(f"{figure['value']:.3f}")
    expect(ranking).to_contain_text(f"{figure['low']:.3f} – {figure['high']:.3f}")
    expect(page.get_by_role("region", name="Each relation").get_by_role("row")).to_have_count(
        1 + len(said["relations"])
    )
    expect(page.get_by_role("region", name="Data")).to_contain_text(said["data"]["digest"][:16])
    expect(page.get_by_role("region", name="Cost", exact=True)).to_contain_text("of wall clock")
