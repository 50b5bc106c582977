"""ExtremeText as a retriever that plugs in: a label tree for each side, with a training of its own."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, ClassVar, Literal

from cear.core.context import Context
from cear.data import KnowledgeBase
from cear.evaluation import valid_mrr
from cear.retrieval.extreme_text.config import TreeSettings
from cear.retrieval.extreme_text.model import ExtremeText
from cear.retrieval.extreme_text.origin import origin_of
from cear.retrieval.extreme_text.training import train_extreme_text
from cear.retrieval.retriever import Fitted, Holders, Retriever, RetrieverConfig, learned
from cear.training import State


class ExtremeTextConfig(TreeSettings, RetrieverConfig):
    """A label tree over all entities, asked with the words of the query (Wydmuch et al. 2018)."""

    version: ClassVar[int] = 1
    model: Literal["extreme_text"] = "extreme_text"
    """Which retriever."""

    @property
    def settings(self) -> TreeSettings:
        """What the trees themselves are made by."""
        values = self.model_dump(include=set(TreeSettings.model_fields))
        return TreeSettings.model_validate(values | {"checkpoint_seconds": self.checkpoint_seconds})

    def fit(self, kb: KnowledgeBase, folder: Path, context: Context) -> Fitted:
        """A label tree trained to its last epoch, on the CPU; validation only measures it."""
        start = time.monotonic()
        tree, _ = train_extreme_text(
            kb, self.settings, folder, seed=context.seed, deadline=context.deadline, progress=context.progress
        )
        best = valid_mrr(kb)(tree)
        state = learned(best, epochs=self.epochs, seconds=time.monotonic() - start)
        return Fitted(tree, state)

    def load(self, kb: KnowledgeBase, folder: Path, context: Context) -> ExtremeText:
        """The trees in a folder, mapped into memory, or on another device than the CPU."""
        return ExtremeText.load(folder, origin_of(kb, self.settings), device=context.device)

    def load_in_parts(self, kb: KnowledgeBase, folder: Path, context: Context, holders: Holders) -> Retriever:
        """The trees, each side cut into subtrees that others hold."""
        del kb, context
        return holders.trees(folder)

    def details(self, training: State) -> dict[str, Any]:
        """Width and epochs."""
        return {"dim": self.dim, "epochs": training.epoch}
