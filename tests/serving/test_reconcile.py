"""The reconciliation protocol: rows matched, columns made, and every message as the protocol's own schemas say."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("fastapi", reason="the service is an extra: pip install 'cear[serve]'")

from fastapi import FastAPI
from fastapi.testclient import TestClient
from jsonschema import Draft7Validator
from pydantic import ValidationError
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT4, DRAFT7

from cear.data import KnowledgeBase, Types, Vocabulary
from cear.serving.app import create_app
from cear.serving.desk import Desk
from cear.serving.names import NameSearch
from cear.serving.reconciling.messages import BATCH, EXTENSION
from cear.serving.routes import reconcile
from cear.serving.settings import ServiceSettings

ORIGIN = "http://127.0.0.1:3333"  # of OpenRefine


def published() -> Path | None:
    """The folder of the protocol's schemas and examples: CEAR_RECONCILIATION, or beside the data or this project."""
    data = os.environ.get("CEAR_DATA")
    beside = [Path(data).parent] if data else []
    places = [place / "reconciliation-api" for place in (*beside, Path(__file__).parents[3] / "shared")]
    chosen = os.environ.get("CEAR_RECONCILIATION")
    found = [place / "0.2" for place in ([Path(chosen)] if chosen else places)]
    return next((place for place in found if (place / "schemas").is_dir()), None)


PUBLISHED = published()
needs_schemas = pytest.mark.skipif(
    PUBLISHED is None,
    reason="the protocol's schemas are not here: CEAR_RECONCILIATION names no folder that holds 0.2/schemas/",
)
EXAMPLES = sorted((PUBLISHED / "examples").rglob("*.json")) if PUBLISHED else []


def validator(name: str) -> Draft7Validator:
    assert PUBLISHED is not None
    schemas = {path.name: json.loads(path.read_text()) for path in (PUBLISHED / "schemas").glob("*.json")}
    swagger = schemas.pop("openapi.json")
    resources = [(each["$id"], Resource(each, specification=DRAFT7)) for each in schemas.values()]
    resources.append(("http://swagger.io/v2/schema.json", Resource(swagger, specification=DRAFT4)))
    return Draft7Validator(schemas[f"{name}.json"], registry=Registry().with_resources(resources))


def valid(name: str, message: Any) -> Any:
    """The message, if it is one of this kind; without the schemas here it is taken as it is."""
    if PUBLISHED is not None:
        validator(name).validate(message)
    return message


def those(kind: str, *folders: str) -> Any:
    """A test for each example of some folders that is valid or invalid."""
    chosen = [path for path in EXAMPLES if path.parts[-2] == kind and path.parts[-3] in folders]
    return pytest.mark.parametrize("path", chosen, ids=lambda path: "/".join(path.parts[-3:]))


@pytest.fixture(scope="module")
def desk(people_run: Any, tmp_path_factory: pytest.TempPathFactory) -> Desk:
    run = replace(people_run, folder=tmp_path_factory.mktemp("desk"))
    return Desk.of(run, ServiceSettings(origins=(ORIGIN,)))


@pytest.fixture(scope="module")
def client(desk: Desk) -> Iterator[TestClient]:
    with TestClient(create_app(desk), base_url="http://127.0.0.1:8000") as client:
        yield client


def places_kb() -> KnowledgeBase:
    """Two Georgias, two Parises, and a name that would be markup."""
    names = ["Georgia", "Georgia", "Paris", "Paris", "France", "Texas", "Tbilisi", "<script>alert('x')</script>"]
    described = ["in the Caucasus", "in the <b>South</b>", *[None] * 6]
    ids = ["georgia", "georgia-us", "paris", "paris-us", "france", "texas", "tbilisi", "bad&id"]
    entities = Vocabulary.from_ids("entity", ids, names=names, descriptions=described)  # type: ignore[arg-type]
    relations = Vocabulary.from_ids(
        "relation", ["lies_in", "capital_of", "name"], names=["lies in", "capital of", "name"]
    )
    facts = np.array([(2, 0, 4), (3, 0, 5), (6, 1, 0), (7, 0, 4), (2, 2, 7)])
    kinds = [(0, 0), (1, 1), (2, 2), (3, 2), (4, 0), (5, 1), (6, 2)]
    types = Types.of_pairs(("country", "state", "city"), *np.array(kinds).T, len(ids))
    return KnowledgeBase("places", entities, relations, {"train": facts}, types=types)


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> TestClient:
    """The protocol alone, over a knowledge base that nothing was trained on."""
    kb = places_kb()
    names = NameSearch.of(kb, tmp_path_factory.mktemp("names"))
    desk = Desk(SimpleNamespace(kb=kb), names, None, None)  # type: ignore[arg-type]
    app = FastAPI()
    app.include_router(reconcile.router(desk))
    return TestClient(app)


