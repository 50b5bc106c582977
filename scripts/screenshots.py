"""Pictures of every view of the page for docs/pictures: at a desk, on a phone, in the dark.

Start the service on the demo, then take them:

    cear serve runs/demo --port 8000
    python scripts/screenshots.py http://127.0.0.1:8000
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright

PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
CHROMIUM = os.environ.get("CEAR_CHROMIUM", "/usr/bin/chromium")
QUIET = ["--disable-background-networking", "--disable-component-update", "--no-sandbox"]
SCREENS: dict[str, tuple[ViewportSize, bool]] = {
    "desktop": ({"width": 1280, "height": 900}, False),
    "phone": ({"width": 390, "height": 844}, False),
    "dark": ({"width": 1280, "height": 900}, True),
}
QUESTION = "#/ask?object=country%2Fdenmark&relation=capital_of"
ENTITY = "#/entity/country%2Fdenmark"


def ask(page: Page) -> None:
    """A question with its answers and the reasons of the best one."""
    page.goto(QUESTION)
    page.get_by_role("button", name="Why").first.click()
    page.locator(".because").first.wait_for()


def entity(page: Page) -> None:
    """What is known about an entity, and what is likely."""
    page.goto(ENTITY)
    page.get_by_role("heading", name="Missing and likely").wait_for()


def review(page: Page) -> None:
    """The review queue, some of it decided already."""
    page.goto("#/review")
    page.locator(".queued").nth(4).wait_for()
    page.locator(".proposal .because bdi:not(:empty)").wait_for()  # the reason of the first one comes a moment later


def trust(page: Page) -> None:
    """What the run is worth."""
    page.goto("#/trust")
    page.get_by_role("heading", name="Each relation").wait_for()


def take_home(page: Page) -> None:
    """What there is to take home."""
    page.goto("#/take-home")
    page.get_by_role("button", name="N-Triples").wait_for()


VIEWS: dict[str, Callable[[Page], None]] = {
    "ask": ask,
    "entity": entity,
    "review": review,
    "trust": trust,
    "take-home": take_home,
}


def take(browser: Browser, address: str, folder: Path) -> None:
    """Every view on every screen, as one file each."""
    for screen, (size, dark) in SCREENS.items():
        context = browser.new_context(
            base_url=address, viewport=size, color_scheme="dark" if dark else "light", reduced_motion="reduce"
        )
        for name, show in VIEWS.items():
            page = context.new_page()
            show(page)
            page.screenshot(path=folder / f"{name}-{screen}.png")
            page.close()
        context.close()


def main() -> None:
    """Take all pictures of a running service."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("address", help="where the service is, http://127.0.0.1:8000")
    parser.add_argument("--out", type=Path, default=PICTURES, help="the folder for the pictures")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        take(browser, given.address, given.out)
        browser.close()
    print(f"{len(SCREENS) * len(VIEWS)} pictures in {given.out}")


if __name__ == "__main__":
    main()
