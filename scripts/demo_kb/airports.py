"""Large airports: the city each serves, and the country it is in."""

from __future__ import annotations

from collections import defaultdict

from demo_kb.city_choice import City, distance
from demo_kb.corrections import CLOSED_AIRPORTS
from demo_kb.draft import Draft, plain
from demo_kb.regions import country_id
from demo_kb.sources import airports


def add_airports(draft: Draft, cities: list[City]) -> None:
    """Large airports of our cities."""
    by_country: dict[str, list[City]] = defaultdict(list)
    for city in cities:
        by_country[city.country].append(city)
    for row in airports():
        served = served_city(row, by_country[row["iso_country"]])
        if served and row["iata_code"] not in CLOSED_AIRPORTS:
            airport = f"airport/{row['iata_code'].lower()}"
            draft.entity(airport, airport_name(row["name"]), if_taken=row["iata_code"])
            draft.fact(airport, "serves_city", served.id)
            draft.fact(airport, "airport_in", country_id(served.country))


def served_city(row: dict[str, str], cities: list[City]) -> City | None:
    """The city of ours that an airport names and is near, or None."""
    town = plain(row["municipality"].partition("(")[0].strip())
    place = {"latitude": float(row["latitude_deg"]), "longitude": float(row["longitude_deg"])}
    return next((city for city in cities if distance(place, city.record) < 1 and town in city.all_names), None)


def airport_name(name: str) -> str:
    """The civil name of an airport, without a second one or the air base that shares its runway."""
    first, _, rest = name.partition(" / ")
    name = first if "Airport" in first else f"{first} {rest}".strip()
    return name.partition(" (")[0] if "Airport (" in name else name
