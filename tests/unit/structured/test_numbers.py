from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from homeai.structured.numbers import DECIMAL_DIGITS, decimals, integers

_BOUND = st.none() | st.integers(-12_000, 12_000)
_DECIMAL = st.none() | st.decimals(-1500, 1500, places=3)


@settings(max_examples=60, deadline=None)
@given(_BOUND, _BOUND, st.lists(st.integers(-13_000, 13_000), max_size=30))
def test_exactly_the_integers_in_the_range_are_accepted(low, high, values):
    automaton = integers(low, high)
    near = [bound + step for bound in (low, high) if bound is not None for step in (-1, 0, 1)]
    for value in [*values, *near, *range(-12, 13)]:
        within = (low is None or value >= low) and (high is None or value <= high)
        assert automaton.accepts(str(value)) == within


@settings(max_examples=60, deadline=None)
@given(
    _DECIMAL,
    _DECIMAL,
    st.booleans(),
    st.booleans(),
    st.lists(st.decimals(-1600, 1600, places=4), max_size=20),
)
def test_exactly_the_decimals_in_the_range_are_accepted(low, high, above, below, values):
    automaton = decimals(low, high, above=above, below=below)
    near = [
        b + Decimal(step).scaleb(-5) for b in (low, high) if b is not None for step in (-1, 0, 1)
    ]
    for value in [*values, *near, *map(Decimal, range(-3, 4))]:
        text = f"{abs(value):f}" if value == 0 else f"{value:f}"
        over = low is None or (value > low if above else value >= low)
        under = high is None or (value < high if below else value <= high)
        assert automaton.accepts(text) == (over and under), text


@pytest.mark.parametrize(
    "text", ["", "-", "01", "-01", "+1", "1.", ".5", "1e3", "-0", "-0.0", "00", "1.5.5"]
)
def test_other_spellings_are_not_accepted(text):
    assert not decimals(Decimal(-9), Decimal(9)).accepts(text)


def test_a_bound_with_more_digits_than_allowed_is_kept_from_the_inside():
    automaton = decimals(Decimal("0.30000000000000004"), None)
    assert not automaton.accepts("0.3")
    assert automaton.accepts("0.30000000000001")


def test_numbers_at_an_exclusive_bound_stay_below_it_in_double_precision():
    automaton = decimals(None, Decimal(50), below=True)
    digits = "9" * (DECIMAL_DIGITS - 2)
    assert automaton.accepts(f"49.{digits}")
    assert float(f"49.{digits}") < 50
    assert not automaton.accepts(f"49.{digits}999")


@pytest.mark.parametrize(("low", "high"), [(5, 4), (10**18, None), (None, -(10**18))])
def test_no_integer_makes_an_empty_language(low, high):
    assert integers(low, high).is_void


def test_huge_bounds_are_no_bounds():
    assert integers(-(10**300), 10**300).accepts("-" + "9" * 18)
    assert decimals(Decimal("-1e300"), Decimal("1e300")).accepts("-12345.0"[:-2])
