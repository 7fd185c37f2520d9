"""Regular expressions as values, and sets of characters as ranges."""

from __future__ import annotations

from dataclasses import dataclass

Ranges = tuple[tuple[int, int], ...]
"""Inclusive code point ranges: sorted, disjoint, not adjacent ("normal")."""

ANY: Ranges = ((0, 0xD7FF), (0xE000, 0x10FFFF))
"""Every character of well-formed Unicode text."""


@dataclass(frozen=True, slots=True)
class CharSet:
    """One character out of normal `ranges`."""

    ranges: Ranges


@dataclass(frozen=True, slots=True)
class Sequence:
    """Parts one after another; no parts = the empty text."""

    parts: tuple[Expression, ...] = ()


@dataclass(frozen=True, slots=True)
class Choice:
    """One of the options; no options = nothing at all."""

    options: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """`part` at least `low` and at most `high` times (None = no bound)."""

    part: Expression
    low: int
    high: int | None


Expression = CharSet | Sequence | Choice | Repeat

EMPTY = Sequence()
ANY_TEXT = Repeat(CharSet(ANY), 0, None)


def text(value: str) -> Expression:
    """Return the expression for exactly `value`."""
    return Sequence(tuple(CharSet(((ord(char), ord(char)),)) for char in value))


def optional(part: Expression) -> Expression:
    """Return `part` or nothing."""
    return Repeat(part, 0, 1)


def minus(ranges: Ranges, other: Ranges) -> Ranges:
    """Return the characters of `ranges` that are not in `other` (both normal)."""
    result: list[tuple[int, int]] = []
    for low, high in ranges:
        start = low
        for cut_low, cut_high in other:
            if cut_high < start or cut_low > high:
                continue
            if cut_low > start:
                result.append((start, cut_low - 1))
            start = cut_high + 1
        if start <= high:
            result.append((start, high))
    return tuple(result)


def common(ranges: Ranges, other: Ranges) -> Ranges:
    """Return the characters in both (both normal)."""
    return minus(ranges, minus(ranges, other))
