"""YAML from anyone: plain values, within bounds of time and memory, or an error that says where."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode

LEVELS = 50  # PyYAML recurses, and Python stops it somewhere behind three hundred
DIGITS = 100  # of a number or a date: arithmetic with longer ones may take any time
_PREFIX = "tag:yaml.org,2002:"
_COMPUTED = {f"{_PREFIX}{kind}" for kind in ("int", "float", "timestamp")}


class OutOfBounds(yaml.YAMLError):
    """YAML that is larger, deeper or less clear than anything that we read; the message begins with the line."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much YAML is read. The defaults are for settings, ten times what our largest file has."""

    size: int = 100_000
    """Bytes; PyYAML needs seconds for as many."""
    values: int = 5_000
    """Texts, numbers, lists and mappings; an alias counts as all that it stands for."""


@dataclass(frozen=True, slots=True)
class _Extent:
    """How much an anchor stands for."""

    values: int = 1
    levels: int = 1


def read_yaml(path: Path, bounds: Bounds = Bounds()) -> Any:
    """The value in a file. Besides errors of YAML it raises those of opening a file and of decoding UTF-8."""
    with path.open("rb") as file:
        content = file.read(bounds.size + 1)  # of a file without an end too
    if len(content) > bounds.size:
        raise OutOfBounds(f"there are more than {bounds.size:,} bytes.")
    return parse_yaml(content.decode("utf-8-sig"), bounds)


def parse_yaml(text: str, bounds: Bounds = Bounds()) -> Any:
    """The value that a text says, made of mappings, lists, texts, numbers and dates.

    >>> parse_yaml("stage1: {rank: 64}")
    {'stage1': {'rank': 64}}
    """
    if len(text) > bounds.size:
        raise OutOfBounds(f"there are more than {bounds.size:,} characters.")
    loader = _Loader(text, bounds)
    try:
        return loader.get_single_data()
    finally:
        loader.dispose()


class _Loader(yaml.SafeLoader):
    """PyYAML's safe loader, which also refuses what is too large or too deep for it and keys that stand twice."""

    def __init__(self, text: str, bounds: Bounds) -> None:
        super().__init__(text)
        self._bounds = bounds
        self._values = 0  # so far
        self._level = 0  # of the value that is read
        self._deepest = 0  # level so far
        self._anchored: dict[str, _Extent] = {}  # anchors that are whole

    def compose_node(self, parent: Node | None, index: Any) -> Node | None:
        """The next value, counted."""
        event: Any = self.peek_event()  # type: ignore[no-untyped-call]
        if isinstance(event, yaml.AliasEvent):
            self._count(event, self._extent(event))
            return super().compose_node(parent, index)
        values, deepest, self._deepest = self._values, self._deepest, self._level
        self._count(event, _Extent())
        self._level += 1
        node = super().compose_node(parent, index)
        self._level -= 1
        if event.anchor is not None:
            self._anchored[event.anchor] = _Extent(self._values - values, self._deepest - self._level)
        self._deepest = max(deepest, self._deepest)
        return node

    def _count(self, event: Any, extent: _Extent) -> None:
        self._values += extent.values
        self._deepest = max(self._deepest, self._level + extent.levels)
        if self._values > self._bounds.values:
            _refuse(event, f"there are more than {self._bounds.values:,} values; an alias counts as what it stands for")
        if self._deepest > LEVELS:
            _refuse(event, f"values are nested more than {LEVELS} levels deep")

    def _extent(self, event: Any) -> _Extent:
        if event.anchor in self.anchors and event.anchor not in self._anchored:
            _refuse(event, f"*{event.anchor} stands inside of what it stands for")
        return self._anchored.get(event.anchor, _Extent())

    def compose_scalar_node(self, anchor: Any) -> ScalarNode:
        """The next text or number; what is computed has a bounded length."""
        node = super().compose_scalar_node(anchor)
        if any("\ud800" <= letter <= "\udfff" for letter in node.value):
            _refuse(node, "a text has half a character, such as \\ud800, expected whole ones")
        if node.tag in _COMPUTED and len(node.value) > DIGITS:
            _refuse(node, f"a number has {len(node.value):,} characters, expected at most {DIGITS}")
        return node

    def compose_mapping_node(self, anchor: Any) -> MappingNode:
        """The next mapping; PyYAML takes the last value of a key that stands in it twice, we none."""
        node = super().compose_mapping_node(anchor)
        lines: dict[tuple[str, str], int] = {}
        for key in (key for key, _ in node.value if isinstance(key, ScalarNode)):
            word = key.tag, key.value
            if word in lines:
                _refuse(key, f"the key {key.value[:DIGITS]!r} stands already on line {lines[word]}, expected each once")
            lines[word] = key.start_mark.line + 1
        return node

    def construct_object(self, node: Node, deep: bool = False) -> Any:
        """The value of a node; a text that is not what its tag says is an error of YAML."""
        try:
            return super().construct_object(node, deep=deep)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):  # PyYAML believes the tag
            kind = node.tag.removeprefix(_PREFIX)
            found = repr(node.value[:DIGITS]) if isinstance(node, ScalarNode) else "this value"
            _refuse(node, f"{found} is not a proper {kind}. Quote it if it is a text")


def _refuse(where: Any, problem: str) -> NoReturn:
    raise OutOfBounds(f"line {where.start_mark.line + 1}: {problem}.")
