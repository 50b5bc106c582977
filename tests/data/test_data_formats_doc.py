"""The page on data formats keeps up with the code."""

import re
from pathlib import Path

import pytest

from cear.data.named import NAMED
from cear.data.sources import CACHE_VARIABLE, DATA_VARIABLE

REPOSITORY = Path(__file__).parents[2]
PAGE = (REPOSITORY / "docs" / "data-formats.md").read_text(encoding="utf-8")


def _topics() -> set[str]:
    """Every topic that the source of the checks can yield."""
    files = [REPOSITORY / "src/cear/data/check.py", *(REPOSITORY / "src/cear/data/checks").glob("*.py")]
    source = "".join(file.read_text(encoding="utf-8") for file in files)
    topics = set()
    for formatted, topic in re.findall(r'Finding\(\s*(f?)"([a-z{}-]+)"', source):
        if not formatted:
            topics.add(topic)
            continue
        words = {"{plural}": ("entities", "relations"), "{kind}": ("duplicate", "inverse", "symmetric")}
        topics |= {topic.replace(hole, word) for hole, every in words.items() if hole in topic for word in every}
    return topics


def test_every_topic_is_on_the_page() -> None:
    topics = _topics()
    assert {"shared-facts", "unseen-relations", "inverse-leak"} <= topics
    assert {topic for topic in topics if f"`{topic}`" not in PAGE} == set()


@pytest.mark.parametrize("word", [*NAMED, CACHE_VARIABLE, DATA_VARIABLE])
def test_every_name_and_variable_is_on_the_page(word: str) -> None:
    assert f"`{word}`" in PAGE