def asked(client: TestClient, **query: Any) -> list[dict[str, Any]]:
    """The candidates of a query."""
    answer = client.post("/reconcile", data={"queries": json.dumps({"q": query})})
    assert answer.status_code == 200, answer.text
    candidates: list[dict[str, Any]] = valid("reconciliation-result-batch", answer.json())["q"]["result"]
    return candidates


def extended(client: TestClient, ids: list[str], *properties: dict[str, Any]) -> dict[str, Any]:
    """The columns of a data extension."""
    answer = client.post("/reconcile", data={"extend": json.dumps({"ids": ids, "properties": properties})})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = valid("data-extension-response", answer.json())
    return found


class TestManifest:
    def test_it_is_one_of_version_2_and_its_addresses_answer(self, client: TestClient) -> None:
        said = valid("manifest", client.get("/reconcile").json())
        assert said["versions"] == ["0.2"]
        assert "authentication" not in said
        for suggest in said["suggest"].values():
            address = suggest["service_url"] + suggest["service_path"]
            assert client.get(address, params={"prefix": "c"}).status_code == 200
        proposing = said["extend"]["propose_properties"]
        assert client.get(proposing["service_url"] + proposing["service_path"]).status_code == 200
        assert client.get(said["preview"]["url"].replace("{{id}}", "city0")).status_code == 200
        flyout = said["suggest"]["entity"]
        address = flyout["flyout_service_url"] + flyout["flyout_service_path"].replace("${id}", "city0")
        assert client.get(address).json()["id"] == "city0"

    def test_types_are_offered_the_most_common_first(self, places: TestClient) -> None:
        said = valid("manifest", places.get("/reconcile").json())
        assert [kind["id"] for kind in said["defaultTypes"]] == ["city", "country", "state"]

    def test_a_service_with_a_token_says_how_it_is_shown(self, desk: Desk) -> None:
        guarded = replace(desk, settings=ServiceSettings(token="0123456789abcdef"))  # type: ignore[arg-type]
        with_token = FastAPI()
        with_token.include_router(reconcile.router(guarded))
        said = valid("manifest", TestClient(with_token).get("/reconcile").json())
        assert said["authentication"] == {"type": "apiKey", "name": "Authorization", "in": "header"}
        assert "0123456789abcdef" not in json.dumps(said)


