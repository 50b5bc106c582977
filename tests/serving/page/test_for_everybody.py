"""Every view for everybody: checked by axe-core, on a phone, in the dark, by keyboard."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

OpenPage = Callable[..., Page]
VIEWS = {
    "start": "#/ask",
    "answers": "#/ask?object=land0&relation=citizen_of",
    "entity": "#/entity/firm3",
    "review": "#/review",
    "trust": "#/trust",
    "take home": "#/take-home",
}
SCREENS: dict[str, dict[str, Any]] = {
    "desktop": {"viewport": {"width": 1280, "height": 900}},
    "phone in the dark": {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark", "has_touch": True},
}


@pytest.fixture(scope="session")
def axe() -> str:
    """The source of axe-core: where CEAR_AXE names it, or where `.ci/run` has put it. Whoever names it must have it."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    path = Path(os.environ.get("CEAR_AXE", cache / "cear-tests" / "axe-core-4.14.0" / "package" / "axe.min.js"))
    if "CEAR_AXE" not in os.environ and not path.exists():
        pytest.skip("axe-core is not on this machine: `npm pack axe-core@4.14.0`, and let CEAR_AXE name its axe.min.js")
    return path.read_text(encoding="utf-8")


def settled(page: Page) -> None:
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    expect(page.locator("[aria-busy]")).to_have_count(0)


def violations(page: Page) -> list[str]:
    """What axe-core, which the page has loaded, finds wrong, whatever its impact."""
    found = page.evaluate("async () => (await axe.run()).violations")
    return [f"{each['id']} ({each['impact']}): {each['nodes'][0]['html'][:200]}" for each in found]


@pytest.mark.parametrize("screen", SCREENS)
def test_axe_finds_nothing(service: Any, open_page: OpenPage, axe: str, screen: str) -> None:
    page = open_page(service, **SCREENS[screen])
    page.evaluate(axe)
    found = {}
    for name, view in VIEWS.items():
        page.goto(view)
        settled(page)
        if name == "answers":
            page.get_by_role("button", name="Why").first.click()
            expect(page.locator(".because").first).to_be_visible()
        if name == "review":
            page.keyboard.press("a")
            expect(page.locator("svg.reliability")).to_be_visible()
        found[name] = violations(page)
    assert found == {name: [] for name in VIEWS}


def test_axe_finds_nothing_in_open_lists_and_dialogs(service: Any, open_page: OpenPage, axe: str) -> None:
    page = open_page(service)
    page.evaluate(axe)
    page.get_by_role("combobox", name="Subject").fill("Mun")
    expect(page.get_by_role("listbox").get_by_role("option").first).to_be_visible()
    assert violations(page) == []
    page.get_by_role("button", name="Keys").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    assert violations(page) == []


@pytest.mark.parametrize("width", [360, 768])
def test_nothing_is_wider_than_the_screen(service: Any, open_page: OpenPage, width: int) -> None:
    page = open_page(service, viewport={"width": width, "height": 740})
    wide = {}
    for name, view in VIEWS.items() | {
        ("hostile", "#/entity/p7"),
        ("hostile answers", "#/ask?subject=p7&relation=knows"),
    }:
        page.goto(view)
        settled(page)
        wide[name] = page.evaluate("document.documentElement.scrollWidth")
    assert {name: each for name, each in wide.items() if each > width} == {}


def test_the_first_tab_skips_to_the_content(page: Page) -> None:
    settled(page)
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.get_by_role("combobox", name="Subject")).to_be_focused()


def test_what_has_the_focus_can_be_seen(page: Page) -> None:
    settled(page)
    for _ in range(12):
        page.keyboard.press("Tab")
        style = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert style == "solid", page.evaluate("document.activeElement.outerHTML")


def test_the_ground_follows_the_readers_choice(service: Any, open_page: OpenPage) -> None:
    grounds = [
        open_page(service, color_scheme=scheme).evaluate("getComputedStyle(document.body).backgroundColor")
        for scheme in ("light", "dark")
    ]
    assert grounds == ["rgb(247, 247, 245)", "rgb(19, 21, 23)"]


def test_a_decision_and_the_next_fact_are_read_out(service: Any, open_page: OpenPage) -> None:
    page = open_page(service, "#/review")
    expect(page.get_by_role("listbox").get_by_role("option").first).to_be_visible()
    page.keyboard.press("a")
    expect(page.locator("#status")).to_contain_text("Accepted. Next:")
    expect(page.locator("#status")).to_contain_text("%")


def test_every_view_has_its_title_and_marks_its_place(page: Page) -> None:
    for name in ("Review", "Trust", "Take home", "Ask"):
        page.get_by_role("link", name=name, exact=True).click()
        expect(page).to_have_title(f"{name} · cear")
        expect(page.get_by_role("navigation").get_by_role("link", name=name)).to_have_attribute("aria-current", "page")
        expect(page.get_by_role("heading", level=1)).to_be_focused()
