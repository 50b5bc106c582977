"""Answering with Stage 2: queries a second at k = 40, ours against two plain ways, and what 8 bits change.

    CEAR_DATA=path/to/data python benchmarks/answering.py

All ways score the same lists of FB15K-237 with the same weights, one way after the other, in one process:

    ours      surface forms tokenised once, sequences put together by concatenation, batches packed by tokens
    int8      the same with the encoder in 8-bit integers
    loop      each query is tokenised when it comes and padded to all positions of the encoder
    pairs     each of the 40 candidates is tokenised and scored alone with its query, not padded

Candidates are drawn at random and the head is untrained: neither changes how long scoring takes. The first two ways and
the loop must give the same scores, 8 bits aside. The share of padding is that of every test query of two data sets.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch

from cear.candidates import Lists, Manifest
from cear.core.context import HERE
from cear.core.files import write_json
from cear.core.types import Candidates, Floats, Queries
from cear.data import KnowledgeBase, load
from cear.reports import Provenance
from cear.reranking import SequenceConfig, SequenceReranker, Upstream
from cear.reranking.sequence.sequences import SequenceBatch
from cear.texts import pack_by_tokens, padding, positions, shuffled_batches, special_tokens

RECORD = Path("results/benchmarks/answering.json")
DATA, PADDED = "fb15k-237", ("fb15k-237", "wn18rr")
CONFIG = SequenceConfig(text="name")
K, WARM_UP = 40, 2


def random_lists(kb: KnowledgeBase, queries: int | None, *, seed: int) -> Lists:
    """Lists of k random entities for random test queries, or for all of them."""
    rng = np.random.default_rng(seed)
    asked = kb.queries("test")
    asked = asked if queries is None else asked[np.sort(rng.choice(len(asked), queries, replace=False))]
    entities = np.stack([rng.choice(kb.n_entities, K, replace=False) for _ in range(len(asked))])
    scores = np.broadcast_to(-np.arange(K, dtype=np.float32), entities.shape)
    return Lists(asked, Candidates(entities, scores), Manifest(kb.name, kb.digest, "test", K, "keep", "random"))


class PlainReader:
    """Tokenises names whenever they come up, as a script would."""

    def __init__(self, kb: KnowledgeBase, reranker: SequenceReranker) -> None:
        self._reranker, self._tokenizer = reranker, reranker.tokenizer
        self._special, self._positions = special_tokens(reranker.tokenizer), positions(reranker.model.encoder)
        self._entities, self._relations = kb.entities.table["name"], kb.relations.table["name"]

    def loop(self, lists: Lists) -> Floats:
        """The scores of each list, one list at a time, padded to all positions."""
        rows = range(len(lists))
        return np.stack([self._score(*_row(lists, row), pad_to=self._positions) for row in rows])

    def pairs(self, lists: Lists) -> Floats:
        """The scores of each candidate, one candidate at a time."""
        every = (_row(lists, row) for row in range(len(lists)))
        scores = [[self._score(e, r, [candidate])[0] for candidate in found] for e, r, found in every]
        return np.array(scores)

    @torch.inference_mode()
    def _score(self, entity: int, relation: int, candidates: list[int], *, pad_to: int = 0) -> Floats:
        tokens, slots = self._sequence(entity, relation, candidates)
        length = max(len(tokens), pad_to)
        row, where = np.full((1, length), self._special.pad), np.full((1, length), -1)
        row[0, : len(tokens)], where[0, : len(slots)] = tokens, slots
        filled = np.arange(length)[None] < len(tokens)
        batch = SequenceBatch.of(row, filled, where, len(candidates), torch.device("cpu"))
        scores: Floats = self._reranker.model(batch, torch.zeros(1, len(candidates), 3))[0].numpy()
        return scores

    def _sequence(self, entity: int, relation: int, candidates: list[int]) -> tuple[list[int], list[int]]:
        """The tokens of a list, and which candidate each belongs to."""
        special, n = self._special, len(self._relations)
        subject, asked = self._tokens(self._entities[entity]), self._tokens(self._relations[relation % n])
        end = special.ask_tail if relation < n else special.ask_head
        tokens = [special.start, *subject, special.space, end, *asked, special.separator]
        slots = [-1] * len(tokens)
        for slot, candidate in enumerate(candidates):
            form = self._tokens(self._entities[candidate])
            tokens += [*form, special.separator]
            slots += [slot] * len(form) + [-1]
        return tokens, slots

    def _tokens(self, name: str) -> list[int]:
        found: list[int] = self._tokenizer(
            name, add_special_tokens=False, truncation=True, max_length=CONFIG.form_tokens
        )["input_ids"]
        return found


def _row(lists: Lists, row: int) -> tuple[int, int, list[int]]:
    queries: Queries = lists.queries
    return int(queries.entity[row]), int(queries.relation[row]), lists.candidates.entities[row].tolist()


def timed(name: str, score: Callable[[Lists], Floats], lists: Lists) -> tuple[dict[str, float], Floats]:
    """How fast a way scores lists, after a few to warm up, and the scores."""
    score(lists[:WARM_UP])
    start = time.perf_counter()
    scores = score(lists)
    seconds = time.perf_counter() - start
    print(f"{name:>8}: {len(lists) / seconds:8.2f} queries/s", flush=True)
    return {"seconds": seconds, "queries_per_second": len(lists) / seconds}, scores


def measure(kb: KnowledgeBase, lists: Lists) -> dict[str, Any]:
    """The speed of each way, their ratios, and how their scores differ."""
    reranker = SequenceReranker(kb, CONFIG, HERE)
    with TemporaryDirectory() as place:
        reranker.save_pretrained(Path(place) / "model")
        reranker.model.eval()
        plain = PlainReader(kb, reranker)
        ways: dict[str, Callable[[Lists], Floats]] = {"ours": reranker.rerank}
        ways |= {"int8": CONFIG.load_int8(Upstream(kb), Path(place) / "model", HERE).rerank}
        ways |= {"loop": plain.loop, "pairs": plain.pairs}
        found = {name: timed(name, way, lists) for name, way in ways.items()}
    speed = {name: each["queries_per_second"] for name, (each, _) in found.items()}
    scores = {name: each for name, (_, each) in found.items()}
    return {
        "tokens_per_query": float(reranker.lengths(lists).mean()),
        **{name: each for name, (each, _) in found.items()},
        "times_faster": {a: {b: speed[a] / speed[b] for b in ("loop", "pairs")} for a in ("ours", "int8")},
        "int8_against_ours": {
            "times_faster": speed["int8"] / speed["ours"],
            **differences(scores["ours"], scores["int8"]),
        },
        "loop_against_ours": differences(scores["ours"], scores["loop"]),
    }


def differences(first: Floats, second: Floats) -> dict[str, float]:
    """How far two ways of scoring the same lists are apart."""
    return {
        "largest_score_difference": float(np.abs(first - second).max()),
        "spread_of_scores": float(np.ptp(first)),
        "correlation": float(np.corrcoef(first.ravel(), second.ravel())[0, 1]),
        "same_first_candidate": float((first.argmax(axis=1) == second.argmax(axis=1)).mean()),
    }


def padding_of(data: str, *, seed: int) -> dict[str, float]:
    """The share of padding in the batches of every test query of a data set, for answering and for training."""
    kb = load(data)
    reranker = SequenceReranker(kb, CONFIG if data == DATA else SequenceConfig(), HERE)
    lengths = reranker.lengths(random_lists(kb, None, seed=seed))
    batches = {
        "answering": pack_by_tokens(lengths, reranker.read_tokens),
        "training": shuffled_batches(lengths, CONFIG.max_tokens, np.random.default_rng(seed)),
    }
    shares = {use: padding(lengths, each) for use, each in batches.items()}
    print(f"{data}: padding {', '.join(f'{share:.2%} in {use}' for use, share in shares.items())}", flush=True)
    return {"lists": len(lengths), "tokens_per_list": float(lengths.mean()), **shares}


def parse(arguments: list[str]) -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=200, help="how many queries each way answers")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0, help="of queries and candidates")
    parser.add_argument("--out", type=Path, default=RECORD, help="where the record goes")
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> None:
    """Measure, and write the record."""
    options = parse(arguments)
    start = time.perf_counter()
    torch.set_num_threads(options.threads)
    kb = load(DATA)
    measured = measure(kb, random_lists(kb, options.queries, seed=options.seed))
    shares = {data: padding_of(data, seed=options.seed) for data in PADDED}
    config = {"queries": options.queries, "threads": options.threads, "seed": options.seed, "k": K}
    config |= {"reranker": CONFIG.model_dump()}
    provenance = Provenance.collect(config=config, data=kb.name, digest=kb.digest, seconds=time.perf_counter() - start)
    what = "queries a second of Stage 2 on random lists, the embedded encoder with an untrained head"
    record = {"what": what, "queries": options.queries, "k": K, **measured, "padding": shares}
    write_json(options.out, record | {"provenance": provenance.as_json()})
    print(f"{measured['times_faster']}; {options.out}")


if __name__ == "__main__":
    main(sys.argv[1:])
