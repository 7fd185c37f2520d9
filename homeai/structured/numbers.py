"""Ranges of integers and decimals as expressions over their digits.

Texts are canonical: no leading zeros, no exponent, no negative zero. Numbers that would need more digits are
left out. Decimals near a bound have at most `DECIMAL_DIGITS` digits in all, so that a client that reads them
as double precision still finds them on the right side of the bound.
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
DECIMAL_DIGITS = 15
"""Any two numbers of so many digits differ in double precision."""

_LARGEST_INTEGER = 10**INTEGER_DIGITS - 1
_LARGEST_WHOLE = 10**DECIMAL_DIGITS - 1
_NOTHING = Choice(())


def integers(low: int | None, high: int | None) -> Automaton:
    """Return the automaton of the integers from `low` to `high`, both inclusive; None = no bound."""
    low = -_LARGEST_INTEGER if low is None else max(low, -_LARGEST_INTEGER)
    high = _LARGEST_INTEGER if high is None else min(high, _LARGEST_INTEGER)
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
    largest = max((abs(bound) for bound in (low, high) if bound is not None), default=Decimal(0))
    # Compared before it becomes digits: 1e300 has many.
    whole_digits = DECIMAL_DIGITS if largest > _LARGEST_WHOLE else len(str(int(largest)))
    magnitudes = _Magnitudes(DECIMAL_DIGITS - whole_digits)
    return intersect(
        _written(*magnitudes.of_at_least(low, strict=above)),
        _written(*magnitudes.of_at_most(high, strict=below)),
    )


def _written(negative: Expression, positive: Expression) -> Automaton:
    return build([(Sequence((text("-"), negative)), False), (positive, False)])


def _digits(low: int, high: int) -> CharSet:
    return CharSet(((0x30 + low, 0x30 + high),))


_DIGIT = _digits(0, 9)


class _Magnitudes:
    """Digits without a sign.

    Args:
        places: Most digits after the point; with 0 there is no point.
    """

    def __init__(self, places: int) -> None:
        self._places = places
        self._fraction = (
            optional(Sequence((text("."), Repeat(_DIGIT, 1, places)))) if places else EMPTY
        )
        self._every = self._at_least(Decimal(0), strict=False)
        self._nonzero = self._at_least(Decimal(0), strict=True)

    def of_at_least(self, bound: Decimal | None, *, strict: bool) -> tuple[Expression, Expression]:
        """Return the magnitudes of the negative and of the positive numbers ≥ (or >) `bound`.

        Zero counts as positive. `of_at_most` allows no negative zero, so both together have none.
        """
        if bound is None:
            return self._nonzero, self._every
        if bound >= 0:
            return _NOTHING, self._at_least(bound, strict=strict)
        return self._at_most(-bound, strict=strict), self._every

    def of_at_most(self, bound: Decimal | None, *, strict: bool) -> tuple[Expression, Expression]:
        """As `of_at_least`, for the numbers ≤ (or <) `bound`."""
        if bound is None:
            return self._nonzero, self._every
        if bound >= 0:
            return self._nonzero, self._at_most(bound, strict=strict)
        return self._at_least(-bound, strict=strict), _NOTHING

    def _split(self, value: Decimal, rounding: str) -> tuple[int, str]:
        """Return the integer part and the fraction digits without trailing zeros."""
        step = Decimal(1).scaleb(-self._places)
        exact = value.quantize(step, rounding=rounding, context=Context(prec=400))
        whole, _, fraction = f"{exact:f}".partition(".")
        return int(whole), fraction.rstrip("0")

    def _at_least(self, bound: Decimal, *, strict: bool) -> Expression:
        if bound > _LARGEST_WHOLE:
            return _NOTHING
        whole, fraction = self._split(bound, ROUND_CEILING)
        # A bound that had to be rounded up is itself within the range.
        strict = strict and Decimal(f"{whole}.{fraction}") == bound
        larger = Sequence((_from_to(whole + 1, _LARGEST_WHOLE), self._fraction))
        if whole > _LARGEST_WHOLE:
            return larger
        return Choice(
            (larger, Sequence((text(str(whole)), self._fraction_at_least(fraction, strict=strict))))
        )

    def _at_most(self, bound: Decimal, *, strict: bool) -> Expression:
        if bound > _LARGEST_WHOLE:
            return self._every
        whole, fraction = self._split(bound, ROUND_FLOOR)
        strict = strict and Decimal(f"{whole}.{fraction}") == bound
        smaller = Sequence((_from_to(0, whole - 1), self._fraction))
        last = Sequence((text(str(whole)), self._fraction_at_most(fraction, strict=strict)))
        return Choice((smaller, last))

    def _fraction_at_least(self, digits: str, *, strict: bool) -> Expression:
        """The point and digits that make a fraction ≥ (or >) 0.`digits`."""
        if not digits and not strict:
            return self._fraction
        options: list[Expression] = []
        for place, digit in enumerate(digits):
            if digit != "9":
                larger = _digits(int(digit) + 1, 9)
                options.append(Sequence((text(digits[:place]), larger, self._rest(place + 1))))
        if not strict:
            options.append(Sequence((text(digits), self._rest(len(digits)))))
        else:
            # More digits, not all of them zero.
            for place in range(len(digits), self._places):
                zeros = digits + "0" * (place - len(digits))
                options.append(Sequence((text(zeros), _digits(1, 9), self._rest(place + 1))))
        return Sequence((text("."), Choice(tuple(options))))

    def _fraction_at_most(self, digits: str, *, strict: bool) -> Expression:
        """The point and digits that make a fraction ≤ (or <) 0.`digits`, or no fraction."""
        if strict and not digits:
            return _NOTHING
        options: list[Expression] = []
        for place, digit in enumerate(digits):
            if digit != "0":
                smaller = _digits(0, int(digit) - 1)
                options.append(Sequence((text(digits[:place]), smaller, self._rest(place + 1))))
            if place > 0:
                options.append(text(digits[:place]))
        spare = self._places - len(digits)
        if not strict and (digits or spare):
            options.append(Sequence((text(digits), Repeat(text("0"), 0 if digits else 1, spare))))
        return Choice((EMPTY, Sequence((text("."), Choice(tuple(options))))))

    def _rest(self, place: int) -> Expression:
        return Repeat(_DIGIT, 0, self._places - place)


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
