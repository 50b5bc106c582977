"""Keys by content: what a piece of work was made with, as one short text."""

from __future__ import annotations

import hashlib
import json
from typing import Any


def content_key(*parts: Any) -> str:
    """A hash of values of JSON; equal values have equal keys, whatever the order of a dictionary.

    >>> content_key({"a": 1, "b": [2.0]}) == content_key({"b": [2.0], "a": 1})
    True
    """
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
