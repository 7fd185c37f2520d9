"""Whether and when a dead worker is started again."""

from hypothesis import given
from hypothesis import strategies as st

from homeai.supervisor.restart import LONGEST_PAUSE_S, GiveUp, RestartAfter, decide

LIMITS = {"max_restarts": 3, "window_s": 600.0, "chance": 0.0}


def test_the_first_death_is_answered_soon():
    assert decide([100.0], now=100.0, **LIMITS) == RestartAfter(0.25)


def test_pauses_double():
    pauses = [decide([0.0] * n, now=0.0, **LIMITS).seconds for n in (1, 2, 3)]

    assert pauses == [0.25, 0.5, 1.0]


def test_too_many_deaths_within_the_window_give_up():
    verdict = decide([0.0, 1.0, 2.0, 3.0], now=3.0, **LIMITS)

    assert isinstance(verdict, GiveUp)
    assert "4 times" in verdict.reason


def test_deaths_outside_the_window_do_not_count():
    assert decide([0.0, 1.0, 2.0, 1000.0], now=1000.0, **LIMITS) == RestartAfter(0.25)


@given(st.lists(st.floats(0, 1000), max_size=40), st.floats(0, 0.999), st.integers(0, 60))
def test_a_pause_is_always_short_and_positive(deaths, chance, most):
    verdict = decide(deaths, now=1000.0, max_restarts=most, window_s=600.0, chance=chance)

    if isinstance(verdict, RestartAfter):
        assert 0 < verdict.seconds <= LONGEST_PAUSE_S * 1.2
