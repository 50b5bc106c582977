"""KG-BERT as a retriever that plugs in."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal

from cear.core.context import Context
from cear.core.tensors import load_state
from cear.data import KnowledgeBase
from cear.retrieval.kg_bert.config import Corruption, ReadingSettings
from cear.retrieval.kg_bert.drawing import draw_held_out, draw_training
from cear.retrieval.kg_bert.reader import FactReader
from cear.retrieval.kg_bert.retriever import KgBert
from cear.retrieval.kg_bert.training import ReadingTask, sampled_mrr, truth_loss
from cear.retrieval.retriever import Fitted, RetrieverConfig
from cear.training import State, fit, load_weights

_COMPETITORS = 20  # entities drawn beside the answer of each validation query


class KgBertConfig(ReadingSettings, Corruption, RetrieverConfig):
    """A language model reads ⟨s, r, o⟩ and says whether it is true (Yao, Mao & Luo 2019), for every entity."""

    version: ClassVar[int] = 1
    data_parallel: ClassVar[bool] = True
    model: Literal["kg_bert"] = "kg_bert"
    """Which retriever."""

    def preflight(self, kb: KnowledgeBase, context: Context) -> None:
        """Refuse an encoder that is not there, or that cannot hold a fact."""
        self.build(kb, context)

    def build(self, kb: KnowledgeBase, context: Context) -> KgBert:
        """A fresh one on a pretrained encoder."""
        return KgBert(kb, FactReader(kb, self, context, encoder=self.encoder, dropout=self.dropout))

    def fit(self, kb: KnowledgeBase, folder: Path, context: Context) -> Fitted:
        """Learn training facts from their corruptions; resumes what `folder` holds.

        The best epoch is that with the best MRR of a fixed sample of validation facts, each answer among 20 entities
        drawn at random: its rank among all entities would take longer than the training.
        """
        made, learned = self.build(kb, context), draw_training(kb, self.negatives, seed=context.seed)
        judged = learned.judged(kb.n_relations)
        drawn = draw_held_out(kb, "valid", _COMPETITORS, facts=self.validate_facts, seed=context.seed)
        validate = partial(sampled_mrr, drawn=drawn, n_relations=kb.n_relations)
        task = ReadingTask(made.reader, judged.facts, judged.true, truth_loss, validate, self, context)
        state = fit(task, self.schedule, folder, key=[self.settings_key(), kb.digest], context=context)
        made.reader.model.eval()
        return Fitted(made, state)

    def load(self, kb: KnowledgeBase, folder: Path, context: Context) -> KgBert:
        """The one that was best on validation."""
        made = self.build(kb, context)
        load_state(made.reader.model, load_weights(folder))
        return made

    def details(self, training: State) -> dict[str, Any]:
        """Epochs, and among how many entities the MRR on validation was."""
        epochs = {"epochs": training.epoch, "best_epoch": training.best_epoch}
        return epochs | {"valid_mrr_among": _COMPETITORS + 1}
