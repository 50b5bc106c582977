"""Languages of the countries, and the script each is written in."""

from __future__ import annotations

from babel.core import get_global

from demo_kb.corrections import (
    ALSO_OFFICIAL,
    LANGUAGE_NAMES,
    LEARNT_AT_SCHOOL,
    NOT_OFFICIAL,
    ONE_LANGUAGE,
    SCRIPT_NAMES,
)
from demo_kb.draft import Draft, slug
from demo_kb.regions import country_id
from demo_kb.sources import countries, english


def add_languages(draft: Draft) -> None:
    """Languages of the countries, and the script each is written in."""
    for code in countries():
        official = official_languages(code)
        for language in official:
            draft.fact(country_id(code), "official_language", language_id(draft, language))
        for language in other_languages(code, official):
            draft.fact(country_id(code), "other_language", language_id(draft, language))


def official_languages(code: str) -> list[str]:
    """The languages with official status in the whole country."""
    spoken = get_global("territory_languages")[code]
    stated = [one_language(k) for k, v in spoken.items() if v["official_status"] in ("official", "de_facto_official")]
    stated = [language for language in stated if (code, language) not in NOT_OFFICIAL]
    return list(dict.fromkeys([*stated, *ALSO_OFFICIAL.get(code, [])]))


def other_languages(code: str, official: list[str]) -> list[str]:
    """The other home languages of a country: named by both GeoNames and CLDR, of 0.2 % or regionally official."""
    listed = {one_language(tag) for tag in countries()[code]["languages"].split(",")}
    demoted = {language for country, language in NOT_OFFICIAL if country == code} - {"en"}
    found = []
    for tag, use in get_global("territory_languages")[code].items():
        language = one_language(tag)
        home = language in listed - {"en", "fr"} and (code, language) not in LEARNT_AT_SCHOOL
        if language in demoted or (home and (use["population_percent"] >= 0.2 or use["official_status"])):
            found.append(language)
    return [language for language in dict.fromkeys(found) if language not in official and has_name(language)]


def has_name(code: str) -> bool:
    """Whether CLDR has an English name for a language."""
    return code in english().languages


def one_language(tag: str) -> str:
    """The language of a tag, scripts and countries aside."""
    language = tag.replace("_", "-").partition("-")[0]
    return ONE_LANGUAGE.get(language, language)


def language_id(draft: Draft, code: str) -> str:
    """The id of a language, added with its script when it is new."""
    name = LANGUAGE_NAMES.get(code) or english().languages[code]
    id_ = f"language/{slug(name)}"
    if id_ not in draft.names:
        draft.entity(id_, name, if_taken="language")
        if script := script_of(code):
            draft.fact(id_, "written_in", draft.entity(f"script/{slug(script)}", script, if_taken="writing"))
    return id_


def script_of(language: str) -> str | None:
    """The script a language is most often written in, such as 'Latin script'."""
    tag = get_global("likely_subtags").get(language)
    if tag is None:
        return None
    code = tag.split("_")[1]
    return SCRIPT_NAMES.get(code) or f"{english().scripts[code]} script"


def is_written_in_latin(code: str) -> bool:
    """Whether a country spells its own place names in Latin letters (Serbia does in both)."""
    first = next(iter(official_languages(code)), "sr")
    return first == "sr" or script_of(first) == "Latin script"
