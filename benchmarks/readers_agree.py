"""Whether the fast and the slow reader of every text format make the same of generated files, whatever is in them.

python benchmarks/readers_agree.py

Tables are read by polars, and line by line only where that fails or may understand a line otherwise; N-Triples are
parsed as a whole, and line by line to find and skip the bad ones. A file is drawn from whole lines and from what goes
wrong: stray quotes, blank and missing fields, old line ends, marks of byte order, bytes that are not UTF-8. A third of
the files have nothing wrong, so that the fast way is taken. Some are packed.
"""

from __future__ import annotations

import argparse
import gzip
import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cear.core.errors import DataError
from cear.core.files import write_json
from cear.data import RdfRules
from cear.data.lines import Shape, read_line_by_line
from cear.data.readers.rdf_statements import Gathered, gather
from cear.data.tables import read_fast, read_table
from cear.reports import Provenance

RECORD = Path("results/benchmarks/readers_agree.json")
FACT = ("subject", "relation", "object")
N_TRIPLES = "n-triples"
SHAPES = {
    "facts, tabs": Shape(FACT),
    "facts, commas": Shape(FACT, separator=",", quoted=True),
    "facts, semicolons": Shape(FACT, separator=";", quoted=True),
    "facts, bars": Shape(FACT, separator="|", quoted=True),
    "facts, tabs and quotes": Shape(FACT, separator="\t", quoted=True),
    "columns left out, tabs": Shape(("a", *FACT), ("b", "c"), ignored=("a",), skip_lines=1),
    "columns left out, commas": Shape(
        ("subject", "a", "object", "relation"), ("b",), ignored=("a",), separator=",", quoted=True, skip_lines=1
    ),
    "olpbench, train": Shape(FACT, unread=("subject mentions", "object mentions")),
    "olpbench, held out": Shape((*FACT, "subject mentions", "object mentions")),
    "texts": Shape(("id", "text")),
    "numbers, tabs": Shape(FACT, skip_lines=1),
    "numbers, spaces": Shape(FACT, separator=" ", skip_lines=1),
    "clusters": Shape(("text",), separator="\x1f"),
}
WORDS = (
    "a",
    "Paris",
    "Kraków",
    "0",
    "12",
    "New York",
    "x y  z",
    "東京",
    "c'est",
    "e\u0301",
    "#",
    "\\n",
    "null",
    "NaN",
    "-",
)
BLANKS = (b"", b" ", b"\xc2\xa0", b"\x1c", b"\xe3\x80\x80", b"\t")
WRONG = (
    b'"',
    b'""',
    b"\r",
    b"\n",
    b"\xff",
    b"\xc3",
    b"\x00",
    b"\xef\xbb\xbf",
    b",",
    b"\t",
    b";",
    b" ",
    b"\x1f",
    b"\xe2\x80\xa8",
)
ENDS = (b"\n", b"\n", b"\r\n", b"\r", b"\r\r\n")


def table(draw: random.Random, shape: Shape, *, clean: bool) -> bytes:
    """The bytes of a file that has such a shape, more or less."""
    end = draw.choice(ENDS[:3] if clean else ENDS)
    width = len(shape.columns) + draw.randint(0, len(shape.unread))
    lines = [_line(draw, shape, width, clean=clean) for _ in range(draw.randint(1, 12))]
    head = b"\xef\xbb\xbf" * (draw.random() < 0.1) + b"".join(b"header" + end for _ in range(shape.skip_lines))
    content = head + end.join(lines) + end * draw.randint(0, 2)
    return content if clean else _spoilt(draw, content)


def _line(draw: random.Random, shape: Shape, width: int, *, clean: bool) -> bytes:
    if not clean and draw.random() < 0.1:
        width = draw.randint(0, width + 2)
    return shape.separator.encode().join(_field(draw, shape, clean=clean) for _ in range(width))


def _field(draw: random.Random, shape: Shape, *, clean: bool) -> bytes:
    if not clean and draw.random() < 0.1:
        return draw.choice(BLANKS)
    words = draw.choice(WORDS)
    if shape.separator == " ":
        words = words.replace(" ", "_")
    if not shape.quoted or draw.random() < 0.5:
        return words.encode()
    inside = draw.choice((words, f'{words}"', f"{words}{shape.separator} {words}"))
    if not clean and draw.random() < 0.2:
        inside += f"\n{words}"
    return '"{}"'.format(inside.replace('"', '""')).encode()