class TestMatching:
    def test_a_name_alone_is_matched_if_nothing_else_is_called_so(self, places: TestClient) -> None:
        assert [(each["id"], each["match"]) for each in asked(places, query="tbilisi")] == [("tbilisi", True)]
        assert [each["match"] for each in asked(places, query="georgia")] == [False, False]

    def test_a_typo_is_a_candidate_and_no_match(self, places: TestClient) -> None:
        (first,) = asked(places, query="Tbilsii")
        assert (first["id"], first["match"]) == ("tbilisi", False)
        assert first["score"] == pytest.approx(100 * 12 / 14)  # six of seven letters twice

    def test_the_right_type_goes_first(self, places: TestClient) -> None:
        first, second = asked(places, query="Georgia", type="state")
        assert (first["id"], first["score"], first["match"]) == ("georgia-us", 100.0, True)
        assert (second["id"], second["score"], second["match"]) == ("georgia", 75.0, False)  # (3 * 100 + 0) / 4
        assert first["type"] == [{"id": "state", "name": "state"}]

    @pytest.mark.parametrize(
        ("strict", "types", "found"),
        [
            ("any", ["state", "city"], ["georgia-us"]),
            ("any", "country", ["georgia"]),
            ("all", ["state", "country"], []),
            ("should", ["state", "country"], ["georgia", "georgia-us"]),
            ("any", "", ["georgia", "georgia-us"]),
        ],
    )
    def test_types_may_be_insisted_on(self, places: TestClient, strict: str, types: Any, found: list[str]) -> None:
        candidates = asked(places, query="Georgia", type=types, type_strict=strict)
        assert [each["id"] for each in candidates] == found

    @pytest.mark.parametrize("value", ["Texas", "texas", "Texs", {"id": "texas"}, [{"id": "texas", "name": "?"}]])
    def test_what_else_a_row_says_tells_namesakes_apart(self, places: TestClient, value: Any) -> None:
        first, second = asked(places, query="Paris", properties=[{"pid": "lies_in", "v": value}])
        assert (first["id"], second["id"]) == ("paris-us", "paris")
        assert first["score"] > 95 > 75 == second["score"]
        assert first["match"] is True

    def test_nothing_known_is_better_than_another_value(self, places: TestClient) -> None:
        first, second = asked(places, query="Georgia", properties=[{"pid": "^capital_of", "v": "Atlanta"}])
        assert [(first["id"], first["score"]), (second["id"], second["score"])] == [
            ("georgia-us", 87.5),
            ("georgia", 75.0),
        ]

    def test_a_property_that_is_none_counts_nothing(self, places: TestClient) -> None:
        (first,) = asked(places, query="Tbilisi", properties=[{"pid": "founded", "v": 455}])
        assert (first["score"], [each["id"] for each in first["features"]]) == (100.0, ["name"])

    def test_a_relation_called_name_is_not_taken_for_the_name(self, places: TestClient) -> None:
        first, _ = asked(places, query="Paris", properties=[{"pid": "name", "v": {"id": "bad&id"}}])
        assert {each["id"]: each["value"] for each in first["features"]} == {"name": 100.0, "property/name": 100.0}

    def test_a_row_without_a_name_is_found_by_its_values(self, places: TestClient) -> None:
        found = asked(places, properties=[{"pid": "lies_in", "v": "France"}, {"pid": "name", "v": {"id": "bad&id"}}])
        assert [(each["id"], each["score"]) for each in found] == [("paris", 100.0), ("bad&id", 75.0)]
        assert asked(places, properties=[{"pid": "uid", "v": "27eb892afbb2"}]) == []

    @pytest.mark.parametrize(("limit", "count"), [(1, 1), (1.5, 1), (0, 0), (-3, 0), (1e300, 2)])
    def test_no_more_than_asked_for_are_given(self, places: TestClient, limit: float, count: int) -> None:
        assert len(asked(places, query="Georgia", limit=limit)) == count

    def test_a_batch_by_get_is_a_batch_by_post(self, places: TestClient) -> None:
        queries = json.dumps({"a": {"query": "Paris"}, "b ": {"query": "texas"}, "c": {"query": ""}})
        got, posted = (
            places.get("/reconcile", params={"queries": queries}).json(),
            places.post("/reconcile", data={"queries": queries}).json(),
        )
        assert got == posted
        assert {key: [each["id"] for each in value["result"]] for key, value in got.items()} == {
            "a": ["paris", "paris-us"],
            "b ": ["texas"],
            "c": [],
        }


