"""Estimates come from what was measured, and say how sure they are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeai.planning.latency import Estimate, LatencyModel


def measured(prefill=100.0, decode=10.0) -> LatencyModel:
    model = LatencyModel()
    model.observe(prompt_tokens=100, prefill_s=100 / prefill, new_tokens=20, decode_s=20 / decode)
    return model


def test_without_a_measurement_there_is_no_estimate():
    assert LatencyModel().estimate(prompt_tokens=10, allowed_tokens=10) is None


def test_an_estimate_is_queue_plus_prefill_plus_decode():
    found = measured().estimate(prompt_tokens=200, allowed_tokens=30, ahead_ms=500)

    assert found.p50_ms == pytest.approx(500 + 2000 + 3000)
    assert found.p90_ms > found.p50_ms


def test_tokens_of_an_earlier_attempt_are_read_not_drawn_again():
    found = measured().estimate(prompt_tokens=100, allowed_tokens=30, drawn=20)

    assert found.p50_ms == pytest.approx(1200 + 1000)


def test_rates_follow_what_is_measured():
    model = measured(decode=10)
    for _ in range(20):
        model.observe(prompt_tokens=100, prefill_s=1.0, new_tokens=20, decode_s=1.0)

    assert model.decode_tokens_s == pytest.approx(20, rel=0.05)


def test_short_phases_say_nothing_about_rates():
    model = LatencyModel()
    model.observe(prompt_tokens=1, prefill_s=1.0, new_tokens=2, decode_s=1.0)

    assert model.estimate(prompt_tokens=10, allowed_tokens=10) is None


def test_answers_that_stop_early_make_estimates_shorter():
    model = measured()
    for _ in range(10):
        model.observe_length(new_tokens=10, allowed=100)

    assert model.estimate(prompt_tokens=0, allowed_tokens=100).p50_ms == pytest.approx(1000)


def test_misses_widen_the_spread_and_hits_narrow_it():
    wide, narrow = measured(), measured()
    for _ in range(10):
        wide.grade(Estimate(1000, 1500), 3000)
        narrow.grade(Estimate(1000, 1500), 1000)

    ask = {"prompt_tokens": 100, "allowed_tokens": 10}
    assert wide.estimate(**ask).p90_ms > 3 * wide.estimate(**ask).p50_ms
    assert narrow.estimate(**ask).p90_ms < 1.2 * narrow.estimate(**ask).p50_ms


@given(
    st.integers(0, 10**6), st.none() | st.integers(1, 10**6), st.integers(0, 100), st.floats(0, 1e6)
)
def test_p90_is_never_below_p50_and_nothing_is_negative(prompt, allowed, drawn, ahead):
    found = measured().estimate(
        prompt_tokens=prompt, allowed_tokens=allowed, drawn=drawn, ahead_ms=ahead
    )

    assert 0 < found.p50_ms <= found.p90_ms
