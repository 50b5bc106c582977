"""What the benchmarks of completion share: data written anew, what Stage 1 says of facts, records by data set."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import logsumexp

from cear.completion.views import VIEW_FEATURES
from cear.config import RunConfig, load_config
from cear.core.blocks import blocks, rows_within
from cear.core.files import read_json, write_json
from cear.core.types import Floats, Ints, Queries, Split
from cear.data import KnowledgeBase
from cear.evaluation import checked_scores
from cear.reports import Provenance
from cear.retrieval import Retriever

FINAL, STAGE2, STAGE1 = map(VIEW_FEATURES.index, ("final score", "score of the last stage", "Stage 1's score"))
"""The places of these features in a view of a proposal."""


def demo_config(overrides: list[str]) -> RunConfig:
    """The demo's configuration with these settings on top; nothing is trained once more after the measuring."""
    return load_config("demo", ["refit=false", *overrides])


def write_facts(folder: Path, facts: Mapping[Split, Ints], kb: KnowledgeBase) -> Path:
    """A folder with these facts and the names that the knowledge base has: data like any other."""
    folder.mkdir(parents=True, exist_ok=True)
    entities, relations = kb.entities.table["id"], kb.relations.table["id"]
    for split, rows in facts.items():
        lines = [f"{entities[s]}\t{relations[r]}\t{entities[o]}\n" for s, r, o in rows.tolist()]
        (folder / f"{split}.txt").write_text("".join(lines), encoding="utf-8")
    for kind, vocabulary in (("entity", kb.entities), ("relation", kb.relations)):
        names = [f"{id_}\t{name}\n" for id_, name in vocabulary.table.select("id", "name").iter_rows()]
        (folder / f"{kind}2text.txt").write_text("".join(names), encoding="utf-8")
    return folder


def stage1_says(retriever: Retriever, facts: Ints, kb: KnowledgeBase) -> tuple[Floats, Floats]:
    """The scores of facts as answers of ⟨s, r, ?⟩ and of ⟨?, r, o⟩, and their log-softmax over all entities.

    Both are (fact, 2). A question that several facts answer is asked once.
    """
    s, r, o = facts.T
    queries = Queries(np.concatenate([s, o]), np.concatenate([r, r + kb.n_relations]))
    answers, (once, place) = np.concatenate([o, s]), queries.distinct()
    order = np.argsort(place, kind="stable")
    raw, soft = np.empty((2, len(answers)))
    for block in blocks(len(once), rows_within(16 * kb.n_entities, least=1)):
        scores = checked_scores(retriever, once[block])
        here = order[slice(*np.searchsorted(place[order], [block.start, block.stop]))]
        row = place[here] - block.start
        raw[here] = scores[row, answers[here]]
        soft[here] = raw[here] - logsumexp(scores, axis=1)[row]
    return raw.reshape(2, -1).T, soft.reshape(2, -1).T


def keep(path: Path, what: str, kb: KnowledgeBase, entry: Mapping[str, Any], **made: Any) -> None:
    """Write what was measured on a knowledge base into the record, beside what it holds of others.

    `made` says how: the `config`, and the `seconds` or the `steps` that it took.
    """
    there = read_json(path).get("data", {}) if path.exists() else {}
    provenance = Provenance.collect(data=kb.name, digest=kb.digest, **made)
    there[kb.name] = {**entry, "provenance": provenance.as_json()}
    write_json(path, {"what": what, "data": there})
    print(path)
