"""Stage 1 by its configuration: a scorer that is trained, one that reads, rules that are counted, or a label tree."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from cear.core.errors import MismatchError
from cear.core.files import read_json, write_json
from cear.core.progress import Progress, silent
from cear.data import KnowledgeBase
from cear.retrieval.config import Stage1Config
from cear.retrieval.extreme_text import ExtremeText, ExtremeTextConfig, origin_of, train_extreme_text
from cear.retrieval.models import scorer_for
from cear.retrieval.rules import RuleRetriever, RulesConfig, learn_rules, load_rules, save_rules
from cear.retrieval.scorer import Retriever
from cear.retrieval.text.training import load_text, train_text
from cear.retrieval.training import train_scorer
from cear.training import NO_DEADLINE, Deadline, State, load_weights

RULES, LEARNED = "rules.safetensors", "training.json"


def train_stage1(
    kb: KnowledgeBase,
    config: Stage1Config,
    folder: Path,
    *,
    validate: Callable[[Retriever], float],
    seed: int = 0,
    deadline: Deadline = NO_DEADLINE,
    progress: Progress = silent,
) -> tuple[Retriever, State]:
    """The retriever that the configuration asks for, and how training went; continues what `folder` holds.

    `deadline` stops a training; rules are learned in one go, and a tree has parts.
    """
    if config.model == "rules":
        return _rules(kb, config.rules, folder, validate, seed=seed, progress=progress)
    if config.model == "extreme_text":
        tree = config.extreme_text
        return _extreme_text(kb, tree, folder, validate, seed=seed, deadline=deadline, progress=progress)
    if config.model == "text":
        return train_text(kb, config, folder, validate=validate, seed=seed, deadline=deadline, progress=progress)
    return train_scorer(kb, config, folder, validate=validate, seed=seed, deadline=deadline, progress=progress)


def load_stage1(kb: KnowledgeBase, config: Stage1Config, folder: Path) -> Retriever:
    """The retriever that `train_stage1` left in a folder."""
    if config.model == "rules":
        return RuleRetriever(load_rules(folder / RULES, digest=kb.digest))
    if config.model == "extreme_text":
        return ExtremeText.load(folder, origin_of(kb, config.extreme_text))
    if config.model == "text":
        return load_text(kb, config.text, folder)
    scorer = scorer_for(kb, config)
    scorer.load_state_dict(load_weights(folder))
    return scorer


def _rules(
    kb: KnowledgeBase,
    config: RulesConfig,
    folder: Path,
    validate: Callable[[Retriever], float],
    *,
    seed: int,
    progress: Progress,
) -> tuple[RuleRetriever, State]:
    """Rules learned from the training facts, or those that `folder` holds; validation only measures them."""
    if (folder / LEARNED).exists():
        book = load_rules(folder / RULES, digest=kb.digest)
        _refuse_others(folder / RULES, book.config, config)
        return RuleRetriever(book), State(**read_json(folder / LEARNED))
    start = time.monotonic()
    book = learn_rules(kb.facts("train"), kb.n_entities, kb.n_relations, config, seed=seed, progress=progress)
    save_rules(folder / RULES, book, digest=kb.digest)
    retriever = RuleRetriever(book)
    best = validate(retriever)
    return retriever, _learned(folder, best, epochs=1, seconds=time.monotonic() - start)


def _extreme_text(
    kb: KnowledgeBase,
    config: ExtremeTextConfig,
    folder: Path,
    validate: Callable[[Retriever], float],
    *,
    seed: int,
    deadline: Deadline,
    progress: Progress,
) -> tuple[ExtremeText, State]:
    """A label tree trained to its last epoch, or the one that `folder` holds; validation only measures it."""
    tree, sides = train_extreme_text(kb, config, folder, seed=seed, deadline=deadline, progress=progress)
    if (folder / LEARNED).exists():
        return tree, State(**read_json(folder / LEARNED))
    start = time.monotonic()
    best = validate(tree)
    seconds = sum(side.seconds for side in sides.values()) + time.monotonic() - start
    return tree, _learned(folder, best, epochs=config.epochs, seconds=seconds)


def _learned(folder: Path, best: float, *, epochs: int, seconds: float) -> State:
    """How a training went whose result was looked at once, at its end; kept in the folder."""
    history: list[dict[str, float]] = [{"epoch": epochs, "valid": best}]
    state = State(epoch=epochs, best=best, best_epoch=epochs, seconds=seconds, done=True, history=history)
    write_json(folder / LEARNED, asdict(state))
    return state


def _refuse_others(path: Path, there: RulesConfig, here: RulesConfig) -> None:
    if there != here:
        raise MismatchError(
            f"The rules in {path} were learned with other settings:\n  there: {there}\n  here:  {here}\n"
            "Use another --out folder, or delete this one to learn them again."
        )
