"""What a model is made from: its file says it, and is refused for anything else."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from cear.core.errors import MismatchError
from cear.data import KnowledgeBase
from cear.retrieval.extreme_text.config import TreeSettings

Origin = Mapping[str, str]


def origin_of(kb: KnowledgeBase, config: TreeSettings) -> Origin:
    """The knowledge base and the settings of a model, as words of its file."""
    return {"digest": kb.digest, "configuration": config.model_dump_json()}


def refuse_others(path: Path, metadata: Mapping[str, str], origin: Origin) -> None:
    """Raise `MismatchError` where what a file says about itself is not this."""
    for what, here in origin.items():
        there = metadata.get(what, "none")
        if there != here:
            raise MismatchError(
                f"{path} was trained with another {what}:\n  there: {there}\n  here:  {here}\n"
                "Use another folder, or delete this one to start afresh."
            )
