"""Counts how often one worker died, and says when it may try again and what its users hear meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from homeai.domain.errors import CircuitOpen, HomeAIError, from_code
from homeai.supervisor import restart
from homeai.supervisor.diagnosis import Ending
from homeai.supervisor.terms import Policy


@dataclass(frozen=True, slots=True)
class Rest:
    """What comes after a death.

    Attributes:
        seconds: Pause before the next start; None = no start without help.
        failure: Why the worker cannot be counted on until then; None = it comes back soon.
    """

    seconds: float | None
    failure: HomeAIError | None = None


@dataclass
class Recovery:
    """The memory of a worker's deaths.

    Args:
        policy: Limits.
        chance: Random number 0 ≤ x < 1 for each pause.
    """

    policy: Policy
    chance: Callable[[], float]
    _deaths: list[float] = field(default_factory=list)
    _probes: int = 0

    def after(self, ending: Ending, now: float) -> Rest:
        """Decide after a death at `now`."""
        if not ending.restart:
            return Rest(None, from_code(ending.code, ending.sentence))
        self._deaths.append(now)
        verdict = restart.decide(
            self._deaths,
            now=now,
            max_restarts=self.policy.max_restarts,
            window_s=self.policy.window_s,
            probes=self._probes,
            chance=self.chance(),
        )
        if isinstance(verdict, restart.RestartAfter):
            return Rest(verdict.seconds)
        self._probes += 1
        text = (
            f"{ending.sentence} {verdict.reason} The next try is in {verdict.probe_after_s:.0f} s."
        )
        return Rest(verdict.probe_after_s, CircuitOpen(text))

    def forget(self) -> None:
        """Start counting anew."""
        self._deaths.clear()
        self._probes = 0
