"""Names that want to be code, and a token that ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from playwright.sync_api import Browser, Page, expect

OpenPage = Callable[..., Page]
HOSTILE = "<script>document.title='taken'</script><img src=x onerror=alert(1)> 🦄 שלום עולם 7"


def test_a_name_full_of_markup_is_text_in_every_view(service: Any, open_page: OpenPage) -> None:
    page = open_page(service, "#/entity/p7")
    expect(page.get_by_role("heading", level=1)).to_have_text(HOSTILE)
    page.get_by_role("combobox", name="Find an entity").fill("script")
    expect(page.get_by_role("listbox").get_by_role("option").filter(has_text="<script>").first).to_be_visible()
    page.goto("#/ask?subject=p7&relation=works_for")
    expect(page.locator(".asked")).to_contain_text(HOSTILE)
    page.get_by_role("button", name="Why").first.click()
    expect(page.locator(".because").first).not_to_be_empty()
    page.goto("#/review?relation=works_for")
    expect(page.get_by_role("listbox").get_by_role("option").filter(has_text="<script>").first).to_be_attached()
    page.get_by_role("listbox").get_by_role("option").filter(has_text="<script>").first.click()
    expect(page.locator("#fact")).to_contain_text("<script>document.title='taken'</script>")
    assert page.title() == "Review · cear"
    assert page.locator("img, #main script").count() == 0


def test_a_name_from_right_to_left_is_isolated_from_its_neighbours(service: Any, open_page: OpenPage) -> None:
    page = open_page(service, "#/entity/p7")
    expect(page.locator("h1 bdi")).to_have_count(1)
    assert page.locator("a").filter(has_text="שלום").count() == page.locator("a bdi").filter(has_text="שלום").count()


def test_an_inline_script_does_not_run(service: Any, browser: Browser) -> None:
    page = browser.new_page()
    page.goto(service.address)
    page.evaluate("""() => {
        const script = document.createElement("script");
        script.textContent = "document.title = 'taken'";
        document.body.append(script);
    }""")
    title = page.title()
    page.close()
    assert title != "taken"


def test_everything_comes_from_the_service(service: Any, open_page: OpenPage) -> None:
    page = open_page(service)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    for view in ("ask?subject=p3&relation=works_for", "review", "trust", "take-home", "entity/p3"):
        page.goto(f"#/{view}")
        expect(page.get_by_role("heading", level=1)).to_be_visible()
    assert asked
    assert all(url.startswith(service.address) for url in asked)


def test_a_token_is_asked_once_and_again_when_it_has_ended(
    make_service: Callable[..., Any], open_page: OpenPage
) -> None:
    service = make_service("the-first-token-of-two")
    page = open_page(service, "#/review")
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Token").fill("the-first-token-of-two")
    dialog.get_by_role("button", name="Enter").click()
    expect(page.get_by_role("listbox").get_by_role("option").first).to_be_visible()
    page.reload()
    expect(page.get_by_role("listbox").get_by_role("option").first).to_be_visible()
    expect(dialog).to_have_count(0)
    service.stop()
    service.token = "another-token-from-now-on"
    service.start()
    page.keyboard.press("a")
    expect(dialog).to_contain_text("not accepted")
    dialog.get_by_label("Token").fill("another-token-from-now-on")
    page.keyboard.press("Enter")
    expect(page.locator("#how-far")).to_contain_text("1 accepted")
    assert service.verdicts() == ["accepted"]


def test_a_wrong_token_is_told(make_service: Callable[..., Any], open_page: OpenPage) -> None:
    page = open_page(make_service("the-first-token-of-two"))
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Token").fill("a-guess-that-is-no-good")
    page.keyboard.press("Enter")
    expect(dialog).to_contain_text("not accepted")
