"""The rules of a knowledge base: learned from given facts in one pass, kept in one file."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from cear.core.errors import MismatchError
from cear.core.progress import Progress, silent
from cear.core.reading import reading
from cear.core.tensors import read_tensors, write_tensors
from cear.core.types import Ints
from cear.retrieval.rules.attribute_rules import AttributeRules, learn_attribute_rules
from cear.retrieval.rules.config import RuleSettings
from cear.retrieval.rules.graph import Graph
from cear.retrieval.rules.path_rules import PathRules, learn_path_rules


@dataclass(frozen=True, slots=True, eq=False)
class RuleBook:
    """Rules, the facts that they were counted on, and the settings of both."""

    facts: Ints  # (fact, 3)
    graph: Graph
    attribute_rules: AttributeRules
    path_rules: PathRules
    config: RuleSettings
    counted: Ints | None = None  # (attribute,), how many had each when rules were counted; None where that is the graph

    @property
    def body_counts(self) -> Ints:
        """How many entities had each attribute when the rules were counted, (attribute,)."""
        return self.graph.members.counts if self.counted is None else self.counted

    def extended(self, facts: Ints, n_entities: int) -> RuleBook:
        """The same rules, with the confidence that they were learned with, over more entities and all these facts."""
        graph = Graph.of(facts, n_entities, self.graph.n_relations)
        keys, old_keys = (each.relation * n_entities + each.entity for each in (graph, self.graph))
        place = np.searchsorted(keys, old_keys)  # of each attribute, all of which somebody still has
        counted = np.zeros(len(graph.members), np.int64)
        counted[place] = self.body_counts
        old = self.attribute_rules  # whose order stays: attributes that come between two do not change theirs
        rules = AttributeRules(place[old.head].astype(np.int32), place[old.body].astype(np.int32), old.support)
        return RuleBook(facts, graph, rules, self.path_rules, self.config, counted)


def learn_rules(
    facts: Ints,
    n_entities: int,
    n_relations: int,
    config: RuleSettings | None = None,
    *,
    seed: int = 0,
    progress: Progress = silent,
) -> RuleBook:
    """The rules that these facts bear out. Nothing else is read: facts that are held out leave no trace."""
    config = config or RuleSettings()
    graph = Graph.of(facts, n_entities, n_relations)
    attribute_rules = learn_attribute_rules(graph, config, progress)
    path_rules = learn_path_rules(graph, config, seed=seed, progress=progress)
    return RuleBook(facts, graph, attribute_rules, path_rules, config)


def save_rules(path: Path, book: RuleBook, *, digest: str) -> None:
    """Write rules and their facts as one safetensors file, atomically; `digest` says of which knowledge base."""
    arrays = {"facts": book.facts} | {
        f"{kind}.{name}": getattr(rules, name)
        for kind, rules in (("attribute", book.attribute_rules), ("path", book.path_rules))
        for name in rules.__slots__
    }
    metadata = {
        "digest": digest,
        "sizes": json.dumps([book.graph.n_entities, book.graph.n_relations]),
        "config": book.config.model_dump_json(),
    }
    write_tensors(path, {name: torch.tensor(array) for name, array in arrays.items()}, metadata)


def load_rules(path: Path, *, digest: str) -> RuleBook:
    """The rules in a file, which must have been learned for the knowledge base with this digest."""
    tensors, metadata = read_tensors(path)
    there = metadata.get("digest", "none")
    if there != digest:
        raise MismatchError(
            f"The rules in {path} were learned for another knowledge base (digest {there[:12]}, this one is "
            f"{digest[:12]}). Learn them again, or load the data that they were made for."
        )
    with reading(path):
        arrays = {name: tensor.numpy() for name, tensor in tensors.items()}
        n_entities, n_relations = json.loads(metadata["sizes"])
        return RuleBook(
            facts=arrays["facts"],
            graph=Graph.of(arrays["facts"], n_entities, n_relations),
            attribute_rules=AttributeRules(*(arrays[f"attribute.{name}"] for name in AttributeRules.__slots__)),
            path_rules=PathRules(*(arrays[f"path.{name}"] for name in PathRules.__slots__)),
            config=RuleSettings.model_validate_json(metadata["config"]),
        )
