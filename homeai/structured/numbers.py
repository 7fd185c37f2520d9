"""Ranges of integers and decimals as expressions over their digits.

Texts are canonical: no leading zeros, no exponent, at most `INTEGER_DIGITS` digits before and
`FRACTION_DIGITS` after the point. Every text is a number within the range; numbers that would need more
digits are left out.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

from homeai.structured.automaton import Automaton, build, intersect
from homeai.structured.expression import (
    EMPTY,
    CharSet,
    Choice,
    Expression,
    Repeat,
    Sequence,
    optional,
    text,
)

INTEGER_DIGITS = 18
"""Fits a signed 64-bit integer."""
FRACTION_DIGITS = 15

LARGEST = 10**INTEGER_DIGITS - 1


def _digits(low: int, high: int) -> CharSet:
    return CharSet(((0x30 + low, 0x30 + high),))


_DIGIT = _digits(0, 9)
_FRACTION = optional(Sequence((text("."), Repeat(_DIGIT, 1, FRACTION_DIGITS))))


def integers(low: int | None, high: int | None) -> Automaton:
    """Return the automaton of the integers from `low` to `high`, both inclusive; None = no bound."""
    low = -LARGEST if low is None else max(low, -LARGEST)
    high = LARGEST if high is None else min(high, LARGEST)
    options: list[tuple[Expression, bool]] = []
    if low < 0:
        options.append((Sequence((text("-"), _from_to(max(1, -high), -low))), False))
    options.append((_from_to(max(0, low), high), False))
    return build(options)


def decimals(
    low: Decimal | None, high: Decimal | None, *, above: bool = False, below: bool = False
) -> Automaton:
    """Return the automaton of the decimals between `low` and `high`; None = no bound.

    Args:
        low: Lower bound.
        high: Upper bound.
        above: Exclude `low` itself.
        below: Exclude `high` itself.
    """
    return intersect(
        _written(*_at_least(low, strict=above)), _written(*_at_most(high, strict=below))
    )


def _written(negative: Expression, positive: Expression) -> Automaton:
    return build([(Sequence((text("-"), negative)), False), (positive, False)])


def _at_least(bound: Decimal | None, *, strict: bool) -> tuple[Expression, Expression]:
    """Return the magnitudes of the negative and of the positive numbers that are ≥ (or >) `bound`.

    Zero counts as positive. `_at_most` allows no negative zero, so `decimals` has none.
    """
    if bound is None:
        return _NONZERO, _EVERY
    if bound >= 0:
        return _NOTHING, _magnitude_at_least(bound, strict=strict)
    return _magnitude_at_most(-bound, strict=strict), _EVERY


def _at_most(bound: Decimal | None, *, strict: bool) -> tuple[Expression, Expression]:
    """As `_at_least`, for the numbers that are ≤ (or <) `bound`."""
    if bound is None:
        return _NONZERO, _EVERY
    if bound >= 0:
        return _NONZERO, _magnitude_at_most(bound, strict=strict)
    return _magnitude_at_least(-bound, strict=strict), _NOTHING


def _split(value: Decimal, rounding: str) -> tuple[int, str]:
    """Return the integer part and the fraction digits without trailing zeros."""
    step = Decimal(1).scaleb(-FRACTION_DIGITS)
    exact = value.quantize(step, rounding=rounding, context=Context(prec=400))
    whole, _, fraction = f"{exact:f}".partition(".")
    return int(whole), fraction.rstrip("0")


def _magnitude_at_least(bound: Decimal, *, strict: bool) -> Expression:
    if bound > LARGEST:
        return Choice(())
    whole, fraction = _split(bound, ROUND_CEILING)
    # A bound that had to be rounded up is itself within the range.
    strict = strict and Decimal(f"{whole}.{fraction}") == bound
    return Choice(
        (
            Sequence((_from_to(whole + 1, LARGEST), _FRACTION)),
            Sequence((text(str(whole)), _fraction_at_least(fraction, strict=strict))),
        )
    )


def _magnitude_at_most(bound: Decimal, *, strict: bool) -> Expression:
    if bound > LARGEST:
        return _EVERY
    whole, fraction = _split(bound, ROUND_FLOOR)
    strict = strict and Decimal(f"{whole}.{fraction}") == bound
    smaller = Sequence((_from_to(1, whole - 1), _FRACTION))
    last = Sequence((text(str(whole)), _fraction_at_most(fraction, strict=strict)))
    if whole > 0:
        below_one = Sequence((text("0"), _FRACTION))
        return Choice((below_one, smaller, last))
    return last


def _fraction_at_least(digits: str, *, strict: bool) -> Expression:
    """The point and digits that make a fraction ≥ (or >) 0.`digits`."""
    if not digits and not strict:
        return _FRACTION
    options: list[Expression] = []
    for place, digit in enumerate(digits):
        if digit != "9":
            larger = _digits(int(digit) + 1, 9)
            options.append(Sequence((text(digits[:place]), larger, _rest(place + 1))))
    if not strict:
        options.append(Sequence((text(digits), _rest(len(digits)))))
    else:
        # More digits, not all of them zero.
        for place in range(len(digits), FRACTION_DIGITS):
            zeros = digits + "0" * (place - len(digits))
            options.append(Sequence((text(zeros), _digits(1, 9), _rest(place + 1))))
    return Sequence((text("."), Choice(tuple(options))))


def _fraction_at_most(digits: str, *, strict: bool) -> Expression:
    """The point and digits that make a fraction ≤ (or <) 0.`digits`, or no fraction."""
    options: list[Expression] = []
    for place, digit in enumerate(digits):
        if digit != "0":
            smaller = _digits(0, int(digit) - 1)
            options.append(Sequence((text(digits[:place]), smaller, _rest(place + 1))))
        if place > 0:
            options.append(text(digits[:place]))
    if not strict:
        zeros = Repeat(text("0"), 0 if digits else 1, max(0, FRACTION_DIGITS - len(digits)))
        options.append(Sequence((text(digits), zeros)))
    fraction = Sequence((text("."), Choice(tuple(options))))
    if strict and not digits:
        return Choice(())
    return Choice((EMPTY, fraction))


def _rest(place: int) -> Expression:
    return Repeat(_DIGIT, 0, FRACTION_DIGITS - place)


def _from_to(low: int, high: int) -> Expression:
    """Non-negative integers, without leading zeros; nothing if low > high."""
    options: list[Expression] = []
    for length in range(len(str(low)), len(str(max(high, 0))) + 1):
        first = max(low, 10 ** (length - 1) if length > 1 else 0)
        last = min(high, 10**length - 1)
        if first <= last:
            options.append(_same_length(str(first), str(last)))
    return Choice(tuple(options))


def _same_length(low: str, high: str) -> Expression:
    """Digits from `low` to `high`, of which neither is longer."""
    if not low:
        return EMPTY
    if set(low) == {"0"} and set(high) == {"9"}:
        return Repeat(_DIGIT, len(low), len(low))
    first, last = int(low[0]), int(high[0])
    if first == last:
        return Sequence((text(low[0]), _same_length(low[1:], high[1:])))
    rest = len(low) - 1
    options: list[Expression] = [
        Sequence((text(low[0]), _same_length(low[1:], "9" * rest))),
        Sequence((text(high[0]), _same_length("0" * rest, high[1:]))),
    ]
    if last - first > 1:
        options.append(Sequence((_digits(first + 1, last - 1), Repeat(_DIGIT, rest, rest))))
    return Choice(tuple(options))


_NOTHING = Choice(())
_EVERY = _magnitude_at_least(Decimal(0), strict=False)
_NONZERO = _magnitude_at_least(Decimal(0), strict=True)
