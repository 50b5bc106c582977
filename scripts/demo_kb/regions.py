"""Continents, world regions and countries, where they lie, and their borders."""

from __future__ import annotations

from demo_kb.corrections import CONTINENTS, COUNTRY_NAMES, WORLD_REGIONS
from demo_kb.draft import Draft, slug
from demo_kb.sources import containment, countries, english


def country_id(code: str) -> str:
    """The id of a country."""
    return f"country/{slug(country_name(code))}"


def country_name(code: str) -> str:
    """The English name of a country."""
    return COUNTRY_NAMES.get(code, str(countries()[code]["name"]))


def add_regions(draft: Draft) -> None:
    """Continents and world regions of UN M49, and what lies in what."""
    for code in CONTINENTS:
        draft.entity(
            f"continent/{slug(english().territories[code])}", english().territories[code], if_taken="continent"
        )
    for code in WORLD_REGIONS:
        name = english().territories[code]
        draft.entity(f"region/{slug(name)}", name, if_taken="region")
        draft.fact(f"region/{slug(name)}", "on_continent", continent_of(code))


def continent_of(code: str) -> str:
    """The continent that holds a region or, within one of its regions or directly, a country."""
    for continent in CONTINENTS:
        parts = containment()[continent]
        if code in parts or any(code in containment()[part] for part in parts):
            return f"continent/{slug(english().territories[continent])}"
    raise SystemExit(f"CLDR puts {code!r} on no continent.")


def add_countries(draft: Draft) -> None:
    """Countries, where they lie and their land borders, each border in both directions."""
    for code in countries():
        draft.entity(country_id(code), country_name(code), if_taken="country")
    for code, record in countries().items():
        draft.fact(country_id(code), "on_continent", continent_of(code))
        for region in WORLD_REGIONS:
            if code in containment()[region]:
                draft.fact(country_id(code), "world_region", f"region/{slug(english().territories[region])}")
        for neighbour in sorted(set(record["neighbours"].split(",")) & countries().keys()):
            draft.fact(country_id(code), "borders", country_id(neighbour))
