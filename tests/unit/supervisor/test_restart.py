"""Whether and when a dead worker is started again."""

from hypothesis import given
from hypothesis import strategies as st

from homeai.supervisor.restart import (
    FIRST_PROBE_S,
    LONGEST_PAUSE_S,
    LONGEST_PROBE_S,
    OpenCircuit,
    RestartAfter,
    decide,
)

LIMITS = {"max_restarts": 3, "window_s": 600.0, "chance": 0.0}


def test_the_first_death_is_answered_soon():
    assert decide([100.0], now=100.0, **LIMITS) == RestartAfter(0.25)


def test_pauses_double():
    pauses = [decide([0.0] * n, now=0.0, **LIMITS).seconds for n in (1, 2, 3)]

    assert pauses == [0.25, 0.5, 1.0]


def test_too_many_deaths_within_the_window_open_the_circuit():
    verdict = decide([0.0, 1.0, 2.0, 3.0], now=3.0, **LIMITS)

    assert isinstance(verdict, OpenCircuit)
    assert "4 times" in verdict.reason
    assert verdict.probe_after_s == FIRST_PROBE_S


def test_probes_become_rarer():
    deaths = [0.0, 1.0, 2.0, 3.0]
    pauses = [decide(deaths, now=3.0, probes=n, **LIMITS).probe_after_s for n in (0, 1, 2, 10)]

    assert pauses == [60.0, 120.0, 240.0, LONGEST_PROBE_S]


def test_deaths_outside_the_window_do_not_count():
    assert decide([0.0, 1.0, 2.0, 1000.0], now=1000.0, **LIMITS) == RestartAfter(0.25)


@given(st.lists(st.floats(0, 1000), max_size=40), st.floats(0, 0.999), st.integers(0, 60))
def test_a_pause_is_always_short_and_positive(deaths, chance, most):
    verdict = decide(deaths, now=1000.0, max_restarts=most, window_s=600.0, chance=chance)

    if isinstance(verdict, RestartAfter):
        assert 0 < verdict.seconds <= LONGEST_PAUSE_S * 1.2
