"""The service over HTTP: questions, many at once, refusals, limits, start and end, and its own description."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import pytest

from cear.core.errors import DataError
from cear.serving.answering import Answering, Question
from cear.serving.app import Host, create_app
from cear.serving.batching import Busy
from cear.serving.desk import Desk
from cear.serving.settings import ServiceSettings

CHANGE = {"X-Cear": "1"}


def ask(client_of: Any, app: Any, method: str, path: str, **options: Any) -> Any:
    """The answer to one request."""

    async def one() -> Any:
        async with client_of(app) as client:
            return await client.request(method, path, **options)

    return asyncio.run(one())


def get(client_of: Any, app: Any, path: str, **parameters: Any) -> Any:
    return ask(client_of, app, "GET", path, params=parameters)


class TestQuestions:
    def test_ask_answers_as_the_run_does(self, desk: Any, client_of: Any) -> None:
        told = get(client_of, create_app(desk), "/ask", subject="Person 1", relation="born_in", k=3)
        expected = desk.run.ask("born_in", subject="p1", k=3)
        assert told.status_code == 200
        assert told.json()["question"] == {
            "subject": {"id": "p1", "name": "Person 1"},
            "relation": {"id": "born_in", "name": "born_in"},
            "object": None,
        }
        assert [each["id"] for each in told.json()["answers"]] == [each.id for each in expected]
        first = told.json()["answers"][-1]
        assert first == {name: pytest.approx(value, abs=1e-4) for name, value in asdict(expected[-1]).items()}

    def test_judge_answers_as_the_run_does(self, desk: Any, client_of: Any) -> None:
        facts = [["p1", "born_in", "city1"], ["Nobody knows me", "born_in", "city1"]]
        told = ask(client_of, create_app(desk), "POST", "/judge", json={"facts": facts, "why": True}, headers=CHANGE)
        known, unknown = told.json()["judged"]
        assert known["subject"] == {"id": "p1", "name": "Person 1"}
        assert known["probability"] == pytest.approx(desk.run.judge(facts[:1])["probability"][0], abs=1e-4)
        assert (known["note"], bool(known["reasons"])) == (None, True)
        assert "unknown" in unknown["note"]

    def test_why_says_what_the_run_says(self, desk: Any, client_of: Any) -> None:
        told = get(client_of, create_app(desk), "/why", subject="p1", relation="speaks", answer="lang1").json()
        said = desk.run.why("speaks", subject="p1", answers=["lang1"])[0].as_json(desk.run.kb)
        assert told["sentence"] == said["sentence"]
        assert told["similar"] == said["support"]
        assert [rule["facts"] for rule in told["rules"]] == [rule["facts"] for rule in said["rules"]]
        assert (told["place"], told["candidates"]) == (said["place"], said["candidates"])

    def test_entities_and_relations_by_name(self, desk: Any, client_of: Any) -> None:
        app = create_app(desk)
        assert get(client_of, app, "/entities", q="Person 17", limit=1).json()["entities"] == [
            {"id": "p17", "name": "Person 17", "description": None}
        ]
        found = get(client_of, create_app(replace(desk)), "/relations", q="BORN").json()["relations"]
        kb = desk.run.kb
        facts = sum(
            int((kb.facts(split)[:, 1] == kb.relations.find("born_in")).sum()) for split in ("train", "valid", "test")
        )
        assert found == [{"id": "born_in", "name": "born_in", "facts": facts}]


class TestRefusals:
    @pytest.mark.parametrize(
        ("path", "status", "sentence"),
        [
            ("/ask?subject=Persn 1&relation=born_in", 404, "Did you mean 'Person 1'"),
            ("/ask?subject=p1&relation=born", 404, "born_in"),
            ("/ask?subject=p1&object=city1&relation=born_in", 400, "Ask for one end"),
            ("/ask?relation=born_in", 400, "Ask for one end"),
            ("/ask?subject=p1&relation=born_in&k=0", 422, "k: "),
            ("/ask?subject=p1&relation=born_in&k=101", 422, "k: "),
            ("/ask?subject=p1&relation=born_in&k=ten", 422, "k: "),
            ("/ask?subject=p1", 422, "relation: "),
            ("/ask?subject=p1&relation=born_in&object=", 422, "object: "),
            (f"/ask?subject={'x' * 501}&relation=born_in", 422, "subject: "),
            ("/why?subject=p1&relation=born_in&answer=nowhere", 404, "nowhere"),
            ("/entities", 422, "q: "),
            ("/nothing", 404, "nothing at this address"),
            ("/complete/17", 404, "no job"),
        ],
    )
    def test_each_says_what_and_why(self, desk: Any, client_of: Any, path: str, status: int, sentence: str) -> None:
        told = ask(client_of, create_app(desk), "GET", path)
        assert (told.status_code, [*told.json()]) == (status, ["error"])
        assert sentence in told.json()["error"]

    def test_a_method_that_an_address_lacks_is_told_those_that_it_has(self, desk: Any, client_of: Any) -> None:
        told = ask(client_of, create_app(desk), "PUT", "/decisions", headers=CHANGE)
        assert told.status_code == 405
        assert {*told.headers["allow"].split(", ")} == {"GET", "POST"}

    def test_no_fact_too_many_and_wrong_ones_are_not_judged(self, desk: Any, client_of: Any) -> None:
        fact = ["p1", "born_in", "city1"]
        for facts, status in (([], 422), ([fact] * 501, 422), ([fact[:2]], 422), ([["p1", "bor", "city1"]], 404)):
            app = create_app(replace(desk))
            assert ask(client_of, app, "POST", "/judge", json={"facts": facts}, headers=CHANGE).status_code == status


class Slow:
    """Takes the place of who answers: writes down what it is asked, and waits to be let go."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.go, self.batches = threading.Event(), []
        answer = Answering.answer_many

        def slowly(answering: Answering, questions: Sequence[Question]) -> Any:
            self.batches.append([each.k for each in questions])
            assert self.go.wait(30)
            return answer(answering, questions)

        monkeypatch.setattr(Answering, "answer_many", slowly)

    async def until(self, batches: int) -> None:
        """Wait until so many batches were begun."""
        while len(self.batches) < batches:
            await asyncio.sleep(0.005)


