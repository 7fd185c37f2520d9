"""Whether and when a dead worker is started again. Pure: time and chance are arguments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.25, 30.0
FIRST_PROBE_S, LONGEST_PROBE_S = 60.0, 900.0


@dataclass(frozen=True, slots=True)
class RestartAfter:
    """Start again after a pause of `seconds`."""

    seconds: float


@dataclass(frozen=True, slots=True)
class OpenCircuit:
    """It fails too often: only a slow probe from now on; `reason` is a sentence."""

    reason: str
    probe_after_s: float


def decide(
    deaths: Sequence[float],
    *,
    now: float,
    max_restarts: int,
    window_s: float,
    chance: float,
    probes: int = 0,
) -> RestartAfter | OpenCircuit:
    """Decide after a death.

    The pause doubles with each death in the window. A good start does not reset the count, only time
    does: a worker that dies every minute is not healthy.

    Args:
        deaths: Times of all deaths, this one included, seconds.
        now: Time of this death.
        max_restarts: Most restarts within the window.
        window_s: Length of the window, seconds.
        chance: 0 ≤ chance < 1; spreads restarts by up to a fifth.
        probes: How often the circuit was open before.
    """
    recent = sum(now - window_s < at <= now for at in deaths)
    if recent > max_restarts:
        return OpenCircuit(
            f"It failed {recent} times within {window_s:g} s.",
            min(FIRST_PROBE_S * 2**probes, LONGEST_PROBE_S),
        )
    pause = min(FIRST_PAUSE_S * 2 ** max(recent - 1, 0), LONGEST_PAUSE_S)
    return RestartAfter(pause * (1 + chance / 5))
