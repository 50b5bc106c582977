"""Reviewing as a person would: ten facts by keyboard, with mistakes, with others, and through a crash."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from playwright.sync_api import Page, expect

OpenPage = Callable[..., Page]


def facts(page: Page) -> list[str]:
    """The proposals in the list, as they read."""
    expect(page.get_by_role("listbox").get_by_role("option").first).to_be_visible()
    return page.get_by_role("listbox").get_by_role("option").locator("> span:first-child").all_inner_texts()


def current(page: Page) -> str:
    return " ".join(page.locator("#fact").inner_text().split())


def reviewing(open_page: OpenPage, service: Any, view: str = "#/review") -> Page:
    page = open_page(service, view)
    expect(page.get_by_role("listbox").get_by_role("option").first).to_be_visible()
    return page


def intercept(page: Page, decisions: Callable[[Any], Any]) -> None:
    """Hand the decisions that the page sends to a function from now on."""
    page.route("**/decisions", decisions)
    page.reload()  # a document that was loaded before may still send its first requests past the route
    expect(page.get_by_role("listbox").get_by_role("option").first).to_be_visible()


def test_ten_facts_are_reviewed_by_keyboard(service: Any, open_page: OpenPage) -> None:
    page = reviewing(open_page, service)
    first = facts(page)[:10]
    for key in "aararsaaar":
        page.keyboard.press(key)
    expect(page.locator("#how-far")).to_contain_text("10 of")
    expect(page.locator("#how-far")).to_contain_text("6 accepted · 3 rejected · 1 skipped")
    words = {"a": "accepted", "r": "rejected", "s": "skipped"}
    assert service.verdicts() == [words[key] for key in "aararsaaar"]
    names = service.run.kb.entities
    log = [f"{names.name(names.by_id[each.subject])} " for each in service.desk.decisions.log()]
    assert [said.startswith(name) for said, name in zip(first, log, strict=True)] == [True] * 10
    expect(page.get_by_role("region", name="Promised and right")).to_contain_text("Of 9 decided, 6 were right")
    bins = page.request.get("decisions/summary").json()["reliability"]
    points = page.locator("svg.reliability circle")
    expect(points).to_have_count(len(bins))
    places = [float(point.get_attribute("cy") or "nan") for point in points.all()]
    shares = [each["came_true"] for each in bins]
    assert all(
        (a < b) == (x > y) for a, x in zip(shares, places, strict=True) for b, y in zip(shares, places, strict=True)
    )


def test_j_and_k_move_and_the_end_of_a_page_brings_the_next(service: Any, open_page: OpenPage) -> None:
    page = reviewing(open_page, service)
    all_ = facts(page)
    page.keyboard.press("j")
    page.keyboard.press("j")
    expect(page.get_by_role("listbox").get_by_role("option").nth(2)).to_have_attribute("aria-selected", "true")
    page.keyboard.press("k")
    expect(page.get_by_role("listbox").get_by_role("option").nth(1)).to_have_attribute("aria-selected", "true")
    assert current(page) == all_[1]
    for _ in range(len(all_)):
        page.keyboard.press("j")
    expect(page.get_by_role("listbox").get_by_role("option").nth(len(all_))).to_be_attached()


def test_undo_opens_the_last_fact_again_and_both_stay_in_the_log(service: Any, open_page: OpenPage) -> None:
    page = reviewing(open_page, service)
    first = current(page)
    page.keyboard.press("a")
    expect(page.locator("#fact")).not_to_have_text(first)
    page.keyboard.press("u")
    expect(page.locator("#how-far")).to_contain_text("0 of")
    assert current(page) == first
    page.keyboard.press("r")
    expect(page.locator("#how-far")).to_contain_text("1 rejected")
    assert service.verdicts() == ["accepted", "undone", "rejected"]


def test_a_note_and_a_name_are_kept_with_the_decision(service: Any, open_page: OpenPage) -> None:
    page = reviewing(open_page, service)
    page.get_by_label("Reviewed by").fill("Ada")
    page.locator("h1").click()
    page.keyboard.press("n")
    page.keyboard.type("see the annual report, a r s")
    page.keyboard.press("Enter")
    page.keyboard.press("a")
    expect(page.locator("#how-far")).to_contain_text("1 accepted")
    [kept] = service.desk.decisions.log()
    assert (kept.who, kept.note) == ("Ada", "see the annual report, a r s")
    expect(page.get_by_label("Note")).to_have_value("")


def test_proposals_are_chosen_by_relation_and_by_state(service: Any, open_page: OpenPage) -> None:
    page = reviewing(open_page, service)
    page.get_by_label("Relation").select_option("works_for")
    expect(page.get_by_role("listbox").get_by_role("option").filter(has_text="speaks")).to_have_count(0)
    assert all("works for" in fact for fact in facts(page))
    chosen = current(page)
    page.locator("h1").click()
    page.keyboard.press("a")
    expect(page.locator("#how-far")).to_contain_text("1 accepted")
    page.get_by_label("Show").select_option("accepted")
    expect(page.get_by_role("listbox").get_by_role("option")).to_have_count(1)
    assert current(page) == chosen
    page.reload()
    expect(page.get_by_role("listbox").get_by_role("option")).to_have_count(1)


def test_two_people_at_once_neither_lose_nor_double_a_decision(service: Any, open_page: OpenPage) -> None:
    ada, bea = reviewing(open_page, service), reviewing(open_page, service)
    for page, name in ((ada, "Ada"), (bea, "Bea")):
        page.get_by_label("Reviewed by").fill(name)
        page.locator("h1").click()
    ada.keyboard.press("a")
    expect(ada.locator("#how-far")).to_contain_text("1 accepted")
    bea.keyboard.press("r")  # of the same fact, which Ada has accepted meanwhile
    expect(bea.locator("#trouble")).to_contain_text("Ada has accepted this fact already")
    bea.keyboard.press("r")
    expect(bea.locator("#how-far")).to_contain_text("1 accepted · 1 rejected")
    assert [(each.who, each.verdict) for each in service.desk.decisions.log()] == [
        ("Ada", "accepted"),
        ("Bea", "rejected"),
    ]
    expect(ada.get_by_role("listbox").get_by_role("option").filter(has_text="rejected by Bea")).to_have_count(1)


def test_an_undo_never_takes_back_what_somebody_else_has_decided(service: Any, open_page: OpenPage) -> None:
    ada, bea = reviewing(open_page, service), reviewing(open_page, service)
    ada.keyboard.press("a")
    expect(ada.locator("#how-far")).to_contain_text("1 accepted")
    bea.keyboard.press("r")
    bea.keyboard.press("u")
    expect(bea.locator("#trouble")).to_contain_text("Yours was not kept")
    assert service.verdicts() == ["accepted"]


def test_a_service_that_dies_in_between_loses_and_doubles_nothing(service: Any, open_page: OpenPage) -> None:
    page = reviewing(open_page, service)
    page.keyboard.press("a")
    expect(page.locator("#how-far")).to_contain_text("1 accepted")
    service.stop()
    for key in "arau":
        page.keyboard.press(key)
    expect(page.locator("#trouble")).to_contain_text("4 decisions wait")
    service.start()
    expect(page.locator("#trouble")).to_be_hidden()
    expect(page.locator("#how-far")).to_contain_text("2 accepted · 1 rejected")
    assert service.verdicts() == ["accepted", "accepted", "rejected", "accepted", "undone"]


def test_a_decision_whose_answer_was_lost_is_kept_once(service: Any, open_page: OpenPage) -> None:
    page = reviewing(open_page, service)
    lost: list[int] = []

    def lose(route: Any) -> None:
        if lost or route.request.method != "POST":
            return route.continue_()
        lost.append(route.fetch().status)  # the service has kept it; the page never hears so
        return route.abort()

    intercept(page, lose)
    page.keyboard.press("a")
    expect(page.locator("#how-far")).to_contain_text("1 accepted")
    assert lost == [201]
    assert service.verdicts() == ["accepted"]


def test_what_waits_survives_a_reload(service: Any, open_page: OpenPage) -> None:
    page = reviewing(open_page, service)
    intercept(page, lambda route: route.abort())
    page.keyboard.press("a")
    expect(page.locator("#trouble")).to_contain_text("One decision waits")
    page.unroute("**/decisions")
    page.evaluate("location.reload()")
    expect(page.locator("#how-far")).to_contain_text("1 accepted")
    assert service.verdicts() == ["accepted"]


def test_the_last_decision_is_followed_by_rest(service: Any, open_page: OpenPage) -> None:
    page = reviewing(open_page, service, "#/review?min_probability=0.95")
    n = len(facts(page))
    for _ in range(n + 2):  # two more than there are: they must not decide anew
        page.keyboard.press("a")
    expect(page.get_by_text("All of these are decided")).to_be_visible()
    expect(page.locator("#how-far")).to_contain_text(f"{n} accepted")
    assert service.verdicts() == ["accepted"] * n


def test_letters_can_be_switched_off(service: Any, open_page: OpenPage) -> None:
    page = reviewing(open_page, service)
    page.keyboard.press("?")
    page.get_by_role("dialog").get_by_label("Letters are commands").uncheck()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.keyboard.press("a")
    page.get_by_role("button", name="Reject").click()
    expect(page.locator("#how-far")).to_contain_text("0 accepted · 1 rejected")


def test_a_run_that_proposes_nothing_yet_is_completed_from_the_page(
    make_service: Callable[..., Any], open_page: OpenPage
) -> None:
    service = make_service(completed=False)
    page = open_page(service, "#/review")
    page.get_by_role("button", name="Look for missing facts").click()
    expect(page.get_by_role("listbox").get_by_role("option").first).to_be_visible(timeout=60_000)
    page.keyboard.press("a")
    expect(page.locator("#how-far")).to_contain_text("1 accepted")


def test_what_others_decide_appears_by_itself(service: Any, open_page: OpenPage) -> None:
    ada, bea = reviewing(open_page, service), reviewing(open_page, service)
    ada.get_by_label("Reviewed by").fill("Ada")
    ada.locator("h1").click()
    ada.keyboard.press("a")
    expect(bea.get_by_role("listbox").get_by_role("option").first).to_contain_text("accepted by Ada", timeout=20_000)
    expect(bea.locator("#how-far")).to_contain_text("1 accepted")
