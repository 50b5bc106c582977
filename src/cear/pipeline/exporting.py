"""A finished run for other tools: files of TREC, plain vectors, weights for PyKEEN, a Hugging Face folder, a card."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from cear.core.errors import ConfigError
from cear.core.files import replacing
from cear.core.progress import Progress
from cear.core.types import Split
from cear.pipeline.making import MODEL
from cear.reports import Record, reranker_card, run_card, write_trec_lists, write_trec_run
from cear.retrieval import GradientConfig, Scorer, export_pykeen, has_pykeen_model, write_scorer

if TYPE_CHECKING:
    from cear.pipeline.finished import Run

Part = Literal["trec", "lists", "scorer", "pykeen", "reranker", "card"]
What = Literal["trec", "lists", "scorer", "pykeen", "reranker", "card", "all"]
CARD = "README.md"


def export(run: Run, folder: Path, what: What, split: Split, k: int, progress: Progress) -> list[Path]:
    """Write a part of a run, or all that it has, into a folder; gives back the files."""
    parts = parts_of(run) if what == "all" else [what]
    return [path for part in parts for path in _export(run, folder, part, split, k, progress)]


def parts_of(run: Run) -> list[Part]:
    """What there is to export: a scorer, one that PyKEEN can take, and a re-ranker are not in every run."""
    has = {
        "scorer": isinstance(run.config.stage1, GradientConfig),
        "pykeen": has_pykeen_model(run.scorer),
        "reranker": run.config.reranker is not None,
    }
    return [part for part in get_args(Part) if has.get(part, True)]


def _export(run: Run, folder: Path, part: Part, split: Split, k: int, progress: Progress) -> list[Path]:
    match part:
        case "trec":
            return write_trec_run(folder, run.ranker, split, k, progress=progress)
        case "lists":
            return write_trec_lists(folder, run.ranker, split, k, progress=progress)
        case "scorer":
            return _export_scorer(run, folder / "scorer")
        case "pykeen":
            return export_pykeen(folder / "pykeen", run.scorer, run.kb)
        case "reranker":
            return _export_reranker(run, folder / "reranker", split, progress)
        case "card":
            return [_write_card(folder / CARD, run_card(_record(run, split, progress)))]


def _export_scorer(run: Run, folder: Path) -> list[Path]:
    """Write Stage 1 as plain vectors with the ids of their rows."""
    config, scorer = run.config.stage1, run.scorer
    if not (isinstance(config, GradientConfig) and isinstance(scorer, Scorer)):
        raise ConfigError(
            f"The Stage 1 of the run in {run.folder} is `model: {config.model}`, which has no vectors to export. "
            "Leave --what out, and everything that there is will be written."
        )
    return write_scorer(folder, config, scorer, run.kb)


def _export_reranker(run: Run, folder: Path, split: Split, progress: Progress) -> list[Path]:
    """Copy the trained re-ranker, and write its card beside it."""
    if run.config.reranker is None:
        raise ConfigError(f"The run in {run.folder} has no second stage, so there is no re-ranker to export.")
    source = run.plan.store.get(run.plan.reranker) / MODEL
    files = [path.relative_to(source) for path in sorted(source.rglob("*")) if path.is_file()]
    for file in files:
        with replacing(folder / file) as partial:
            shutil.copyfile(source / file, partial)
    card = reranker_card(_record(run, split, progress), reads_vectors=run.plan.settings2.reads_vectors)
    return [*(folder / file for file in files), _write_card(folder / CARD, card)]


def _record(run: Run, split: Split, progress: Progress) -> Record:
    return run.record(run.evaluate(split, progress=progress))


def _write_card(path: Path, text: str) -> Path:
    with replacing(path) as partial:
        partial.write_text(text, encoding="utf-8")
    return path
