"""When a place is likely to be free."""

from homeai.router.estimate import LEAST_S, MOST_S, ServiceTimes


def test_the_estimate_follows_what_answers_took():
    times = ServiceTimes(assumed_s=1.0)
    for _ in range(50):
        times.observe(20.0)

    assert 19 < times.ahead_s(ahead=0, sequences=1) < 20.1
    assert times.ahead_s(ahead=3, sequences=1) > 3 * times.ahead_s(ahead=0, sequences=1)
    assert times.ahead_s(ahead=3, sequences=4) < times.ahead_s(ahead=3, sequences=1)


def test_the_estimate_stays_within_sane_bounds():
    times = ServiceTimes(assumed_s=0.001)

    assert times.ahead_s(ahead=0, sequences=8) == LEAST_S
    times.observe(10**6)
    assert times.ahead_s(ahead=100, sequences=1) == MOST_S