class TestExtension:
    def test_known_values_are_cells(self, places: TestClient) -> None:
        found = extended(places, ["paris", "georgia", "nowhere"], {"id": "lies_in"}, {"id": "^capital_of"})
        assert found["meta"] == [
            {"id": "lies_in", "name": "lies in"},
            {"id": "^capital_of", "name": "capital of (subjects)"},
        ]
        assert found["rows"] == {
            "paris": {"lies_in": [{"id": "france", "name": "France"}], "^capital_of": []},
            "georgia": {"lies_in": [], "^capital_of": [{"id": "tbilisi", "name": "Tbilisi"}]},
            "nowhere": {"lies_in": [], "^capital_of": []},
        }

    @pytest.mark.parametrize(("limit", "count"), [("1", 1), (1, 1), (0, 2), ("", 2), ("5", 2)])
    def test_a_limit_may_be_a_number_or_text(self, places: TestClient, limit: Any, count: int) -> None:
        found = extended(places, ["france"], {"id": "^lies_in", "settings": {"limit": limit, "other": True}})
        assert len(found["rows"]["france"]["^lies_in"]) == count

    @pytest.mark.parametrize("backwards", [False, True])
    def test_predicted_values_are_those_of_ask_with_their_probability(
        self, client: TestClient, people_run: Any, backwards: bool
    ) -> None:
        id_, pid = ("lang0", "^speaks") if backwards else ("p0", "speaks")
        end = {"object" if backwards else "subject": id_}
        answers = people_run.ask("speaks", k=4, new=True, **end)
        least = sorted(each.probability for each in answers)[-2]
        expected = [each for each in answers if each.probability >= least]
        known = len(extended(client, [id_], {"id": pid})["rows"][id_][pid])

        found = extended(client, [id_], {"id": pid, "settings": {"predicted": "4", "min_probability": str(least)}})

        row = found["rows"][id_]
        assert 2 <= len(expected) <= 4
        assert [column["id"] for column in found["meta"]] == [pid, f"{pid}#probability"]
        assert row[pid][known:] == [{"id": each.id, "name": each.name} for each in expected]
        assert row[f"{pid}#probability"][:known] == [{}] * known
        chances = [cell["float"] for cell in row[f"{pid}#probability"][known:]]
        assert chances == pytest.approx([each.probability for each in expected])

    def test_what_is_not_likely_enough_is_left_out(self, client: TestClient) -> None:
        found = extended(client, ["p0"], {"id": "speaks", "settings": {"predicted": 5, "min_probability": 1}})
        known = extended(client, ["p0"], {"id": "speaks"})
        assert found["rows"]["p0"]["speaks"] == known["rows"]["p0"]["speaks"]

    @pytest.mark.parametrize(
        ("ids", "settings"),
        [
            (600, {"predicted": 1}),
            (10_001, {}),
            (1, {"limit": "many"}),
            (1, {"limit": -1}),
            (1, {"min_probability": 2}),
            (1, {"predicted": float("inf")}),
        ],
    )
    def test_too_much_and_nonsense_are_refused(self, client: TestClient, ids: int, settings: dict[str, Any]) -> None:
        extend = {"ids": [f"p{i}" for i in range(ids)], "properties": [{"id": "speaks", "settings": settings}]}
        answer = client.post("/reconcile", data={"extend": json.dumps(extend)})
        assert answer.status_code in (400, 422)
        assert answer.json().keys() == {"error"}

    def test_properties_are_proposed_by_use(self, places: TestClient) -> None:
        cities = valid("data-extension-property-proposal", places.get("/reconcile/properties?type=city&limit=2").json())
        any_type = valid("data-extension-property-proposal", places.get("/reconcile/properties").json())
        assert cities == {
            "type": "city",
            "limit": 2,
            "properties": [{"id": "lies_in", "name": "lies in"}, {"id": "capital_of", "name": "capital of"}],
        }
        assert [each["id"] for each in any_type["properties"]] == [
            *("lies_in", "capital_of", "name"),
            *("^lies_in", "^capital_of", "^name"),
        ]
        assert places.get("/reconcile/properties?type=planet").json()["properties"] == []


class TestSuggesting:
    def test_entities_come_while_somebody_types(self, places: TestClient) -> None:
        said = valid("suggest-entities-response", places.get("/reconcile/suggest/entity?prefix=geo").json())
        after = places.get("/reconcile/suggest/entity?prefix=geo&cursor=1").json()
        first = {"id": "georgia", "name": "Georgia", "notable": [{"id": "country", "name": "country"}]}
        assert said["result"][0] == {**first, "description": "in the Caucasus"}
        assert after["result"] == said["result"][1:]

    @pytest.mark.parametrize(("prefix", "found"), [("cap", "capital_of"), ("lise in", "lies_in"), ("", "lies_in")])
    def test_properties_come_while_somebody_types(self, places: TestClient, prefix: str, found: str) -> None:
        answer = places.get("/reconcile/suggest/property", params={"prefix": prefix})
        assert valid("suggest-properties-response", answer.json())["result"][0]["id"] == found

    @pytest.mark.parametrize(("prefix", "found"), [("cou", ["country"]), ("stat", ["state"]), ("xyz", [])])
    def test_types_come_while_somebody_types(self, places: TestClient, prefix: str, found: list[str]) -> None:
        answer = places.get("/reconcile/suggest/type", params={"prefix": prefix})
        assert [each["id"] for each in valid("suggest-types-response", answer.json())["result"]] == found

    def test_a_service_without_types_suggests_none(self, client: TestClient) -> None:
        assert client.get("/reconcile/suggest/type?prefix=").json() == {"result": []}


