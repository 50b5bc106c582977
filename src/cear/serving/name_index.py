"""The index of all names: built once, kept in a folder of its own, and opened again as long as it is whole."""

from __future__ import annotations

import hashlib
import logging
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np
import polars as pl
from tantivy import Document, Index, Schema, SchemaBuilder

from cear.core.files import partial_of, remove_leftovers
from cear.core.keys import content_key
from cear.core.seals import SEAL, flaw_of, seal
from cear.core.types import SPLITS, Ints
from cear.data import KnowledgeBase
from cear.serving.spelling import folded, words

log = logging.getLogger("cear.serving")

VERSION = 1  # raise it whenever the same names would be indexed otherwise
SHORT = 2  # letters of a beginning that is a term of its own: too many words begin so to look at each
_MEMORY = 200_000_000  # bytes that the writer may fill before it writes
_LONGEST = 256  # characters of a whole name


@dataclass(frozen=True, eq=False)
class Names:
    """Every name and alias, those of entities with the most facts first."""

    text: pl.Series  # (place,)
    entity: Ints  # (place,): whose name it is

    @classmethod
    def of(cls, kb: KnowledgeBase) -> Names:
        """The names of a knowledge base."""
        aliases = kb.entities.aliases
        text = pl.concat([kb.entities.table["name"], aliases["alias"].alias("name")])
        entity = np.concatenate([np.arange(kb.n_entities), aliases["index"].to_numpy()])
        ends = np.concatenate([kb.facts(split)[:, [0, 2]].ravel() for split in SPLITS])
        order = np.argsort(-np.bincount(ends, minlength=kb.n_entities)[entity], kind="stable")
        return cls(text.gather(order), entity[order])

    def key(self) -> str:
        """What an index of these names is kept under; another version of us or of tantivy makes another."""
        content = hashlib.sha256(self.entity.astype("<i8").tobytes())
        content.update(self.text.str.len_bytes().to_numpy().astype("<i8").tobytes())
        content.update("".join(self.text.to_list()).encode())
        return content_key(VERSION, version("tantivy"), content.hexdigest())[:32]


def whole_name(spelled: Sequence[str]) -> str:
    """The words of a name as one term of the index."""
    return " ".join(spelled)[:_LONGEST]


def index_of(names: Names, folder: Path) -> Index:
    """The index of some names: the one that the folder keeps, or else built now and kept there.

    One that is damaged is built again. Where nothing can be written, it is built in memory.
    """
    place = folder / names.key()
    if (kept := _opened(place)) is not None:
        return kept
    try:
        _keep(place, names)
    except OSError as error:  # no place to keep it costs time, not the search
        log.info("The index of names was not kept: %s", error)
    if (kept := _opened(place)) is not None:
        return kept
    return _filled(Index(_schema()), names)


def _opened(place: Path) -> Index | None:
    """The index in a folder; None where there is none, or, which is told, a damaged one."""
    if not (place / SEAL).exists():
        return None
    try:
        flaw = flaw_of(place)
        if flaw is None:
            index = Index.open(str(place))
            index.config_reader("manual")  # nobody changes it: nothing to watch for
            return index
    except (OSError, ValueError) as error:  # such as a folder where tantivy may write no lock
        flaw = str(error)
    log.warning("The index of names %s is damaged and built again: %s", place, flaw)
    return None


def _keep(place: Path, names: Names) -> None:
    """Build an index beside its place, and move it there when it is whole."""
    place.parent.mkdir(parents=True, exist_ok=True)
    remove_leftovers(place.parent)
    partial = partial_of(place)
    try:
        partial.mkdir()
        _filled(Index(_schema(), str(partial), reuse=False), names)
        seal(partial)
        if _opened(place) is None:  # somebody else may have been faster
            shutil.rmtree(place, ignore_errors=True)
            partial.rename(place)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _schema() -> Schema:
    """Words, the beginnings of words that are short, the whole name, and its place in the order of `Names`."""
    builder = SchemaBuilder()
    for field, tokens in {"word": "whitespace", "short": "whitespace", "whole": "raw"}.items():
        builder.add_text_field(field, tokenizer_name=tokens, index_option="basic")
    builder.add_unsigned_field("place", fast=True)
    return builder.build()


def _filled(index: Index, names: Names) -> Index:
    """The index with all names in it, in their order; one thread, so that there is one order."""
    writer = index.writer(_MEMORY, num_threads=1)
    for place, text in enumerate(names.text):
        spelled = words(folded(text))
        document = Document()
        document.add_text("word", " ".join(spelled))
        document.add_text("short", " ".join({word[:size] for word in spelled for size in range(1, SHORT + 1)}))
        document.add_text("whole", whole_name(spelled))
        document.add_unsigned("place", place)
        writer.add_document(document)
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    return index
