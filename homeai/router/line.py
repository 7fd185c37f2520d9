"""The waiting line: who may join it, who is next, and what everybody in it is told."""

from __future__ import annotations

from collections.abc import Callable

from homeai.domain import events as happened
from homeai.domain.errors import HomeAIError
from homeai.domain.request import GenerationRequest
from homeai.domain.stream import Queued
from homeai.router import admission
from homeai.router.estimate import ServiceTimes
from homeai.router.events import EventRing
from homeai.router.generation import Generation
from homeai.router.parties import Policy, Worker
from homeai.router.queue import FairQueue


class Line:
    """Requests that wait for a worker.

    Args:
        worker: Whom they wait for.
        log: Typed events go there.
        running: Number of requests a worker works for.
    """

    def __init__(self, worker: Worker, log: EventRing, running: Callable[[], int]) -> None:
        self._worker, self._log, self._running = worker, log, running
        self._queue: FairQueue[Generation] = FairQueue()
        self._waiting: dict[str, Generation] = {}
        self.times = ServiceTimes()

    def __len__(self) -> int:
        return len(self._queue)

    def get(self, request_id: str) -> Generation | None:
        """The waiting request of that id."""
        return self._waiting.get(request_id)

    def refusal(
        self, request: GenerationRequest, policy: Policy, *, idle: bool
    ) -> HomeAIError | None:
        """Return why a request may not join, or None.

        Args:
            request: Which.
            policy: Limits in force.
            idle: Whether a worker could take it at once.
        """
        verdict = admission.enter(
            admission.Limits(policy.queue_total, policy.queue_per_client),
            waiting=len(self._queue),
            waiting_of_client=self._queue.of_client(request.client),
            idle=idle,
            retry_after_s=self.ahead_s(len(self._queue)),
        )
        return verdict.error if isinstance(verdict, admission.Refuse) else None

    def join(self, generation: Generation) -> None:
        """Put a request at the end of its client's line."""
        request = generation.request
        self._waiting[request.id] = generation
        self._queue.add(request.client, request.id, generation)

    def leave(self, generation: Generation) -> bool:
        """Take a request out, wherever it stands; False if it did not wait."""
        key = generation.request_id
        if self._waiting.get(key) is not generation:
            return False
        del self._waiting[key]
        self._queue.remove(generation.request.client, key)
        return True

    def first(self) -> Generation | None:
        """Whose turn it is."""
        return self._queue.first()

    def pop(self) -> Generation:
        """Take the request whose turn it is; KeyError if nobody waits."""
        generation = self._queue.pop()
        del self._waiting[generation.request_id]
        return generation

    def order(self) -> list[Generation]:
        """All in the order in which they will be taken."""
        return self._queue.order()

    def tell_positions(self) -> None:
        """Tell everybody whose position changed."""
        for position, generation in enumerate(self._queue.order()):
            if generation.position != position:
                generation.position = position
                ahead = None if self._worker.ready is None else self.ahead_s(position)
                generation.emit(Queued(position, ahead))
                self._log.append(
                    happened.RequestQueued(request_id=generation.request_id, position=position)
                )

    def ahead_s(self, position: int) -> float:
        """Seconds until a request at that position is likely to be taken."""
        ready = self._worker.ready
        sequences = 1 if ready is None else ready.sequences
        return self.times.ahead_s(ahead=position + self._running(), sequences=sequences)
