"""Axes: which values are marked, and where a value stands."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil, floor, log10

STEPS = (1, 2, 5, 10)  # times a power of ten


@dataclass(frozen=True)
class Axis:
    """A line from `start` to `end` on the drawing, on which the values `low` to `high` stand."""

    low: float
    high: float
    ticks: tuple[float, ...]
    start: float
    end: float
    log: bool = False

    def at(self, value: float) -> float:
        """The place of a value; one below a logarithmic axis stands at its start."""
        low, high, here = (
            (log10(each) for each in (self.low, self.high, max(value, self.low)))
            if self.log
            else (self.low, self.high, value)
        )
        return self.start + (here - low) / (high - low) * (self.end - self.start)

    @property
    def labels(self) -> tuple[str, ...]:
        """The ticks as text, all with the same number of digits unless they are powers of ten."""
        if self.log:
            return tuple(f"{tick:,g}" if tick < 1e6 else f"{tick:.0e}" for tick in self.ticks)
        digits = next(n for n in range(13) if all(round(tick, n) == tick for tick in self.ticks) or n == 12)
        return tuple(f"{tick:z,.{digits}f}" for tick in self.ticks)


def linear(values: Iterable[float], start: float, end: float, *, zero: bool) -> Axis:
    """An axis whose ends are ticks and hold all values; with `zero` it holds zero, too.

    >>> linear([0.31, 0.422], 0, 100, zero=False).ticks
    (0.3, 0.35, 0.4, 0.45)
    """
    held = [*values, *([0.0] if zero else [])]
    low, high = min(held), max(held)
    if low == high:  # one value: room on both sides
        low, high = low - (abs(low) or 1) / 10, high + (abs(high) or 1) / 10
    step = nice_step(high - low)
    first, last = floor(low / step + 1e-9), ceil(high / step - 1e-9)
    ticks = tuple(float(f"{place * step:.12g}") for place in range(first, last + 1))
    return Axis(ticks[0], ticks[-1], ticks, start, end)


def logarithmic(values: Iterable[float], start: float, end: float) -> Axis:
    """An axis of powers of ten. It begins at half of one, so that the smallest value has a bar.

    >>> axis = logarithmic([0, 1, 340], 0, 100)
    >>> axis.low, axis.ticks
    (0.5, (1.0, 10.0, 100.0, 1000.0))
    """
    positive = [value for value in values if value > 0] or [1.0]
    first, last = floor(log10(min(positive))), ceil(log10(max(positive)))
    powers = tuple(10.0**each for each in range(first, max(last, first + 1) + 1))
    return Axis(powers[0] / 2, powers[-1], powers, start, end, log=True)


def nice_step(span: float, about: int = 5) -> float:
    """The smallest of 1, 2, 5 times a power of ten that needs at most `about` steps for a span."""
    power: float = 10.0 ** floor(log10(span / about))
    return next(each * power for each in STEPS if each * power >= span / about * (1 - 1e-9))
