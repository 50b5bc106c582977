"""Every attack of the list, tried: each is refused, and what is allowed goes through."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from cear.core.errors import ConfigError, DataError, MismatchError
from cear.serving.app import create_app
from cear.serving.desk import Desk
from cear.serving.settings import ServiceSettings

TOKEN = "a token of many letters"
CHANGE = {"X-Cear": "1"}


def never() -> Desk:
    """A run that takes for ever to load: who gets through to it is told to come again."""
    raise DataError("/home/ada/secret is no run.")


def answer(settings: ServiceSettings, method: str, path: str, **options: Any) -> httpx.Response:
    """What an application answers to one request; 503 is what gets through."""
    return answer_of(create_app(never, settings), method, path, **options)


def answer_of(app: Any, method: str, path: str, *, host: str = "127.0.0.1:8000", **options: Any) -> httpx.Response:
    async def ask() -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=f"http://{host}") as client:
            return await client.request(method, path, **options)

    return asyncio.run(ask())


OPEN = ServiceSettings()
WITH_TOKEN = ServiceSettings(token=SecretStr(TOKEN))


class TestAddress:
    @pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.4", "::", "desk.example.org"])
    def test_no_address_of_other_machines_without_a_token(self, host: str) -> None:
        with pytest.raises(ConfigError, match="Give it a token"):
            ServiceSettings.parse({"host": host}, source="`cear serve`")
        assert ServiceSettings(host=host, token=SecretStr(TOKEN)).host == host

    def test_a_token_that_can_be_guessed_is_refused(self) -> None:
        with pytest.raises(ConfigError, match="can be guessed"):
            ServiceSettings.parse({"token": "secret"}, source="`cear serve`")

    def test_nobody_reads_a_token_off_the_settings(self) -> None:
        assert TOKEN not in repr(WITH_TOKEN) + str(WITH_TOKEN.model_dump())


class TestRebinding:
    @pytest.mark.parametrize("host", ["evil.example", "evil.example:8000", "127.0.0.1.evil.example", "127.0.0.1@evil"])
    def test_a_page_whose_name_was_pointed_here_is_refused(self, host: str) -> None:
        refused = answer(OPEN, "GET", "/ask", headers={"Host": host})
        assert refused.status_code == 403
        assert "not served under that name" in refused.json()["error"]

    @pytest.mark.parametrize("host", ["localhost:8000", "127.0.0.1", "[::1]:8000", "LOCALHOST"])
    def test_this_machine_by_its_names_is_served(self, host: str) -> None:
        assert answer(OPEN, "GET", "/health", headers={"Host": host}).status_code == 200

    def test_names_of_a_proxy_have_to_be_told(self) -> None:
        behind = ServiceSettings(names=("Desk.example.org",))
        assert answer(behind, "GET", "/health", headers={"Host": "desk.example.org"}).status_code == 200
        assert answer(behind, "GET", "/health", headers={"Host": "example.org"}).status_code == 403

    def test_two_names_at_once_are_refused(self) -> None:
        both = [("Host", "localhost"), ("Host", "evil.example")]
        assert answer(OPEN, "GET", "/health", headers=both).status_code == 400


class TestToken:
    @pytest.mark.parametrize(
        "header", [None, "", "Bearer", "Bearer ", f"Basic {TOKEN}", f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", TOKEN]
    )
    def test_without_the_right_one_nothing_of_the_run_is_told(self, header: str | None) -> None:
        headers = {} if header is None else {"Authorization": header}
        for path in ("/ask", "/proposals", "/metrics", "/openapi.json", "/reconcile", "/healthy", "/static"):
            refused = answer(WITH_TOKEN, "GET", path, headers=headers)
            assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer"), path

    def test_with_it_a_request_gets_through(self) -> None:
        assert answer(WITH_TOKEN, "GET", "/ask", headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 503
        assert answer(WITH_TOKEN, "GET", "/ask", headers={"Authorization": f"bearer {TOKEN}"}).status_code == 503

    def test_letters_of_any_script_are_a_wrong_token_and_no_crash(self) -> None:
        assert answer(WITH_TOKEN, "GET", "/ask", headers={"Authorization": "Bearer ä".encode()}).status_code == 401

    def test_whoever_watches_the_process_and_the_page_that_asks_for_it_need_none(self) -> None:
        assert answer(WITH_TOKEN, "GET", "/health").status_code == 200
        assert answer(WITH_TOKEN, "GET", "/ready").status_code == 503
        assert answer(WITH_TOKEN, "GET", "/").status_code == 200


class TestForgery:
    def test_what_a_form_of_another_page_can_send_changes_nothing(self) -> None:
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        for method, path in (("POST", "/decisions"), ("POST", "/complete"), ("DELETE", "/complete/1"), ("PUT", "/x")):
            refused = answer(OPEN, method, path, headers=form, content="subject=x")
            assert refused.status_code == 403
            assert "X-Cear" in refused.json()["error"]

    def test_a_script_of_another_origin_changes_nothing_even_with_the_header(self) -> None:
        for origin in ("https://evil.example", "null", "http://127.0.0.1:9999", "http://127.0.0.1:8000.evil.example"):
            refused = answer(OPEN, "POST", "/decisions", headers=CHANGE | {"Origin": origin})
            assert refused.status_code == 403, origin

    def test_our_own_page_and_programs_get_through(self) -> None:
        assert (
            answer(OPEN, "POST", "/decisions", headers=CHANGE | {"Origin": "http://127.0.0.1:8000"}).status_code == 503
        )
        assert answer(OPEN, "POST", "/decisions", headers=CHANGE).status_code == 503

    def test_the_reconciliation_protocol_asks_by_post_without_our_header_but_from_no_foreign_page(self) -> None:
        assert answer(OPEN, "POST", "/reconcile", content="queries={}").status_code == 503
        assert answer(OPEN, "POST", "/reconcile", headers={"Origin": "https://evil.example"}).status_code == 403
        assert answer(OPEN, "POST", "/reconciled").status_code == 403


ALLOWED = ServiceSettings(origins=("https://refine.example.org",))
ASKS = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "x-cear"}


class TestOrigins:
    def test_a_page_of_another_origin_may_read_nothing(self) -> None:
        for settings in (OPEN, ALLOWED):
            read = answer(settings, "GET", "/health", headers={"Origin": "https://evil.example"})
            assert "access-control-allow-origin" not in read.headers
            asked = answer(settings, "OPTIONS", "/decisions", headers={"Origin": "https://evil.example"} | ASKS)
            assert "access-control-allow-origin" not in asked.headers

    def test_one_that_is_named_may(self) -> None:
        origin = {"Origin": "https://refine.example.org"}
        assert (
            answer(ALLOWED, "GET", "/health", headers=origin).headers["access-control-allow-origin"] == origin["Origin"]
        )
        assert answer(ALLOWED, "OPTIONS", "/decisions", headers=origin | ASKS).status_code == 200
        assert answer(ALLOWED, "POST", "/decisions", headers=origin | CHANGE).status_code == 503


class TestSizes:
    SMALL = ServiceSettings(most_bytes=1000)

    def test_a_body_that_says_it_is_too_large_is_refused(self) -> None:
        refused = answer(self.SMALL, "POST", "/decisions", headers=CHANGE, content=b"x" * 1001)
        assert refused.status_code == 413
        assert answer(self.SMALL, "POST", "/decisions", headers=CHANGE, content=b"x" * 1000).status_code == 503

    def test_one_that_does_not_say_so_is_refused_when_it_is(self) -> None:
        async def drip() -> Any:
            for _ in range(11):
                yield b"x" * 100

        assert answer(self.SMALL, "POST", "/decisions", headers=CHANGE, content=drip()).status_code == 413

    @pytest.mark.parametrize("length", ["-1", "1e9", "٣"])
    def test_a_length_that_is_no_number_is_refused(self, length: str) -> None:
        headers = [(b"Content-Length", length.encode()), (b"X-Cear", b"1")]
        assert answer(self.SMALL, "POST", "/decisions", headers=headers).status_code in (400, 413)


class TestAnswers:
    def test_every_answer_tells_browsers_to_run_nothing_of_others_and_to_guess_nothing(self) -> None:
        refused = answer(OPEN, "GET", "/health", headers={"Host": "evil.example"})
        for told in (answer(OPEN, "GET", "/"), answer(OPEN, "GET", "/health"), refused):
            policy = told.headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "script-src 'self';" in policy
            assert "unsafe" not in policy
            assert "frame-ancestors 'none'" in policy
            assert told.headers["x-content-type-options"] == "nosniff"

    @pytest.mark.parametrize(
        "path", ["/static/../settings.py", "/static/%2e%2e%2fsettings.py", "/static/..%5csettings.py"]
    )
    def test_no_other_file_is_sent(self, path: str) -> None:
        assert "class ServiceSettings" not in answer(OPEN, "GET", path).text

    @pytest.mark.parametrize(
        "error",
        [
            RuntimeError("/home/ada/run: 'token'"),
            OSError("/home/ada/run"),
            MismatchError("/home/ada/run was made for other data."),
            DataError("The file /home/ada/run/run.json is empty."),
        ],
    )
    def test_an_error_shows_neither_a_trace_nor_a_path(self, error: Exception) -> None:
        app = create_app(never)
        app.state.places = ("/home/ada/run",)

        @app.get("/boom")
        def boom() -> None:
            raise error

        told = answer_of(app, "GET", "/boom")
        assert told.status_code == 500
        assert [*told.json()] == ["error"]
        assert "ada" not in told.text
        assert "Traceback" not in told.text
        assert told.headers["content-security-policy"]
