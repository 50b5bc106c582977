"""From a trained model to one of our scorers over a knowledge base: rows are found by id, never by position."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import numpy as np
import torch
from rapidfuzz import process, utils
from torch import Tensor

from cear.core.errors import DataError, MismatchError
from cear.core.types import Bools, Ints
from cear.data import KnowledgeBase, Vocabulary
from cear.retrieval.conve import ConvESettings
from cear.retrieval.embeddings import Embeddings, Rows
from cear.retrieval.embeddings.embedding import Inverse, Start
from cear.retrieval.imported.model import TrainedModel
from cear.retrieval.scorer import Scorer

log = logging.getLogger("cear.retrieval")

_NONE = -1  # the row of an id that the model lacks
_SHOWN = 3  # ids in an error


def scorer_of(model: TrainedModel, kb: KnowledgeBase) -> Scorer:
    """One of our scorers with the numbers of a model, for the entities and relations of a knowledge base."""
    _refuse_no_inverse(model)
    entities, relations = _entity_rows(model, kb), _relation_rows(model, kb)
    scorer = model.config.scorer(GivenRows(model, entities, relations))
    network = {name: tensor for name, tensor in model.tensors.items() if name not in ("entity", "relation")}
    if "bias" in network:
        network["bias"] = _taken(network["bias"], entities)
    try:
        missing, unknown = scorer.load_state_dict(network, strict=False)
    except RuntimeError as error:
        raise _other_shape(model, str(error)) from None
    if unknown or any(not name.startswith(("entity.", "relation.", "phase.")) for name in missing):
        raise _other_shape(model, f"weights without a place: {unknown}; places without a weight: {missing}")
    return scorer.eval()


class GivenRows(Embeddings):
    """The vectors of a model; where the inverse of a relation has none, the algebra of the scorer gives it."""

    seed = 0

    def __init__(self, model: TrainedModel, entities: Ints, relations: Ints) -> None:
        self.n_entities, self.n_relations = len(entities), len(relations)
        self._model, self._entities, self._relations = model, entities, relations

    def entities(self, width: int, *, start: Start | None = None) -> Rows:
        """The vector of each entity."""
        del start
        return Rows(_taken(self._given("entity", width), self._entities))

    def relations(self, width: int, *, inverse: Inverse, start: Start | None = None) -> Rows:
        """The vector of each relation, then that of its reciprocal: the model's own, or the inverse of the first."""
        del start
        rows = self._given("relation", width)
        there = rows[torch.from_numpy(self._relations)]
        if self._model.reciprocal:
            back = rows[torch.from_numpy(self._relations + len(self._model.relations))]
        else:
            back = inverse(there)
        return Rows(torch.cat([there, back]))

    def _given(self, name: str, width: int) -> Tensor:
        tensor = self._model.tensors[name].float()
        if tensor.shape[1] != width:
            raise _other_shape(self._model, f"`{name}` has {tensor.shape[1]} columns where {width} are expected")
        return tensor


def _taken(rows: Tensor, which: Ints) -> Tensor:
    """These rows; the mean of all where there is none, which scores as the mean entity does under a dot product."""
    rows = rows.float()
    taken = rows[torch.from_numpy(np.maximum(which, 0))]
    taken[torch.from_numpy(which == _NONE)] = rows.mean(0)
    return taken


def _refuse_no_inverse(model: TrainedModel) -> None:
    if isinstance(model.config, ConvESettings) and not model.reciprocal:
        raise DataError(
            f"{model.source} is a ConvE without inverse relations: its network reads subjects, so it cannot rank them. "
            "Train it with inverse triples (PyKEEN: create_inverse_triples=True)."
        )


def _entity_rows(model: TrainedModel, kb: KnowledgeBase) -> Ints:
    """The row of each entity of the knowledge base, (entity,); one that no training fact mentions may have none."""
    rows = _rows(kb.entities, model.entities)
    learned = np.zeros(kb.n_entities, bool)
    learned[kb.facts("train")[:, [0, 2]]] = True
    _refuse_lacking(model, kb, kb.entities, (rows == _NONE) & learned, model.entities)
    if lacking := int((rows == _NONE).sum()):
        log.warning(
            "%s lacks %d entities that no training fact of %r mentions: each gets the mean of all vectors.",
            model.source,
            lacking,
            kb.name,
        )
    _note_others(model, "entities", len(model.entities) - int((rows != _NONE).sum()))
    return rows


def _relation_rows(model: TrainedModel, kb: KnowledgeBase) -> Ints:
    rows = _rows(kb.relations, model.relations)
    _refuse_lacking(model, kb, kb.relations, rows == _NONE, model.relations)
    _note_others(model, "relations", len(model.relations) - len(rows))
    return rows


def _rows(vocabulary: Vocabulary, ids: Sequence[str]) -> Ints:
    place = {id_: row for row, id_ in enumerate(ids)}
    return np.array([place.get(id_, _NONE) for id_ in vocabulary.table["id"]], np.int64)


def _refuse_lacking(
    model: TrainedModel, kb: KnowledgeBase, vocabulary: Vocabulary, lacking: Bools, ids: Sequence[str]
) -> None:
    if not lacking.any():
        return
    what = {"entity": "entities", "relation": "relations"}[vocabulary.kind]
    shown = [vocabulary.id(row) for row in np.flatnonzero(lacking)[:_SHOWN]]
    closest = [process.extractOne(id_, ids, processor=utils.default_process) for id_ in shown]
    pairs = [f"{id_!r} (closest there: {close[0]!r})" for id_, close in zip(shown, closest, strict=True) if close]
    raise MismatchError(
        f"The model in {model.source} lacks {int(lacking.sum()):,} of the {len(vocabulary):,} {what} of {kb.name!r}: "
        f"{', '.join(pairs)}{' …' if lacking.sum() > _SHOWN else ''}. Ids are compared as they are written. Give the "
        "data that the model was trained on, or a file of ids that are spelled as in the data."
    )


def _note_others(model: TrainedModel, what: str, count: int) -> None:
    if count:
        log.info("%s has %d %s that the knowledge base lacks: they are left out.", model.source, count, what)


def _other_shape(model: TrainedModel, why: str) -> DataError:
    return DataError(f"The weights in {model.source} are not those of `model: {model.config.model}`: {why}.")
