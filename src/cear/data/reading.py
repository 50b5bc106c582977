"""Reading a knowledge base: from a name or a path, through the reader of its layout or the cache."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from cear.core.errors import ConfigError, DataError
from cear.data.assembling import assemble, types_of, unused_types
from cear.data.cache import cached
from cear.data.columns import Columns, columns_of
from cear.data.draft import ReadOptions, TextRule, Variant
from cear.data.knowledge_base import KnowledgeBase
from cear.data.layouts import recognise
from cear.data.rdf_rules import RdfRules, rdf_rules_of
from cear.data.readers.types import read_types
from cear.data.report import Reading, ReadReport
from cear.data.sources import find_source

log = logging.getLogger("cear.data")

_DEFAULTS = ReadOptions()
_EXAMPLES = 5
UNUSED_TYPES = "ids with types that no fact names"


def load(
    source: str | Path,
    *,
    like: str | None = None,
    name: str | None = None,
    text: TextRule | None = None,
    skip_bad_lines: bool = _DEFAULTS.skip_bad_lines,
    download: bool = False,
    cache: bool = True,
    seed: int = _DEFAULTS.seed,
    valid_share: float = _DEFAULTS.valid_share,
    test_share: float = _DEFAULTS.test_share,
    variant: Variant = _DEFAULTS.variant,
    types: str | Path | None = None,
    columns: Columns | Mapping[str, Any] | None = None,
    rdf: RdfRules | Mapping[str, Any] | None = None,
) -> KnowledgeBase:
    """The knowledge base of a named data set or of a path; see `read` for the arguments."""
    return read(
        source,
        like=like,
        name=name,
        text=text,
        skip_bad_lines=skip_bad_lines,
        download=download,
        cache=cache,
        seed=seed,
        valid_share=valid_share,
        test_share=test_share,
        variant=variant,
        types=types,
        columns=columns,
        rdf=rdf,
    ).kb


def read(
    source: str | Path,
    *,
    like: str | None = None,
    name: str | None = None,
    text: TextRule | None = None,
    skip_bad_lines: bool = _DEFAULTS.skip_bad_lines,
    download: bool = False,
    cache: bool = True,
    seed: int = _DEFAULTS.seed,
    valid_share: float = _DEFAULTS.valid_share,
    test_share: float = _DEFAULTS.test_share,
    variant: Variant = _DEFAULTS.variant,
    types: str | Path | None = None,
    columns: Columns | Mapping[str, Any] | None = None,
    rdf: RdfRules | Mapping[str, Any] | None = None,
) -> Reading:
    """The knowledge base of a named data set or of a path, with a report of what was left out.

    Args:
        source: a name (`"fb15k-237"`, `"olpbench"`, `"demo"`, …) or a path in one of the layouts that we read.
        like: the named data set that a path stands for, `"wn18rr"`: the path is read by its rules and has its name.
            What is no such name, the path where the data was before, changes nothing.
        name: what to call the knowledge base; the name or the last part of the path if not given.
        text: what `entity2text` holds, `"name"` or `"name, description"`; named data sets know it.
        skip_bad_lines: leave out and count lines that do not fit, rather than refuse the file.
        download: allow a named data set that is not on this machine to be fetched.
        cache: keep large readings as Parquet in the user's cache, and use what is kept there.
        seed: decides the split of facts that come in one file.
        valid_share: the share of such facts that goes to valid.
        test_share: the share of such facts that goes to test.
        variant: which training file of OLPBENCH is read, `"thorough"`, `"basic"` or `"simple"`.
        types: a file of types, an id and its types joined by " | " a line, that counts instead of the data's own.
        columns: which columns of files of facts hold what, `{"subject": "head id", "relation": 2, "object": 5}`: by the
            name in the first line, or by number from 1. For one file and for the splits of a folder.
        rdf: how RDF is read, `{"languages": ["de", "en"], "leave_out": ["foaf:depiction"]}`; see `RdfRules`.

    """
    found = find_source(source, like=like, download=download)
    options = ReadOptions(
        text or found.text,
        skip_bad_lines,
        seed,
        valid_share,
        test_share,
        variant,
        columns=columns_of(columns),
        rdf=rdf_rules_of(rdf),
    )
    called = name or found.name
    make = partial(_read, found.path, options, called)
    reading = cached(found.path, options, called, make) if cache else make()
    return reading if types is None else _with_types(reading, Path(types), skip_bad_lines=skip_bad_lines)


def _read(path: Path, options: ReadOptions, name: str) -> Reading:
    layout = recognise(path)
    if options.columns is not None and not layout.takes_columns:
        raise ConfigError(f"columns: {path} has the layout {layout.name!r}, whose columns are fixed. Leave them out.")
    draft = layout.read(path, options)
    assembled = assemble(draft, name)
    unused = {"mentions that no fact names": assembled.unused_mentions, UNUSED_TYPES: assembled.unused_types}
    if not len(assembled.kb.facts("train")):
        raise DataError(f"{path} has no training facts, so nothing can be learned from it.")
    if draft.skipped:
        log.warning("%s: %d bad lines were skipped, the first is %s", path, len(draft.skipped), draft.skipped[0])
    if draft.header is not None:
        log.warning("%s: is the first line a header? It was read as a fact: %s", path, draft.header)
    return Reading(
        assembled.kb,
        ReadReport(
            layout=layout.name,
            skipped_lines=len(draft.skipped),
            skipped_examples=tuple(str(line) for line in draft.skipped[:_EXAMPLES]),
            duplicate_facts=assembled.duplicate_facts,
            unused_texts=assembled.unused_texts,
            left_out=dict(draft.left_out) | {what: count for what, count in unused.items() if count},
            left_out_examples=dict(draft.left_out_examples),
            header=draft.header,
        ),
    )


def _with_types(reading: Reading, path: Path, *, skip_bad_lines: bool) -> Reading:
    """A reading with the types of a user's own file; what of the file was left out is told like the rest."""
    table, kb, report = read_types(path, skip_bad_lines=skip_bad_lines), reading.kb, reading.report
    ids = kb.entities.table["id"]
    unused = unused_types(table.rows, ids)
    left_out = {what: count for what, count in report.left_out.items() if what != UNUSED_TYPES}
    return Reading(
        kb.with_types(types_of(table.rows, ids)),
        replace(
            report,
            skipped_lines=report.skipped_lines + len(table.skipped),
            skipped_examples=(*report.skipped_examples, *map(str, table.skipped))[:_EXAMPLES],
            left_out=left_out | ({UNUSED_TYPES: unused} if unused else {}),
        ),
    )
