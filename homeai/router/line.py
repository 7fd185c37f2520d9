"""The waiting line: who may join it, who is next, and what everybody in it is told."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from homeai.domain import events as happened
from homeai.domain.errors import HomeAIError
from homeai.domain.request import GenerationRequest
from homeai.domain.stream import Queued
from homeai.planning.latency import Estimate
from homeai.router import admission
from homeai.router.estimate import ServiceTimes
from homeai.router.events import EventRing
from homeai.router.generation import Generation
from homeai.router.lane import Lane
from homeai.router.parties import Policy
from homeai.router.queue import FairQueue


def _for(lane: str) -> Callable[[Generation], bool]:
    return lambda generation: generation.lane == lane


class Line:
    """Requests that wait, each for one of the workers; one line, so that a place survives a change.

    Args:
        lanes: The workers.
        log: Typed events go there.
    """

    def __init__(self, lanes: Mapping[str, Lane], log: EventRing) -> None:
        self._lanes, self._log = lanes, log
        self._queue: FairQueue[Generation] = FairQueue()
        self._waiting: dict[str, Generation] = {}
        self.times = ServiceTimes()

    def __len__(self) -> int:
        return len(self._queue)

    def get(self, request_id: str) -> Generation | None:
        """The waiting request of that id."""
        return self._waiting.get(request_id)

    def refusal(
        self, request: GenerationRequest, policy: Policy, *, free: int
    ) -> HomeAIError | None:
        """Return why a request may not join, or None.

        Args:
            request: Which.
            policy: Limits in force.
            free: Sequences that nobody uses; so many of those in line do not really wait, their prompts
                are only being prepared.
        """
        verdict = admission.enter(
            admission.Limits(policy.queue_total, policy.queue_per_client),
            waiting=max(len(self._queue) - free, 0),
            waiting_of_client=max(self._queue.of_client(request.client) - free, 0),
            idle=free > 0,
            retry_after_s=min(self.ahead_s(name, len(self.order(name))) for name in self._lanes),
        )
        return verdict.error if isinstance(verdict, admission.Refuse) else None

    def join(self, generation: Generation, *, first: bool = False) -> None:
        """Put a request at the end of its client's line, or before all others."""
        request = generation.request
        self._waiting[request.id] = generation
        self._queue.add(request.client, request.id, generation, first=first)

    def leave(self, generation: Generation) -> bool:
        """Take a request out, wherever it stands; False if it did not wait."""
        key = generation.request_id
        if self._waiting.get(key) is not generation:
            return False
        del self._waiting[key]
        self._queue.remove(generation.request.client, key)
        return True

    def first(self, lane: str) -> Generation | None:
        """Whose turn it is for a worker."""
        return self._queue.first(_for(lane))

    def take(self, lane: str) -> Generation:
        """Take the request whose turn it is for a worker; KeyError if nobody waits for it."""
        generation = self._queue.take(_for(lane))
        del self._waiting[generation.request_id]
        return generation

    def order(self, lane: str | None = None) -> list[Generation]:
        """All in the order in which they will be taken; those of one worker if it is named."""
        return [g for g in self._queue.order() if lane is None or g.lane == lane]

    def tell_positions(self) -> None:
        """Tell everybody whose position changed."""
        for name, lane in self._lanes.items():
            for position, generation in enumerate(self.order(name)):
                if generation.position != position:
                    generation.position = position
                    ahead = None if lane.worker.ready is None else self.ahead_s(name, position)
                    generation.emit(Queued(position, ahead))
                    self._log.append(
                        happened.RequestQueued(request_id=generation.request_id, position=position)
                    )

    def ahead_s(self, lane: str, position: int) -> float:
        """Seconds until a request at that position is likely to be taken."""
        found = self._lanes[lane]
        ready = found.worker.ready
        sequences = 1 if ready is None else ready.sequences
        return self.times.ahead_s(ahead=position + len(found.open), sequences=sequences)

    def estimate(self, lane: str, prompt_tokens: int, most: int | None) -> Estimate | None:
        """How long an answer would take on a worker from now on; None = nothing was measured yet.

        Args:
            lane: Name of the worker.
            prompt_tokens: Length of the prompt.
            most: Tokens the client allows for the answer; None = no limit.
        """
        found, waiting = self._lanes[lane], len(self.order(lane))
        busy = found.serving and found.free <= 0
        ahead_ms = 1000 * self.ahead_s(lane, waiting) if busy or waiting else 0.0
        return found.latency.estimate(
            prompt_tokens=prompt_tokens, allowed_tokens=most, ahead_ms=ahead_ms
        )
