"""Currencies: who uses them, who did, what came after, and what kind of money each is."""

from __future__ import annotations

from collections import Counter

from babel.core import get_global

from demo_kb.corrections import CURRENCY_NAMES, JOINED_EURO, NO_FORMER_CURRENCY, NOT_TENDER
from demo_kb.draft import Draft, slug
from demo_kb.regions import country_id
from demo_kb.sources import countries, english


def add_currencies(draft: Draft) -> None:
    """Currencies of the countries, those that went before since 1990, and what kind of money each is."""
    current = {code: current_currencies(code) for code in countries()}
    in_use = {currency for currencies in current.values() for currency in currencies}
    for code, currencies in current.items():
        for currency in currencies:
            draft.fact(country_id(code), "has_currency", currency_id(draft, currency))
        for currency, is_last in former_currencies(code):
            draft.fact(country_id(code), "former_currency", currency_id(draft, currency))
            if is_last and currency not in in_use:
                draft.fact(currency_id(draft, currency), "replaced_by", currency_id(draft, currencies[0]))
    draft.facts = list(dict.fromkeys(draft.facts))  # the French franc was replaced in three countries
    add_currency_units(draft)


def current_currencies(code: str) -> list[str]:
    """The legal tender of a country, its own or most used first."""
    if code in JOINED_EURO:
        return ["EUR"]
    tender = [c for c, _, end, is_tender in get_global("territory_currencies")[code] if is_tender and end is None]
    own = countries()[code]["currencycode"]
    return sorted((c for c in tender if (code, c) not in NOT_TENDER), key=lambda c: (c != own, c))


def former_currencies(code: str) -> list[tuple[str, bool]]:
    """What was legal tender since 1990 and is no more, and whether it was the last; redenominations left out."""
    if code in JOINED_EURO:
        return [(JOINED_EURO[code], True)]
    ended = [(end, c) for c, _, end, tender in get_global("territory_currencies")[code] if tender and end]
    named = [(end, c) for end, c in ended if end[0] >= 1990 and "(" not in english().currencies[c]]
    last = max((end for end, _ in ended), default=None)
    return [(c, end == last) for end, c in sorted(named) if c not in NO_FORMER_CURRENCY]


def currency_id(draft: Draft, code: str) -> str:
    """The id of a currency, added when it is new."""
    name = CURRENCY_NAMES.get(code, english().currencies[code])
    return draft.entity(f"currency/{slug(name)}", name, if_taken="currency")


def add_currency_units(draft: Draft) -> None:
    """The words that several currencies share: dollars, francs, pesos."""
    unit = {id_: name.split()[-1].lower() for id_, name in draft.names.items() if id_.startswith("currency/")}
    count = Counter(unit.values())
    for id_, word in unit.items():
        if count[word] > 1:
            draft.fact(id_, "currency_unit", draft.entity(f"unit/{slug(word)}", word, if_taken="unit of currency"))
