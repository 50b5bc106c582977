"""How the OpenAPI document tells of messages that are JSON inside a parameter or a form."""

from __future__ import annotations

import json
from typing import Any

from cear.serving.models import failures
from cear.serving.reconciling.messages import BATCH, EXTENSION


def _inlined(schema: dict[str, Any]) -> dict[str, Any]:
    """A JSON schema without references: inside a parameter there is no place that they could point to."""
    parts = schema.get("$defs", {})

    def without(value: Any) -> Any:
        if isinstance(value, list):
            return [without(each) for each in value]
        if not isinstance(value, dict):
            return value
        if "$ref" in value:
            return without(parts[value["$ref"].rpartition("/")[2]])
        return {key: without(each) for key, each in value.items() if key != "$defs"}

    found: dict[str, Any] = without(schema)
    return found


EXAMPLES: dict[str, Any] = {
    "queries": {"q0": {"query": "Munich", "limit": 3}},
    "extend": {"ids": ["Q1726"], "properties": [{"id": "P17", "settings": {"predicted": 3}}]},
}
_SCHEMAS = {"queries": _inlined(BATCH.json_schema()), "extend": _inlined(EXTENSION.json_schema())}
_SAID = {"queries": "Queries by their keys.", "extend": "Entities, and the properties whose values are wanted."}


def _parameter(name: str) -> dict[str, Any]:
    content = {"application/json": {"schema": _SCHEMAS[name], "example": EXAMPLES[name]}}
    return {"name": name, "in": "query", "required": False, "description": _SAID[name], "content": content}


PARAMETERS: dict[str, Any] = {"parameters": [_parameter(name) for name in _SCHEMAS]}
"""The fields as parameters of GET."""


def _form_field(name: str) -> dict[str, Any]:
    """A field that is JSON: the document says so in words of JSON Schema, and by a format for who knows only these."""
    inside = {"contentMediaType": "application/json", "contentSchema": _SCHEMAS[name]}
    return {"type": "string", "format": f"reconciliation-{name}", "description": _SAID[name], **inside}


FORM: dict[str, Any] = {
    "requestBody": {
        "required": False,  # without one, the manifest is told
        "content": {
            "application/x-www-form-urlencoded": {
                "schema": {"type": "object", "properties": {name: _form_field(name) for name in _SCHEMAS}},
                "example": {"queries": json.dumps(EXAMPLES["queries"])},
            }
        },
    }
}
"""The fields as those of a form that is sent by POST."""


def told_in_json(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The failures of a route whose answer is none of JSON: they are told in JSON all the same."""
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/Failure"}}}
    return {
        status: {"description": each["description"], "content": content} for status, each in failures(*statuses).items()
    }
