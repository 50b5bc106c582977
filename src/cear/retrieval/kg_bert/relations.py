"""Relation prediction: a language model reads both ends of a fact and says which relation holds between them."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
from torch import nn

from cear.core.context import HERE, Context
from cear.core.progress import Progress, silent
from cear.core.tensors import load_state
from cear.core.types import SPLITS, Floats, Ints, Ragged, Ranks, Split
from cear.data import KnowledgeBase
from cear.evaluation import MRR, measure, rank_rows, sample_facts
from cear.retrieval.kg_bert.config import ReadingSettings
from cear.retrieval.kg_bert.reader import EndsReader, FactReader
from cear.retrieval.kg_bert.training import ReadingTask
from cear.training import fit, load_weights


class RelationPredictor:
    """Scores every relation between the ends of a fact."""

    def __init__(self, kb: KnowledgeBase, reader: FactReader) -> None:
        self.kb, self.reader = kb, reader

    def scores(self, facts: Ints, *, progress: Progress = silent) -> Floats:
        """The logit of each relation between s and o of each fact, whose r is not read: (fact, relation)."""
        return self.reader.read(facts, progress=progress)

    def ranks(self, split: Split, *, facts: int | None = None, progress: Progress = silent) -> Ranks:
        """Where the relation of each fact of a split, or of a fixed sample of them, stands among all relations.

        Filtered: other relations that this split or one before it has between the same ends do not count.
        """
        asked = self.kb.facts(split)
        if facts is not None:
            asked = asked[sample_facts(self.kb, split, facts)]
        known = _relations_between(self.kb, asked, SPLITS[: SPLITS.index(split) + 1])
        scores = self.scores(asked, progress=progress).reshape(len(asked), self.kb.n_relations)
        return rank_rows(scores, np.arange(len(asked)), Ragged.singles(asked[:, 1]), [known.row])[0]


class RelationPredictionConfig(ReadingSettings):
    """`[CLS] s [SEP] o [SEP]` and a softmax over all relations (Yao, Mao & Luo 2019, Eq. 3 and 4)."""

    epochs: int = 20
    """Passes over the facts, at most."""

    def build(self, kb: KnowledgeBase, context: Context = HERE) -> RelationPredictor:
        """A fresh one on a pretrained encoder."""
        made = partial(EndsReader, kb, self, context, encoder=self.encoder, dropout=self.dropout)
        return RelationPredictor(kb, made(outputs=kb.n_relations))

    def fit(self, kb: KnowledgeBase, folder: Path, context: Context = HERE) -> RelationPredictor:
        """Train to the best filtered MRR on a sample of validation facts; resumes what `folder` holds."""
        made, facts = self.build(kb, context), kb.facts("train")

        def validate(_: FactReader) -> float:
            return measure(made.ranks("valid", facts=self.validate_facts), measures=(MRR(),))["mrr"]

        loss = nn.functional.cross_entropy
        task = ReadingTask(made.reader, facts, facts[:, 1], loss, validate, self, context)
        fit(task, self.schedule, folder, key=[self.settings_key(), kb.digest], context=context)
        made.reader.model.eval()
        return made

    def load(self, kb: KnowledgeBase, folder: Path, context: Context = HERE) -> RelationPredictor:
        """The one that `fit` left in a folder."""
        made = self.build(kb, context)
        load_state(made.reader.model, load_weights(folder))
        return made


def _relations_between(kb: KnowledgeBase, facts: Ints, splits: tuple[Split, ...]) -> Ragged:
    """The relations that these splits have between the ends of each fact, each once."""
    known = np.unique(np.concatenate([kb.facts(split) for split in splits]), axis=0)
    pairs, row = np.unique(known[:, 0] * kb.n_entities + known[:, 2], return_inverse=True)
    table = Ragged.grouped(row, known[:, 1], len(pairs))
    return table.take(np.searchsorted(pairs, facts[:, 0] * kb.n_entities + facts[:, 2]))
