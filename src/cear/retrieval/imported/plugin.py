"""A trained model of another library as a retriever that plugs in: converted once, nothing trained."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, ClassVar, Literal

from cear.core.context import Context
from cear.core.errors import MismatchError
from cear.core.files import read_json, write_json
from cear.data import KnowledgeBase
from cear.evaluation import evaluate
from cear.retrieval.imported.aligning import scorer_of
from cear.retrieval.imported.config import ImportedSettings
from cear.retrieval.imported.formats import digest_of, read_model
from cear.retrieval.imported.layout import read_scorer, write_scorer
from cear.retrieval.imported.stand_in import StandInConfig, own_settings
from cear.retrieval.retriever import Fitted, RetrieverConfig, learned
from cear.retrieval.scorer import Scorer

ORIGIN = "origin.json"


class ImportedConfig(ImportedSettings, RetrieverConfig):
    """A model that PyKEEN, LibKGE, the RotatE repository, OpenKE or anybody else has trained."""

    version: ClassVar[int] = 1
    model: Literal["imported"] = "imported"
    """Which retriever."""

    def settings_key(self) -> dict[str, Any]:
        """What the files do not say; what they say is in `brought`, wherever they are."""
        return self.model_dump(mode="json", exclude={"path", "entities", "relations", "fold"})

    def brought(self) -> str:
        """The digest of all files that are read."""
        return digest_of(self)

    def preflight(self, kb: KnowledgeBase, context: Context) -> None:
        """Refuse a model that cannot be read or is of other data, and settings of folds that its kind does not have."""
        del context
        model = read_model(self)
        scorer_of(model, kb)
        own_settings(model.config, self.fold)

    def fit(self, kb: KnowledgeBase, folder: Path, context: Context) -> Fitted:
        """The model as one of our scorers, written into the folder; validation only measures it."""
        start, origin = time.monotonic(), {"brought": self.brought(), "data": kb.digest}
        _refuse_other(folder / ORIGIN, {**origin, "settings": self.settings_key()})
        model = read_model(self)
        scorer = scorer_of(model, kb).to(context.device)
        mrr = evaluate(scorer, kb, "valid", progress=context.progress).summary()["both"]["mrr"]
        write_scorer(folder, model.config, scorer, kb)
        write_json(folder / ORIGIN, {**origin, "settings": self.settings_key()})
        return Fitted(scorer, learned(mrr, epochs=0, seconds=time.monotonic() - start))

    def load(self, kb: KnowledgeBase, folder: Path, context: Context) -> Scorer:
        """The scorer in a folder; the model itself is not needed any more."""
        return scorer_of(read_scorer(folder), kb).to(context.device)

    def on_fold(self, epochs: int | None) -> StandInConfig:
        """Our own scorer of the same kind and rank: what others have trained cannot be trained again without a fold."""
        values = self.model_dump()
        if epochs is not None:
            values["fold"] = {**self.fold, "epochs": epochs}
        return StandInConfig.model_validate(values)


def _refuse_other(path: Path, here: dict[str, Any]) -> None:
    if path.exists() and (there := read_json(path)) != here:
        raise MismatchError(
            f"{path.parent} holds another imported model:\n  there: {there}\n  here:  {here}\nUse another folder."
        )
