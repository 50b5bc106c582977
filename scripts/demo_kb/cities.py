"""Cities: where they lie, of what they are the capital, what their clocks show."""

from __future__ import annotations

from collections import defaultdict

from babel.core import get_global

from demo_kb.city_choice import City, all_cities
from demo_kb.corrections import DIVISION_NAMES, ODD_ZONES
from demo_kb.draft import Draft, plain, slug
from demo_kb.regions import country_id, country_name
from demo_kb.sources import english


def add_cities(draft: Draft) -> list[City]:
    """The cities that were added, with their countries, time zones, states and provinces."""
    cities = [city for city in all_cities() if add_city(draft, city)]
    add_time_zones(draft, cities)
    add_divisions(draft, cities)
    return cities


def add_city(draft: Draft, city: City) -> bool:
    """Whether the city was added; one whose name is taken is left out unless it is a capital."""
    if draft.is_taken(city.name) and not city.is_capital:
        return False
    draft.entity(city.id, city.name, if_taken="city")
    draft.fact(city.id, "in_country", country_id(city.country))
    if city.is_capital:
        draft.fact(city.id, "capital_of", country_id(city.country))
    return True


def add_time_zones(draft: Draft, cities: list[City]) -> None:
    """The time zones that two or more of the cities share."""
    by_zone: dict[str, list[City]] = defaultdict(list)
    for city in cities:
        if zone := zone_name(city.record["timezone"]):
            by_zone[zone].append(city)
    for zone, members in by_zone.items():
        for city in members if len(members) > 1 else []:
            draft.fact(city.id, "time_zone", draft.entity(f"timezone/{slug(zone)}", zone, if_taken="time zone"))


def zone_name(zone: str) -> str | None:
    """What a zone's clock is called, such as 'Central European Time'; None where CLDR has no name for it."""
    older = [old for old, new in get_global("zone_aliases").items() if new == zone]
    used = [get_global("meta_zones")[z] for z in [zone, *sorted(older)] if z in get_global("meta_zones")]
    names = english().meta_zones.get(used[0], {}).get("long") if used and zone not in ODD_ZONES else None
    if not names or isinstance(names, str):
        return None
    return str(names.get("generic") or names["standard"])


def add_divisions(draft: Draft, cities: list[City]) -> None:
    """States and provinces, but for those that are no more than a city of theirs."""
    members: dict[tuple[str, str], list[City]] = defaultdict(list)
    for city in cities:
        name = city.division and DIVISION_NAMES.get((city.country, city.division), city.division)
        if name:
            members[city.country, name].append(city)
    for (code, name), group in members.items():
        if len(group) > 1 or plain(name) not in group[0].all_names:
            add_division(draft, code, name, group)


def add_division(draft: Draft, code: str, name: str, cities: list[City]) -> None:
    """One state or province, its country and its cities."""
    kind = "US state" if code == "US" else f"region of {country_name(code)}"
    id_ = f"division/{slug(name.partition(' (')[0])}-{code.lower()}"
    draft.entity(id_, name, if_taken=kind)
    draft.fact(id_, "division_of", country_id(code))
    for city in cities:
        draft.fact(city.id, "in_division", id_)
