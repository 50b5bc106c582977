"""Who learns on folds in place of a model that cannot be trained again: our own scorer of its kind and rank."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any, ClassVar, Literal

from cear.core.context import Context
from cear.core.files import read_json, write_json
from cear.data import KnowledgeBase
from cear.retrieval.gradient import GradientConfig
from cear.retrieval.imported.config import ImportedSettings
from cear.retrieval.imported.formats import read_model
from cear.retrieval.imported.layout import model_settings
from cear.retrieval.imported.model import SCORERS
from cear.retrieval.retriever import Fitted, RetrieverConfig
from cear.retrieval.scorer import Scorer

log = logging.getLogger("cear.retrieval")

SETTINGS = "settings.json"


class StandInConfig(ImportedSettings, RetrieverConfig):
    """Our own scorer of the kind and rank of a trained model, with our own way of training it."""

    version: ClassVar[int] = 1
    data_parallel: ClassVar[bool] = True
    model: Literal["imported"] = "imported"
    """Which retriever it stands in for."""

    def settings_key(self) -> dict[str, Any]:
        """All but paths: kind and rank are what the files say."""
        return {**self.model_dump(mode="json", exclude={"path", "entities", "relations"}), "stand_in": True}

    def fit(self, kb: KnowledgeBase, folder: Path, context: Context) -> Fitted:
        """Train our own scorer; what it is stays in the folder, for a time when the model is gone."""
        config = own_settings(read_model(self).config, self.fold)
        log.info(
            "%s cannot be trained again: on a fold, our own %s of rank %d learns.", self.path, config.model, config.rank
        )
        write_json(folder / SETTINGS, config.model_dump(mode="json"))
        return config.fit(kb, folder, context)

    def load(self, kb: KnowledgeBase, folder: Path, context: Context) -> Scorer:
        """The scorer that was trained in a folder."""
        values = read_json(folder / SETTINGS)
        config = SCORERS[values["model"]].parse(values, source=str(folder / SETTINGS))
        return config.load(kb, folder, context)


def own_settings(there: GradientConfig, fold: dict[str, Any]) -> GradientConfig:
    """The settings of our scorer: what the model is, our defaults of training, and on top of them `fold`."""
    return type(there).parse({**model_settings(there), **fold}, source="fold")
