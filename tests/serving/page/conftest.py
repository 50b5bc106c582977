"""A real service over a small run, and a real Chromium in front of it."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the service is an extra: pip install 'cear[serve]'")
pytest.importorskip("playwright", reason="the page's tests need playwright: pip install 'cear[dev]'")

import uvicorn
from playwright.sync_api import Browser, BrowserContext, Dialog, Page, expect, sync_playwright

from cear.serving.app import create_app
from cear.serving.desk import Desk
from cear.serving.settings import ServiceSettings

CHROMIUM = Path(os.environ.get("CEAR_CHROMIUM", "/usr/bin/chromium"))
# Nothing but the page itself goes over the network; a container has no room for a sandbox and little shared memory.
ARGUMENTS = [
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--no-sandbox",
    "--disable-dev-shm-usage",
]
HOSTILE = "<script>document.title='taken'</script><img src=x onerror=alert(1)> 🦄 שלום עולם"
CITIES = (
    *("Munich", "Lyon", "Turin", "Porto", "Ghent", "Aarhus", "Bergen", "Malmö", "Tampere", "Tartu", "Riga", "Kaunas"),
    *("Gdańsk", "Brno", "Graz", "Szeged", "Cluj", "Varna", "Split", "Patras", "Bursa", "Haifa", "Oran", "Fez"),
)
LANDS = ("Avalon", "Brobdingnag", "Cimmeria", "Dinotopia", "Erewhon", "Freedonia")
RELATIONS = ("born_in", "citizen_of", "knows", "lies_in", "seated_in", "speaks", "works_for")
PATIENCE = 15_000  # milliseconds: the machine may be busy with other tests
expect.set_options(timeout=PATIENCE)


def name_of(id: str) -> str:
    """The name of an entity of the people's knowledge base; every tenth person has one that nobody should trust."""
    kind, number = id.rstrip("0123456789"), int(id.lstrip("abcdefghijklmnopqrstuvwxyz"))
    if kind == "p":
        return f"{HOSTILE} {number}" if number % 10 == 7 else f"Person {number}"
    return {"city": CITIES, "land": LANDS}[kind][number] if kind in ("city", "land") else f"{kind.title()} {number}"


@pytest.fixture(scope="session")
def trained(people: SimpleNamespace, people_facts: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A calibrated run of two stages on people with names, and what it proposes."""
    from cear.config import RunConfig
    from cear.pipeline import run

    folder = tmp_path_factory.mktemp("page")
    data = people.write_facts(folder / "people", people_facts)
    ids = sorted({end for facts in people_facts.values() for s, _, o in facts for end in (s, o)})
    (data / "entity2text.txt").write_text("".join(f"{each}\t{name_of(each)}\n" for each in ids), encoding="utf-8")
    (data / "relation2text.txt").write_text("".join(f"{r}\t{r.replace('_', ' ')}\n" for r in RELATIONS))
    made = run(RunConfig.model_validate(people.config_of(data, reranker=True, refit=True)), folder / "run")
    made.evaluate("test")
    return made, made.complete(min_probability=0.05)


@dataclass
class Service:
    """A service that can be stopped and started again at the same address."""

    run: Any
    port: int
    token: str | None = None
    server: uvicorn.Server | None = None
    thread: threading.Thread | None = None
    desk: Desk = field(init=False)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def start(self) -> None:
        settings = ServiceSettings.model_validate({"port": self.port, "token": self.token})
        self.desk = Desk.of(self.run, settings)
        told = uvicorn.Config(create_app(self.desk, settings), port=self.port, log_level="error", ws="none")
        self.server = uvicorn.Server(told)
        self.thread = threading.Thread(target=self.server.run)
        self.thread.start()
        while not self.server.started:
            assert self.thread.is_alive(), "the service did not start"
            time.sleep(0.01)

    def stop(self) -> None:
        if self.server is None or self.thread is None:
            return
        self.server.should_exit = True
        self.thread.join(20)
        self.server = self.thread = None

    def verdicts(self) -> list[str]:
        """What was decided, in the order of the log."""
        return [each.verdict for each in self.desk.decisions.log()]


@pytest.fixture
def make_service(trained: Any, tmp_path: Path) -> Iterator[Callable[..., Service]]:
    """Starts a service with a log of its own."""
    made: list[Service] = []

    def make(token: str | None = None, *, completed: bool = True) -> Service:
        run, proposals = trained
        service = Service(replace(run, folder=tmp_path), _free_port(), token)
        service.start()
        if completed:
            service.desk.queue.add(proposals)
        made.append(service)
        return service

    yield make
    for service in made:
        service.stop()


@pytest.fixture
def service(make_service: Callable[..., Service]) -> Service:
    """A service that asks for no token, its proposals waiting."""
    return make_service()


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


@pytest.fixture(scope="module")  # its event loop would stand in the way of tests that run their own
def browser() -> Iterator[Browser]:
    """Chromium, the one that CEAR_CHROMIUM names or Debian's. Whoever names one must have it."""
    if not CHROMIUM.exists():
        assert "CEAR_CHROMIUM" not in os.environ, f"CEAR_CHROMIUM names {CHROMIUM}, which is not there"
        pytest.skip(f"Chromium is not on this machine: {CHROMIUM} is not there, and CEAR_CHROMIUM names no other")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Opens a page as a person of her own would; nothing may be wrong in its console when the test is over."""
    contexts: list[BrowserContext] = []
    wrong: list[str] = []

    def open_(service: Service, view: str = "", **options: Any) -> Page:
        context = browser.new_context(base_url=service.address, reduced_motion="reduce", **options)
        contexts.append(context)
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("dialog", lambda dialog: _answer(dialog, wrong))
        page.on("console", lambda message: wrong.append(message.text) if "Security Policy" in message.text else None)
        page.goto(view)
        return page

    yield open_
    for context in contexts:
        context.close()
    assert wrong == []


def _answer(dialog: Dialog, wrong: list[str]) -> None:
    """Leave a page that would rather stay; any other dialog was made by a name."""
    if dialog.type != "beforeunload":
        wrong.append(f"a dialog: {dialog.message}")
    dialog.accept()


@pytest.fixture
def page(open_page: Callable[..., Page], service: Service) -> Page:
    """The page at a desk."""
    return open_page(service)