class TestShowing:
    def test_names_are_text_in_a_preview(self, places: TestClient) -> None:
        page = places.get("/reconcile/preview", params={"id": "bad&id"})
        assert page.headers["content-type"].startswith("text/html")
        assert "<script" not in page.text
        assert "&lt;script&gt;alert(&#x27;x&#x27;)&lt;/script&gt;" in page.text
        assert "bad&amp;id" in page.text
        assert "<i>lies in</i> France" in page.text
        assert "<b>" not in places.get("/reconcile/preview?id=georgia-us").text

    def test_names_are_text_in_a_flyout(self, places: TestClient) -> None:
        said = places.get("/reconcile/flyout/entity?id=georgia-us").json()
        told = places.get("/reconcile/flyout/property?id=name").json()
        assert said == {"id": "georgia-us", "html": "<p>state</p><p>in the &lt;b&gt;South&lt;/b&gt;</p>"}
        assert told["html"] == "<p>Facts: 1</p><p>⟨Paris, name, &lt;script&gt;alert(&#x27;x&#x27;)&lt;/script&gt;⟩</p>"
        assert (
            places.get("/reconcile/flyout/entity?id=bad%26id").json()["html"]
            == "<p><i>lies in</i> France</p><p>Paris <i>name</i> …</p>"
        )
        assert places.get("/reconcile/flyout/type?id=city").json() == {"id": "city", "html": "<p>Entities: 3</p>"}

    def test_a_preview_runs_nothing_and_is_framed_by_named_origins_alone(self, client: TestClient) -> None:
        page = client.get("/reconcile/preview?id=city0")
        policy = dict(part.strip().split(" ", 1) for part in page.headers["content-security-policy"].split(";"))
        assert policy["default-src"] == "'none'"
        assert "script-src" not in policy
        assert policy["frame-ancestors"] == f"'self' {ORIGIN}"
        assert "style=" not in page.text
        assert client.get("/reconcile/preview.css").headers["content-type"].startswith("text/css")

    @pytest.mark.parametrize("what", ["preview", "flyout/entity", "flyout/property", "flyout/type"])
    def test_what_is_not_there_is_not_found(self, client: TestClient, what: str) -> None:
        answer = client.get(f"/reconcile/{what}", params={"id": "<nowhere>"})
        assert (answer.status_code, [*answer.json()]) == (404, ["error"])


class TestTransport:
    def test_jsonp_is_not_offered(self, client: TestClient) -> None:
        by_get = client.get("/reconcile?callback=stolen")
        by_post = client.post("/reconcile", data={"queries": "{}", "callback": "stolen"})
        for answer in (by_get, by_post):
            assert answer.status_code == 400
            assert "stolen" not in answer.text
            assert "JSONP is not offered" in answer.json()["error"]

    @pytest.mark.parametrize(
        "body",
        [b"queries=%7B", b"queries=[]", b"queries=NaN", b"queries=", b"extend={}", b"queries=%ff", b"queries=\xff"],
    )
    def test_what_is_no_batch_is_refused(self, client: TestClient, body: bytes) -> None:
        answer = client.post("/reconcile", content=body, headers={"Content-Type": "application/x-www-form-urlencoded"})
        assert answer.status_code in (400, 422)
        assert answer.json().keys() == {"error"}

    def test_too_many_queries_are_refused(self, client: TestClient) -> None:
        queries = json.dumps({f"q{i}": {"query": "x"} for i in range(501)})
        assert client.post("/reconcile", data={"queries": queries}).status_code == 413

    def test_a_form_without_our_header_is_answered_for_it_changes_nothing(self, client: TestClient) -> None:
        assert client.post("/reconcile", data={"queries": "{}"}).json() == {}

    def test_pages_of_a_named_origin_may_read_it_and_others_may_not(self, client: TestClient) -> None:
        named = client.get("/reconcile", headers={"Origin": ORIGIN})
        other = client.get("/reconcile", headers={"Origin": "http://evil.example"})
        assert named.headers["access-control-allow-origin"] == ORIGIN
        assert "access-control-allow-origin" not in other.headers