def question(k: int) -> dict[str, Any]:
    return {"subject": "p1", "relation": "speaks", "k": k}


class TestManyAtOnce:
    def test_who_waits_together_is_answered_in_one_pass_each_with_the_own_answer(
        self, desk: Any, client_of: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        slow = Slow(monkeypatch)

        async def all_of_them() -> Any:
            async with client_of(create_app(desk)) as client:
                first = asyncio.create_task(client.get("/ask", params=question(1)))
                await slow.until(1)
                others = [asyncio.create_task(client.get("/ask", params=question(k))) for k in range(2, 12)]
                while desk.waiting < 10:
                    await asyncio.sleep(0.005)
                slow.go.set()
                return await asyncio.gather(first, *others)

        answers = asyncio.run(all_of_them())
        assert [len(each) for each in slow.batches] == [1, 10]
        ranked = [sum(a["rank"] > 0 for a in told.json()["answers"]) for told in answers]
        assert ranked[:5] == [1, 2, 3, 4, 5]

    def test_who_comes_when_the_room_is_full_is_told_when_to_come_again(
        self, desk: Any, client_of: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        slow, small = Slow(monkeypatch), replace(desk, settings=ServiceSettings(room=2, most=1))

        async def five() -> Any:
            async with client_of(create_app(small)) as client:
                first = asyncio.create_task(client.get("/ask", params=question(1)))
                await slow.until(1)
                waiting = [asyncio.create_task(client.get("/ask", params=question(k))) for k in (2, 3)]
                while small.waiting < 2:
                    await asyncio.sleep(0.005)
                refused = await client.get("/ask", params=question(4))
                slow.go.set()
                return refused, await asyncio.gather(first, *waiting)

        refused, answered = asyncio.run(five())
        assert refused.status_code == 503
        assert int(refused.headers["retry-after"]) >= 1
        assert "Come again" in refused.json()["error"]
        assert [each.status_code for each in answered] == [200] * 3

    def test_who_waits_too_long_is_told_and_costs_nothing(
        self, desk: Any, client_of: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        slow, hasty = Slow(monkeypatch), replace(desk, settings=ServiceSettings(patience=0.05, most=1))

        async def two() -> Any:
            async with client_of(create_app(hasty)) as client:
                first = asyncio.create_task(client.get("/ask", params=question(1)))
                await slow.until(1)
                second = asyncio.create_task(client.get("/ask", params=question(2)))
                await asyncio.sleep(0.2)
                slow.go.set()
                return await first, await second

        first, second = asyncio.run(two())
        assert (first.status_code, second.status_code) == (200, 503)
        assert "retry-after" in second.headers
        assert slow.batches == [[1]]

    def test_what_a_client_gave_up_is_not_computed(
        self, desk: Any, client_of: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        slow, app = Slow(monkeypatch), create_app(replace(desk, settings=ServiceSettings(most=1)))
        leaving = asyncio.Event()

        async def leaves_soon() -> None:
            sent = [{"type": "http.request", "body": b"", "more_body": False}]

            async def receive() -> Any:
                if sent:
                    return sent.pop()
                await leaving.wait()
                return {"type": "http.disconnect"}

            async def send(message: Any) -> None:
                pass

            scope = {"type": "http", "method": "GET", "path": "/ask", "headers": [(b"host", b"localhost")]}
            await app({**scope, "query_string": b"subject=p1&relation=speaks&k=2"}, receive, send)

        async def three() -> Any:
            async with client_of(app) as client:
                first = asyncio.create_task(client.get("/ask", params=question(1)))
                await slow.until(1)
                second = asyncio.create_task(leaves_soon())
                await asyncio.sleep(0.1)
                third = asyncio.create_task(client.get("/ask", params=question(3)))
                await asyncio.sleep(0.1)
                leaving.set()
                await second
                slow.go.set()
                return await asyncio.gather(first, third)

        assert [each.status_code for each in asyncio.run(three())] == [200, 200]
        assert slow.batches == [[1], [3]]

    def test_who_waits_when_the_service_ends_is_answered(self, desk: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        slow = Slow(monkeypatch)

        async def ending() -> Any:
            asked = [asyncio.create_task(desk.ask(Question("speaks", subject="p1", k=k))) for k in range(1, 6)]
            await slow.until(1)
            slow.go.set()
            await desk.close()
            with pytest.raises(Busy):
                await desk.ask(Question("speaks", subject="p1"))
            return await asyncio.gather(*asked)

        assert [sum(each.rank > 0 for each in answers) for answers in asyncio.run(ending())] == [1, 2, 3, 4, 5]


class TestStart:
    def test_it_lives_at_once_and_is_ready_when_it_can_answer(self, desk: Any, client_of: Any) -> None:
        loaded, ready = threading.Event(), threading.Event()

        def opener() -> Desk:
            assert loaded.wait(30)
            found: Desk = desk
            return found

        async def watch() -> list[int]:
            async with client_of(create_app(opener, host=Host(ready=ready.set))) as client:
                before = [(await client.get(path)).status_code for path in ("/health", "/ready", "/ask", "/proposals")]
                assert "retry-after" in (await client.get("/ask")).headers
                loaded.set()
                while not ready.is_set():
                    await asyncio.sleep(0.01)
                asked = (await client.get("/ask", params=question(1))).status_code
                return [*before, (await client.get("/ready")).status_code, asked]

        assert asyncio.run(watch()) == [200, 503, 503, 503, 200, 200]

    def test_whoever_runs_it_hears_why_it_cannot_start(self, client_of: Any) -> None:
        heard: list[Exception] = []

        def opener() -> Desk:
            raise DataError("There is no run.")

        async def watch() -> None:
            async with client_of(create_app(opener, host=Host(failed=heard.append))):
                while not heard:
                    await asyncio.sleep(0.01)

        asyncio.run(watch())
        assert str(heard[0]) == "There is no run."


class TestDescription:
    def test_every_example_works(self, desk: Any, client_of: Any) -> None:
        app = create_app(desk)
        document = app.openapi()
        called = []

        async def call_all() -> None:
            async with client_of(app) as client:
                for path, operations in document["paths"].items():
                    for method, operation in operations.items():
                        if (wanted := example_of(operation)) is not None:
                            told = await client.request(method, filled(path, operation), headers=CHANGE, **wanted)
                            assert told.status_code < 300, (method, path, wanted, told.text)
                            called.append(path)

        asyncio.run(call_all())
        assert {"/ask", "/judge", "/why", "/entities", "/relations", "/health"} <= {*called}

    def test_requests_are_counted_by_route_and_never_by_what_was_asked(self, desk: Any, client_of: Any) -> None:
        async def ask_and_count() -> str:
            async with client_of(create_app(desk)) as client:
                await client.get("/ask", params=question(3))
                await client.get("/complete/a-secret")
                await client.get("/another-secret")
                return str((await client.get("/metrics")).text)

        counted = asyncio.run(ask_and_count())
        assert 'cear_requests_total{method="GET",route="/ask",status="200"} 1.0' in counted
        assert 'route="/complete/{job}",status="404"' in counted
        assert "cear_questions_answered 1.0" in counted
        assert "secret" not in counted


def example_of(operation: dict[str, Any]) -> dict[str, Any] | None:
    """The parameters and the body of an example; None where something that is needed has none."""
    parameters, options = {}, {}
    for each in operation.get("parameters", []):
        if each["in"] == "query":
            if shown := each.get("examples"):
                parameters[each["name"]] = next(iter(shown.values()))["value"]
            elif each["required"]:
                return None
        elif not each.get("examples"):
            return None
    if body := operation.get("requestBody"):
        shown = next(iter(body["content"].values())).get("examples")
        if not shown:
            return None
        options["json"] = next(iter(shown.values()))["value"]
    return {"params": parameters, **options}


def filled(path: str, operation: dict[str, Any]) -> str:
    """The path with the examples of its parameters."""
    for each in operation.get("parameters", []):
        if each["in"] == "path":
            path = path.replace(f"{{{each['name']}}}", str(next(iter(each["examples"].values()))["value"]))
    return path
