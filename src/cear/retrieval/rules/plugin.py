"""Rules as a retriever that plugs in: counted in one go, nothing trained."""

from __future__ import annotations

import time
from pathlib import Path
from typing import ClassVar, Literal

from cear.core.context import Context
from cear.core.errors import MismatchError
from cear.data import KnowledgeBase
from cear.evaluation import valid_mrr
from cear.retrieval.retriever import Fitted, RetrieverConfig, learned
from cear.retrieval.rules.config import RuleSettings
from cear.retrieval.rules.retriever import RuleRetriever
from cear.retrieval.rules.rulebook import RuleBook, learn_rules, load_rules, save_rules

RULES = "rules.safetensors"


class RulesConfig(RuleSettings, RetrieverConfig):
    """Rules in the manner of AnyBURL, learned by counting."""

    version: ClassVar[int] = 1
    model: Literal["rules"] = "rules"
    """Which retriever."""

    @property
    def settings(self) -> RuleSettings:
        """What the rules themselves are learned and put together by."""
        return RuleSettings.model_validate(self.model_dump(include=set(RuleSettings.model_fields)))

    def fit(self, kb: KnowledgeBase, folder: Path, context: Context) -> Fitted:
        """Rules learned from the training facts, on the CPU; validation only measures them."""
        if (folder / RULES).exists():
            self._kept(kb, folder)  # or somebody else's would be overwritten
        start, facts = time.monotonic(), kb.facts("train")
        book = learn_rules(
            facts, kb.n_entities, kb.n_relations, self.settings, seed=context.seed, progress=context.progress
        )
        save_rules(folder / RULES, book, digest=kb.digest)
        retriever = RuleRetriever(book)
        state = learned(valid_mrr(kb)(retriever), epochs=1, seconds=time.monotonic() - start)
        return Fitted(retriever, state)

    def load(self, kb: KnowledgeBase, folder: Path, context: Context) -> RuleRetriever:
        """The rules in a folder, to fire on the device of the context."""
        return RuleRetriever(self._kept(kb, folder), context.device)

    def _kept(self, kb: KnowledgeBase, folder: Path) -> RuleBook:
        """The rules in a folder, refused where they are not of this knowledge base and these settings."""
        path = folder / RULES
        book = load_rules(path, digest=kb.digest)
        if book.config != self.settings:
            raise MismatchError(
                f"The rules in {path} were learned with other settings:\n  there: {book.config}\n"
                f"  here:  {self.settings}\nUse another folder, or go back to what they were learned with."
            )
        return book
