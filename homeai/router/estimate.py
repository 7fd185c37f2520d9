"""How long until a place is free, from what answers took lately. Pure."""

from __future__ import annotations

LEAST_S, MOST_S = 1.0, 600.0


class ServiceTimes:
    """Running mean of how long an answer takes.

    Args:
        assumed_s: Before the first answer, seconds.
    """

    def __init__(self, assumed_s: float = 5.0) -> None:
        self._mean_s = assumed_s

    def observe(self, seconds: float) -> None:
        """Take the duration of a finished answer in."""
        self._mean_s += 0.2 * (seconds - self._mean_s)

    def ahead_s(self, *, ahead: int, sequences: int) -> float:
        """Seconds until `ahead` answers are done by `sequences` at a time."""
        seconds = self._mean_s * (ahead + 1) / max(sequences, 1)
        return min(max(seconds, LEAST_S), MOST_S)
