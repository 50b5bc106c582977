"""What Schemathesis writes where the interface wants JSON inside a form, or lines of JSON."""

from __future__ import annotations

import json
from typing import Any

import schemathesis
from hypothesis import strategies as st

QUERY = st.fixed_dictionaries({"query": st.text(max_size=10)})
PROPERTY = st.fixed_dictionaries({"id": st.text(max_size=5)})
EXTENSION = st.fixed_dictionaries(
    {"ids": st.lists(st.text(max_size=5), max_size=3), "properties": st.lists(PROPERTY, max_size=3)}
)

schemathesis.openapi.format(
    "reconciliation-queries", st.dictionaries(st.text(max_size=3), QUERY, max_size=3).map(json.dumps)
)
schemathesis.openapi.format("reconciliation-extend", EXTENSION.map(json.dumps))


@schemathesis.serializer("application/x-ndjson")
def lines(context: Any, value: Any) -> bytes:
    """A log of decisions: what is text is sent as it is."""
    del context
    text = value if isinstance(value, str) else json.dumps(value)
    return text.encode(errors="replace")
