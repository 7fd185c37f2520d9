"""How long requests may wait and run; each has one timer at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from homeai.domain.errors import HomeAIError
from homeai.router import admission
from homeai.router.clock import now
from homeai.router.dispatch import CPU
from homeai.router.generation import Generation
from homeai.router.lane import Lane
from homeai.router.line import Line
from homeai.router.parties import Policy


class Timers:
    """Ends what takes too long.

    Args:
        lanes: The workers.
        line: Who waits.
        policy: Limits in force.
        fail: Ends a request with an error.
    """

    def __init__(
        self,
        lanes: Mapping[str, Lane],
        line: Line,
        policy: Callable[[], Policy],
        fail: Callable[[Generation, HomeAIError], None],
    ) -> None:
        self._lanes, self._line, self._policy, self._fail = lanes, line, policy, fail

    def waits(self, generation: Generation) -> None:
        """It waits for a worker from now on."""
        policy = self._policy()
        most_s = min(policy.queue_wait_s, generation.deadline_s(policy.deadline_s))
        self._set(generation, most_s, self._waited_too_long)

    def runs(self, generation: Generation) -> None:
        """A worker has it from now on."""
        due_s = generation.deadline_s(self._policy().deadline_s)
        passed_s = now() - generation.arrived
        self._set(generation, max(due_s - passed_s, 0), self._past_deadline)

    def stop(self, generation: Generation) -> None:
        """It has ended."""
        if generation.timer is not None:
            generation.timer.cancel()
            generation.timer = None

    def _set(
        self, generation: Generation, seconds: float, then: Callable[[Generation], None]
    ) -> None:
        self.stop(generation)
        generation.timer = asyncio.get_running_loop().call_later(seconds, then, generation)

    def _waited_too_long(self, generation: Generation) -> None:
        waited_s = now() - generation.arrived
        again_s = self._line.ahead_s(generation.lane or CPU, generation.position or 0)
        ready = any(lane.worker.ready is not None for lane in self._lanes.values())
        self._fail(generation, admission.waited_too_long(waited_s, again_s, ready=ready))

    def _past_deadline(self, generation: Generation) -> None:
        due_s = generation.deadline_s(self._policy().deadline_s)
        self._fail(generation, admission.past_deadline(due_s))