@needs_schemas
class TestPublishedExamples:
    """The examples that the protocol is published with."""

    @those("valid", "reconciliation-query-batch")
    @pytest.mark.parametrize("method", ["GET", "POST"])
    def test_valid_queries_are_answered(self, client: TestClient, path: Path, method: str) -> None:
        answer = send(client, method, "queries", path)
        assert answer.status_code == 200, answer.text
        assert valid("reconciliation-result-batch", answer.json()).keys() == json.loads(path.read_text()).keys()

    @those("invalid", "reconciliation-query-batch")
    @pytest.mark.parametrize("method", ["GET", "POST"])
    def test_invalid_queries_are_refused(self, client: TestClient, path: Path, method: str) -> None:
        answer = send(client, method, "queries", path)
        assert (answer.status_code, [*answer.json()]) == (422, ["error"])

    @those("valid", "data-extension-query")
    @pytest.mark.parametrize("method", ["GET", "POST"])
    def test_valid_extensions_are_answered(self, client: TestClient, path: Path, method: str) -> None:
        answer = send(client, method, "extend", path)
        assert answer.status_code == 200, answer.text
        said, wanted = valid("data-extension-response", answer.json()), json.loads(path.read_text())
        assert [column["id"] for column in said["meta"]] == [each["id"] for each in wanted["properties"]]
        assert [*said["rows"]] == wanted["ids"]

    @those("invalid", "manifest", "data-extension-response", "reconciliation-result-batch")
    def test_what_no_service_may_say_would_be_noticed(self, path: Path) -> None:
        assert not validator(path.parts[-3]).is_valid(json.loads(path.read_text()))

    @those("valid", "manifest", "data-extension-response", "reconciliation-result-batch", "suggest-entities-response")
    def test_what_other_services_say_is_valid(self, path: Path) -> None:
        assert validator(path.parts[-3]).is_valid(json.loads(path.read_text()))

    def test_all_examples_of_requests_are_tried(self) -> None:
        kinds = {path.parts[-3] for path in EXAMPLES}
        assert {"reconciliation-query-batch", "data-extension-query", "manifest"} <= kinds


def send(client: TestClient, method: str, field: str, path: Path) -> Any:
    """The answer to an example of a request."""
    where = {"params" if method == "GET" else "data": {field: path.read_text()}}
    return client.request(method, "/reconcile", **where)


texts = st.text("ab{}\"'<é", max_size=4)
plain = st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False, allow_infinity=False) | texts
entity = st.dictionaries(st.sampled_from(["id", "name", "other"]), plain, max_size=3)
values = plain | entity | st.lists(plain | entity, max_size=2)
constraint = st.fixed_dictionaries({}, optional={"pid": texts | plain, "v": values, "other": plain})
queries = st.fixed_dictionaries(
    {},
    optional={
        "query": texts | plain,
        "type": texts | st.lists(texts | plain, max_size=2) | plain,
        "limit": st.integers() | plain,
        "properties": st.lists(constraint, max_size=2) | plain,
        "type_strict": st.sampled_from(["any", "should", "all", "none"]) | plain,
    },
) | st.fixed_dictionaries({"query": texts, "other": plain})
chosen = st.dictionaries(st.sampled_from(["id", "settings", "other"]), plain | st.just({}), max_size=3)
extensions = st.fixed_dictionaries(
    {}, optional={"ids": st.lists(texts | plain) | plain, "properties": st.lists(chosen)}
)


@needs_schemas
class TestReading:
    """What is read is what the schemas allow, and nothing else."""

    @given(st.dictionaries(st.text("q1 ", max_size=2), queries, max_size=2))
    def test_queries(self, batch: Any) -> None:
        assert reads(BATCH, batch) == QUERIES.is_valid(batch)

    @given(extensions)
    def test_extensions(self, extension: Any) -> None:
        assert reads(EXTENSION, extension) == EXTENSIONS.is_valid(extension)


def reads(kind: Any, message: Any) -> bool:
    try:
        kind.validate_python(message)
    except ValidationError:
        return False
    return True


QUERIES, EXTENSIONS = (
    (validator("reconciliation-query-batch"), validator("data-extension-query")) if PUBLISHED else (None, None)
)
