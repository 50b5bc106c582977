"""Lists of anyone as a retriever that plugs in: read once, kept, and never learned again."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, ClassVar, Literal, NoReturn

from cear.core.context import Context
from cear.core.errors import ConfigError, MismatchError
from cear.core.files import file_digest
from cear.core.keys import content_key
from cear.data import KnowledgeBase
from cear.evaluation import valid_mrr
from cear.retrieval.listed.rankings import Rankings
from cear.retrieval.listed.reading import read_rankings
from cear.retrieval.listed.retriever import ListedRetriever
from cear.retrieval.retriever import Fitted, RetrieverConfig, learned
from cear.training import State

LISTS = "lists.safetensors"


class ListsConfig(RetrieverConfig):
    """What another system has listed, from files: the formats are in docs/lists-and-exports.md."""

    version: ClassVar[int] = 1
    model: Literal["lists"] = "lists"
    """Which retriever."""
    path: str | list[str]
    """The file with the lists, or several: Parquet of ours, JSON lines, a TREC run, predictions of SimKGC."""
    queries: str | None = None
    """What the qids of a TREC run mean, a text file: qid, side, entity, relation; null if they say so themselves."""

    def settings_key(self) -> dict[str, Any]:
        """Nothing but the model: what is in the files decides (`brought`), not where they are."""
        return {"model": self.model}

    def brought(self) -> str:
        """The digest of all files."""
        return content_key([file_digest(path) for path in self._files])

    def preflight(self, kb: KnowledgeBase, context: Context) -> None:
        """Refuse a file that is not there."""
        del kb, context
        for path in self._files:
            if not path.is_file():
                raise ConfigError(
                    f"There is no file {path} with lists. Give one that is there, from the working folder."
                )

    def on_fold(self, epochs: int | None) -> NoReturn:
        """Nobody: a file has learned already, and from which facts cannot be told."""
        del epochs
        raise ConfigError(
            "`model: lists` cannot learn without a fold of the training facts, as lists to learn from would need it "
            "(candidates.crossfit). Let the re-ranker learn from validation facts (candidates: {learn_from: valid}) or "
            "from a file of lists (candidates: {lists: FILE}), or leave the re-ranker out."
        )

    def fit(self, kb: KnowledgeBase, folder: Path, context: Context) -> Fitted:
        """The lists, copied into the folder; measured on validation facts if all their queries have lists."""
        start = time.monotonic()
        about = {"digest": kb.digest, "files": self.brought()}
        if (folder / LISTS).exists():
            _kept(folder / LISTS, about)  # or somebody else's would be overwritten
        rankings = read_rankings(self._paths, kb, queries=self._queries, progress=context.progress)
        rankings.write(folder / LISTS, about)
        retriever = ListedRetriever(kb, rankings)
        if not retriever.has(kb.queries("valid")).all():
            return Fitted(retriever, State(best=0.0, done=True))
        return Fitted(retriever, learned(valid_mrr(kb)(retriever), epochs=1, seconds=time.monotonic() - start))

    def load(self, kb: KnowledgeBase, folder: Path, context: Context) -> ListedRetriever:
        """The lists that were copied into a folder; the files are no longer needed."""
        del context
        return ListedRetriever(kb, _kept(folder / LISTS, {"digest": kb.digest}))

    def details(self, training: State) -> dict[str, Any]:
        """That nothing was measured on validation, where no list was for it."""
        return {} if training.history else {"valid_mrr": None}

    @property
    def _paths(self) -> list[Path]:
        return [Path(path) for path in ([self.path] if isinstance(self.path, str) else self.path)]

    @property
    def _queries(self) -> Path | None:
        return None if self.queries is None else Path(self.queries)

    @property
    def _files(self) -> list[Path]:
        """All that is read."""
        return [*self._paths, *([] if self._queries is None else [self._queries])]


def _kept(path: Path, about: dict[str, str]) -> Rankings:
    """The lists in a file of ours, refused where they are of another knowledge base or of other files."""
    rankings, there = Rankings.read(path)
    if {key: there.get(key) for key in about} != about:
        raise MismatchError(
            f"The lists in {path} are of another knowledge base or of other files:\n  there: {there}\n"
            f"  here:  {about}\nUse another folder, or go back to what they were made of."
        )
    return rankings
