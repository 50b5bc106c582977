"""What the command of a record would make today."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cear.config import load_config
from cear.core.errors import CearError
from cear.pipeline import lay_out
from cear.reports import configuration_of, option_of


def steps_of(record: Mapping[str, Any]) -> dict[str, str] | None:
    """The names of the steps, by key, that its command has today; None where they cannot be laid out here."""
    command = record["provenance"]["command"]
    found = configuration_of(command)
    if found is None:
        return None
    facts, protocol = option_of(command, "--facts"), option_of(command, "--protocol")
    try:
        plan = lay_out(load_config(*found), Path("runs/none"))
        measured = plan.evaluation(
            record["split"],
            record["ties"],
            None if facts is None else int(facts),
            "care" if protocol == "care" else "ours",
        )
        return {step.key: step.name for last in (*plan.last, measured) for step in last.chain()}
    except CearError:
        return None
