"""Asking as a person would: with a typo, by keyboard, and then why."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from playwright.sync_api import Page, expect


def test_a_name_with_a_typo_is_found_and_asked_about_by_keyboard_alone(page: Page) -> None:
    page.get_by_role("combobox", name="Subject").focus()
    page.keyboard.type("Munihc")
    expect(page.get_by_role("option").first).to_contain_text("Munich")
    page.keyboard.press("Enter")
    expect(page.get_by_role("combobox", name="Subject")).to_have_value("Munich")
    expect(page.get_by_role("combobox", name="Relation")).to_be_focused()
    page.keyboard.type("lies")
    expect(page.get_by_role("option").first).to_contain_text("lies in")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="⟨Munich, lies in, ?⟩")).to_be_focused()
    expect(page.get_by_role("region", name="Likely").get_by_role("listitem").first).to_be_visible()


def test_suggestions_open_move_and_close_by_keys(page: Page) -> None:
    field = page.get_by_role("combobox", name="Relation")
    field.press("ArrowDown")
    expect(page.get_by_role("option")).to_have_count(7)
    field.press("ArrowDown")
    field.press("ArrowDown")
    expect(page.get_by_role("option", selected=True)).to_have_count(1)
    expect(field).to_have_attribute("aria-expanded", "true")
    field.press("Escape")
    expect(field).to_have_attribute("aria-expanded", "false")
    expect(page.get_by_role("option")).to_have_count(0)


def test_known_and_likely_answers_stand_apart_each_with_its_probability(
    service: Any, open_page: Callable[..., Page]
) -> None:
    page = open_page(service, "#/ask?object=land0&relation=citizen_of")
    said = page.request.get("ask?object=land0&relation=citizen_of&k=10").json()["answers"]
    known, likely = (page.get_by_role("region", name=name) for name in ("Known", "Likely"))
    expect(likely.locator(".answer")).to_have_count(sum(each["known"] is None for each in said))
    expect(known.locator(".answer")).to_have_count(sum(each["known"] is not None for each in said))
    best = next(each for each in said if each["known"] is None)
    expect(likely.locator(".answer").first).to_contain_text(best["name"])
    expect(likely.locator(".answer").first.locator(".number")).to_contain_text("%")


def test_the_slope_chart_has_a_line_for_each_ranked_answer(service: Any, open_page: Callable[..., Page]) -> None:
    page = open_page(service, "#/ask?subject=p3&relation=works_for")
    said = page.request.get("ask?subject=p3&relation=works_for&k=10").json()["answers"]
    ranked = [each for each in said if each["rank"]]
    before = sorted(ranked, key=lambda each: each["stage1_rank"] or 10**9)
    overtook = sum(place < before.index(each) for place, each in enumerate(ranked))
    expect(page.locator("svg.slope line")).to_have_count(len(ranked))
    expect(page.locator("svg.slope .overtook")).to_have_count(overtook)


def test_the_question_can_be_turned_around(page: Page) -> None:
    page.get_by_role("button", name="Ask for the subject instead").click()
    page.get_by_role("combobox", name="Object").fill("Avalon")
    page.get_by_role("option", name="Avalon").click()
    page.get_by_role("combobox", name="Relation").fill("citizen of")
    page.get_by_role("option", name="citizen of").click()
    expect(page.get_by_role("heading", name="⟨?, citizen of, Avalon⟩")).to_be_visible()


def test_reasons_are_sentences_with_links_to_the_entities_of_their_facts(
    service: Any, open_page: Callable[..., Page]
) -> None:
    page = open_page(service, "#/ask?subject=p3&relation=works_for&new=true")
    page.get_by_role("button", name="Why").first.click()
    panel = page.locator(".answer .reasons").first
    expect(panel.locator(".because")).not_to_be_empty()
    expect(panel).to_contain_text("candidates")
    panel.get_by_role("link").first.click()
    expect(page.get_by_role("region", name="Known")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("heading", name="⟨Person 3, works for, ?⟩")).to_be_visible()


def test_an_unknown_name_is_told_in_a_sentence_with_names_like_it(page: Page) -> None:
    page.get_by_role("combobox", name="Subject").fill("Munichh")
    page.get_by_role("combobox", name="Relation").fill("lies in")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.locator("#main").get_by_role("alert")).to_contain_text("No entity is called 'Munichh'")


def test_an_entity_shows_what_is_known_likely_and_doubtful(page: Page) -> None:
    page.keyboard.press("/")
    page.keyboard.type("firm 3")
    page.get_by_role("option", name="Firm 3", exact=True).click()
    expect(page.get_by_role("heading", name="Firm 3", level=1)).to_be_focused()
    expect(page.get_by_role("region", name="Known")).to_contain_text("seated in")
    expect(page.get_by_role("region", name="Missing and likely")).to_be_visible()
    expect(page.get_by_role("region", name="Looks wrong")).to_contain_text("No audit")
    page.get_by_role("region", name="Known").get_by_role("link").first.click()
    expect(page.get_by_role("heading", name="Firm 3", level=1)).to_have_count(0)
