"""A trained scorer for PyKEEN: its vectors as the state of the PyKEEN model that computes the same scores.

Nothing of PyKEEN is imported. Its models keep a complex coordinate as a (real, imaginary) pair where ours keep all real
parts first, and have the inverse of relation r at 2r + 1 where ours is at r + R.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
import torch
from torch import Tensor

from cear.core.errors import ConfigError
from cear.core.files import replacing
from cear.core.tensors import write_tensors
from cear.data import KnowledgeBase
from cear.retrieval.complex import ComplEx
from cear.retrieval.distmult import DistMult
from cear.retrieval.retriever import Retriever
from cear.retrieval.rotate import RotatE
from cear.retrieval.transe import TransE

WEIGHTS = "pykeen.safetensors"


@dataclass(frozen=True, eq=False)
class PykeenModel:
    """A model of PyKEEN: its class, what it is made with, and its vectors."""

    name: str
    entities: Tensor
    relations: Tensor
    """In our order: relations, then their reciprocals."""
    dimension: int
    arguments: dict[str, Any] = field(default_factory=dict)

    @property
    def state(self) -> dict[str, Tensor]:
        """What `load_state_dict` takes."""
        inverse_follows = torch.arange(len(self.relations)).view(2, -1).T.reshape(-1)  # 0, R, 1, R + 1, …
        return {
            "entity_representations.0._embeddings.weight": self.entities,
            "relation_representations.0._embeddings.weight": self.relations[inverse_follows],
        }


@torch.no_grad()
def pykeen_model(scorer: Retriever) -> PykeenModel:
    """The model of PyKEEN that scores as this one does; refused where there is none."""
    match scorer:
        case ComplEx():
            entities, relations = (_paired(each(None)) for each in (scorer.entity, scorer.relation))
            return PykeenModel("ComplEx", entities, relations, entities.shape[1] // 2, {"regularizer": None})
        case DistMult():
            entities, relations = scorer.entity(None), scorer.relation(None)
            return PykeenModel("DistMult", entities, relations, entities.shape[1], {"regularizer": None})
        case TransE():
            entities, relations = scorer.entity(None), scorer.relation(None)
            norm = {"scoring_fct_norm": scorer.distance.norm, "power_norm": scorer.distance.squared}
            return PykeenModel("TransE", entities, relations, entities.shape[1], norm)
        case RotatE() if scorer.distance.norm == 2 and not scorer.distance.squared:
            entities, phase = _paired(scorer.entity(None)), scorer.phase(None)
            rotations = _paired(torch.cat([phase.cos(), phase.sin()], -1))
            return PykeenModel("RotatE", entities, rotations, entities.shape[1] // 2)
        case RotatE():
            raise ConfigError("PyKEEN's RotatE has the Euclidean distance alone; this one has another (norm, squared).")
    raise ConfigError(
        f"PyKEEN has no model that scores as {type(scorer).__name__} does. Those that it can take are complex, "
        "distmult, transe, and rotate with norm: 2."
    )


def has_pykeen_model(scorer: Retriever) -> bool:
    """Whether PyKEEN can take it."""
    try:
        pykeen_model(scorer)
    except ConfigError:
        return False
    return True


def export_pykeen(folder: Path, scorer: Retriever, kb: KnowledgeBase) -> list[Path]:
    """Write weights that PyKEEN loads, which integer is which entity and relation, and the lines that load them."""
    model = pykeen_model(scorer)
    write_tensors(folder / WEIGHTS, {name: each.detach().cpu() for name, each in model.state.items()})
    names = {"entity_to_id.tsv": kb.entities, "relation_to_id.tsv": kb.relations}
    for name, vocabulary in names.items():
        with replacing(folder / name) as partial:
            labels = pl.DataFrame({"id": range(len(vocabulary)), "label": vocabulary.table["id"]})
            labels.write_csv(partial, separator="\t")
    with replacing(folder / "README.md") as partial:
        partial.write_text(_readme(model, kb), encoding="utf-8")
    return [folder / name for name in (WEIGHTS, *names, "README.md")]


def _readme(model: PykeenModel, kb: KnowledgeBase) -> str:
    arguments = {"embedding_dim": model.dimension, **model.arguments}
    said = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
    return f"""# {model.name} for PyKEEN

{kb.n_entities} entities and {kb.n_relations} relations of {Path(kb.name).name!r}, whose integers are in
`entity_to_id.tsv` and `relation_to_id.tsv`. Inverse relations have vectors of their own: `predict_t` and `predict_h`
give the scores that were measured.

```python
import torch
from pykeen.models import {model.name}
from pykeen.triples import CoreTriplesFactory
from safetensors.torch import load_file

nothing = torch.empty(0, 3, dtype=torch.long)
triples = CoreTriplesFactory(nothing, {kb.n_entities}, {kb.n_relations}, create_inverse_triples=True)
model = {model.name}(triples_factory=triples, {said})
model.load_state_dict(load_file("{WEIGHTS}"))
```
"""


def _paired(vectors: Tensor) -> Tensor:
    """Real parts first, then imaginary ones, as (real, imaginary) pairs: (row, 2 rank) -> (row, 2 rank)."""
    return torch.stack(vectors.chunk(2, -1), -1).flatten(-2)
