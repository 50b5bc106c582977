"""What the service says of itself to a client of the protocol."""

from __future__ import annotations

from typing import Any

from cear import __version__
from cear.data import KnowledgeBase
from cear.serving.reconciling.messages import Choices
from cear.serving.reconciling.properties import types_by_use

VERSION = "0.2"
_TYPES = 10  # types that are offered first
_LABELS = {
    "limit": ("Known values", "How many known values a row gets at most (0 for all)"),
    "predicted": ("Likely values", "How many values that nobody knows a row gets, with their probability (0 for none)"),
    "min_probability": ("Probability", "How probable a likely value is at least, from 0 to 1"),
}


def manifest(kb: KnowledgeBase, base: str, *, token: bool) -> dict[str, Any]:
    """The manifest of a service at this address; with a token it says how it is shown."""
    space = f"urn:cear:{kb.digest[:16]}"
    said = {
        "versions": [VERSION],
        "name": f"cear: {kb.name}",
        "identifierSpace": f"{space}:entity:",
        "schemaSpace": f"{space}:relation:",
        "serviceVersion": __version__,
        "defaultTypes": [{"id": kind, "name": kind} for kind in types_by_use(kb)[:_TYPES]],
        "view": {"url": f"{base}/#/entity/{{{{id}}}}"},
        "preview": {"url": f"{base}/reconcile/preview?id={{{{id}}}}", "width": 400, "height": 240},
        "suggest": {kind: _suggest(base, kind) for kind in ("entity", "property", "type")},
        "extend": {
            "propose_properties": {"service_url": base, "service_path": "/reconcile/properties"},
            "property_settings": [_setting(name, *words) for name, words in _LABELS.items()],
        },
    }
    return said | ({"authentication": {"type": "apiKey", "name": "Authorization", "in": "header"}} if token else {})


def _suggest(base: str, kind: str) -> dict[str, str]:
    return {
        "service_url": base,
        "service_path": f"/reconcile/suggest/{kind}",
        "flyout_service_url": base,
        "flyout_service_path": f"/reconcile/flyout/{kind}?id=${{id}}",
    }


def _setting(name: str, label: str, help_text: str) -> dict[str, Any]:
    default = Choices.model_fields[name].default
    return {"name": name, "label": label, "type": "number", "default": default, "help_text": help_text}