def n_triples(draw: random.Random, *, clean: bool) -> bytes:
    """The bytes of a file of N-Triples, more or less."""
    ends = ("<http://x/a>", "<http://x/b>", "_:c", '"text"', '"say \\"a\\""@en', '"1"^^<http://x/int>')
    lines = []
    for _ in range(draw.randint(1, 12)):
        words = (draw.choice(ends[:3]), "<http://x/r>", draw.choice(ends), draw.choice((".", ". # a comment")))
        lines.append(" ".join(words).encode() if draw.random() < 0.9 else draw.choice((b"", b"# a comment", b"\t")))
    content = draw.choice(ENDS[:3]).join(lines) + b"\n"
    return content if clean else _spoilt(draw, content)


def _spoilt(draw: random.Random, content: bytes) -> bytes:
    """The content with some wrong bytes put in, and some taken out."""
    spoilt = bytearray(content)
    for _ in range(draw.randint(0, 4)):
        place = draw.randint(0, len(spoilt))
        spoilt[place : place + draw.randint(0, 2)] = draw.choice(WRONG)
    return bytes(spoilt)


def tables_agree(path: Path, shape: Shape) -> bool:
    """Whether both ways give the same rows and the same bad lines."""
    slow, bad = read_line_by_line(path, shape)
    either = read_table(path, shape, skip_bad_lines=True)
    return either.rows.select(slow.columns).rows() == slow.rows() and list(either.skipped) == bad


def statements_agree(path: Path) -> bool:
    """Whether both ways give the same statements, or both tell that something is wrong."""
    slow = gather(path, RdfRules(), skip_bad_lines=True)
    try:
        fast = gather(path, RdfRules(), skip_bad_lines=False)
    except DataError as error:
        return bool(slow.bad) and str(error).startswith(str(slow.bad[0]))
    return not slow.bad and _said(fast) == _said(slow)


def _said(found: Gathered) -> tuple[object, ...]:
    return found.facts, found.labels, found.literals, found.blank_nodes


@dataclass
class Agreement:
    """What came of the files of one format."""

    files: int = 0
    fast: int = 0
    """Those that the fast way could read to the end."""
    differ: int = 0


def compare(files: int, seed: int, folder: Path, tell: Callable[[Path], None]) -> dict[str, Agreement]:
    """The agreement on so many files, format by format; `tell` is called with each that is read differently."""
    found = {name: Agreement() for name in (*SHAPES, N_TRIPLES)}
    for number in range(files):
        draw = random.Random(f"{seed} {number}")
        name = [*found][number % len(found)]
        clean = draw.random() < 1 / 3
        shape = SHAPES.get(name)
        content = n_triples(draw, clean=clean) if shape is None else table(draw, shape, clean=clean)
        path = folder / ("generated.nt" if shape is None else "generated.txt")
        path.write_bytes(gzip.compress(content) if draw.random() < 0.1 else content)
        agree = statements_agree(path) if shape is None else tables_agree(path, shape)
        found[name].files += 1
        found[name].fast += _is_fast(path, shape)
        found[name].differ += not agree
        if not agree:
            tell(path)
    return found


def _is_fast(path: Path, shape: Shape | None) -> bool:
    """Whether the fast way reads a file to the end."""
    if shape is not None:
        return read_fast(path, shape) is not None
    try:
        gather(path, RdfRules(), skip_bad_lines=False)
    except DataError:
        return False
    return True


def main() -> None:
    """Generate, read both ways, print the agreement, write the record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=RECORD, help="where the record goes")
    options = parser.parse_args()
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        found = compare(
            options.files, options.seed, Path(folder), lambda path: print("read differently:", path.read_bytes())
        )
    for name, each in found.items():
        print(f"{name:<25} {each.files:6,} files, {each.fast:6,} read fast, {each.differ:,} read differently")
    total = sum((Counter(vars(each)) for each in found.values()), Counter())
    print(f"{total['files']:,} files, {total['fast']:,} read fast, {total['differ']:,} read differently")
    config = {"files": options.files, "seed": options.seed}
    provenance = Provenance.collect(config=config, data="generated", digest="", seconds=time.perf_counter() - start)
    what = "generated text files that the fast and the slow reader of their format read alike"
    formats = {name: vars(each) for name, each in found.items()}
    counts = {"files": total["files"], "fast": total["fast"], "differ": total["differ"]}
    write_json(options.out, {"what": what, **counts, "formats": formats, "provenance": provenance.as_json()})
    if total["differ"]:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
