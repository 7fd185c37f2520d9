"""The one place where requests meet workers: feeds events to pure deciders and carries verdicts out.

Runs in the event loop and never blocks. Everything is driven by four inputs: a request arrives, a
worker says something, a worker's state changes, a reader gives up.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

from homeai.domain import events as happened
from homeai.domain.errors import (
    Cancelled,
    HomeAIError,
    LatencyExceedsDeadline,
    ModelLoading,
    QueueFull,
    ShuttingDown,
    from_code,
)
from homeai.domain.request import GenerationRequest
from homeai.domain.states import RequestState
from homeai.domain.stream import Queued
from homeai.protocol.messages import (
    Cancel,
    Done,
    FromWorker,
    Piece,
    Prepare,
    Prepared,
    Ready,
    Refused,
    Started,
    Step,
    Submit,
    ToWorker,
)
from homeai.router import admission
from homeai.router.answers import Answers
from homeai.router.estimate import ServiceTimes
from homeai.router.events import EventRing
from homeai.router.generation import Generation
from homeai.router.ledger import LedgerError
from homeai.router.queue import FairQueue
from homeai.router.records import Records
from homeai.supervisor.diagnosis import Ending

logger = logging.getLogger(__name__)

_SEED_MASK = 2**64 - 1


class Worker(Protocol):
    """What the router needs of a worker process."""

    @property
    def name(self) -> str:
        """`cpu` | `gpu`."""
        ...

    @property
    def ready(self) -> Ready | None:
        """What it can do; None while it cannot work."""
        ...

    @property
    def failure(self) -> HomeAIError | None:
        """Why it will not come up by itself."""
        ...

    def send(self, message: ToWorker) -> None:
        """Post a message."""
        ...


@dataclass(frozen=True, slots=True)
class Policy:
    """Limits of the router, see `limits.*` in the settings; times in seconds."""

    queue_total: int = 32
    queue_per_client: int = 8
    queue_wait_s: float = 120.0
    deadline_s: float = 300.0


class Router:
    """Owns all requests.

    Args:
        worker: Where requests are computed.
        policy: Read at each arrival, so that changed settings count at once.
        log: Typed events go there.
        provenance: Facts for the `homeai` object of answers.
    """

    def __init__(
        self,
        worker: Worker,
        policy: Callable[[], Policy],
        log: EventRing,
        provenance: Callable[[], dict[str, Any]],
    ) -> None:
        self._worker, self._policy, self._log = worker, policy, log
        self._queue: FairQueue[Generation] = FairQueue()
        self._running: dict[str, Generation] = {}
        self._waiting: dict[str, Generation] = {}
        self._open: dict[int, Generation] = {}
        self._preparing: dict[int, Generation] = {}
        self._tickets = itertools.count(1)
        self._times = ServiceTimes()
        self._stopping = False
        self._answers = Answers(worker, log, provenance)
        self.records = Records()

    @property
    def running(self) -> int:
        """Requests a worker works for."""
        return len(self._running)

    @property
    def waiting(self) -> int:
        """Requests in line."""
        return len(self._queue)

    def submit(self, request: GenerationRequest) -> Generation:
        """Take a request in; a refusal arrives as its `Failed` event."""
        now = self._now()
        generation = Generation(request, now, self._cancelled)
        self.records.add(generation)
        self._log.append(happened.RequestReceived(request_id=request.id, client=request.client))
        policy = self._policy()
        error = self._refusal(request, policy)
        if error is not None:
            self._fail(generation, error)
            return generation
        generation.move(RequestState.WAITING)
        self._waiting[request.id] = generation
        self._queue.add(request.client, request.id, generation)
        wait_s = min(policy.queue_wait_s, self._deadline_s(generation))
        loop = asyncio.get_running_loop()
        generation.timer = loop.call_later(wait_s, self._waited_too_long, generation)
        self._prepare(generation)
        self._tell_positions()
        return generation

    def refuse(self, request: GenerationRequest, error: HomeAIError) -> Generation:
        """Record a request that ends with `error` before it comes in."""
        generation = Generation(request, self._now(), self._cancelled)
        self.records.add(generation)
        self._fail(generation, error)
        return generation

    def _refusal(self, request: GenerationRequest, policy: Policy) -> HomeAIError | None:
        if self._stopping:
            return ShuttingDown("The service is stopping.", retry_after_s=5)
        if self._worker.failure is not None:
            return self._worker.failure
        if request.id in self._waiting or request.id in self._running:
            return from_code("invalid_request", f"A request with the id {request.id} is under way.")
        verdict = admission.enter(
            admission.Limits(policy.queue_total, policy.queue_per_client),
            waiting=len(self._queue),
            waiting_of_client=self._queue.of_client(request.client),
            idle=self._free() > 0,
            retry_after_s=self._ahead_s(len(self._queue)),
        )
        return verdict.error if isinstance(verdict, admission.Refuse) else None

    # ---- a worker says something --------------------------------------------------------------

    def on_messages(self, messages: list[FromWorker]) -> None:
        """Take in what a worker sent."""
        for message in messages:
            match message:
                case Step():
                    for piece in message.pieces:
                        self._on_piece(piece)
                case Prepared():
                    self._on_prepared(message)
                case Started():
                    if (generation := self._open.get(message.ticket)) is not None:
                        self._answers.started(generation, message)
                case Done():
                    self._on_done(message)
                case Refused():
                    self._on_refused(message)
                case Ready():
                    self._on_ready()
                case _:
                    pass
        self._dispatch()

    def _on_ready(self) -> None:
        for generation in self._queue.order():
            if generation.prompt_ids is None:
                self._prepare(generation)
            else:
                self._measure(generation)

    def _on_prepared(self, message: Prepared) -> None:
        generation = self._preparing.pop(message.ticket, None)
        if generation is None or generation.ended:
            return
        generation.prompt_ids, generation.prompt_text = message.prompt_ids, message.text
        generation.prompt_tokens = len(message.prompt_ids) // 4
        self._measure(generation)

    def _measure(self, generation: Generation) -> None:
        """Compare a prepared prompt with the worker's context."""
        ready = self._worker.ready
        if ready is None:
            return
        length = admission.answer_length(
            prompt_tokens=generation.prompt_tokens,
            max_tokens=generation.request.max_tokens,
            context_tokens=ready.context_tokens,
        )
        if isinstance(length, admission.Refuse):
            self._fail(generation, length.error)
        else:
            generation.answer_tokens = length

    def _on_piece(self, piece: Piece) -> None:
        generation = self._open.get(piece.ticket)
        if generation is None:
            return
        try:
            self._answers.piece(generation, piece, self._now())
        except LedgerError as error:
            logger.error("answer out of order request=%s what=%s", generation.request_id, error)  # noqa: TRY400
            self._fail(
                generation, from_code("worker_failed", "The worker lost part of the answer.")
            )

    def _on_done(self, message: Done) -> None:
        generation = self._open.pop(message.ticket, None)
        if generation is None:
            return
        now = self._now()
        if self._answers.finished(generation, message, now):
            self._times.observe(now - (generation.dispatched_at or now))
            self._forget(generation)

    def _on_refused(self, message: Refused) -> None:
        generation = self._preparing.pop(message.ticket, None) or self._open.pop(
            message.ticket, None
        )
        if generation is not None and not generation.ended:
            self._fail(generation, from_code(message.code, message.message, message.param))

    def on_ending(self, ending: Ending) -> None:
        """A worker died or gave up: what it held fails now, what waits keeps its place if it may."""
        for generation in list(self._running.values()):
            self._fail(generation, from_code(ending.code, ending.sentence))
        self._preparing.clear()
        failure = self._worker.failure
        if failure is not None:
            for generation in self._queue.order():
                self._fail(generation, failure)

    # ---- decisions ------------------------------------------------------------------------------

    def _prepare(self, generation: Generation) -> None:
        if self._worker.ready is None or generation.prompt_ids is not None:
            return
        ticket = next(self._tickets)
        self._preparing[ticket] = generation
        request = generation.request
        self._worker.send(
            Prepare(
                ticket=ticket,
                prompt=request.prompt,
                logit_bias_ids=list(request.sampling.logit_bias),
            )
        )

    def _free(self) -> int:
        ready = self._worker.ready
        return 0 if ready is None else ready.sequences - len(self._open)

    def _dispatch(self) -> None:
        moved = False
        while self._free() > 0:
            generation = self._queue.first()
            if generation is None or generation.prompt_ids is None or not generation.answer_tokens:
                break  # its prompt is being prepared: the turn stays its own
            self._queue.pop()
            self._waiting.pop(generation.request_id)
            self._start(generation)
            moved = True
        if moved:
            self._tell_positions()

    def _start(self, generation: Generation) -> None:
        request, now = generation.request, self._now()
        generation.move(RequestState.DISPATCHED)
        generation.dispatched_at = now
        self._running[request.id] = generation
        if generation.timer is not None:
            generation.timer.cancel()
        left = self._deadline_s(generation) - (now - generation.arrived)
        loop = asyncio.get_running_loop()
        generation.timer = loop.call_later(max(left, 0), self._past_deadline, generation)
        self._answers.dispatched(generation)
        for choice in range(request.n):
            ticket = next(self._tickets)
            generation.tickets[ticket] = choice
            self._open[ticket] = generation
            sampling = request.sampling
            if choice:
                seed = (sampling.seed + choice) & _SEED_MASK
                sampling = msgspec.structs.replace(sampling, seed=seed)
            self._worker.send(
                Submit(
                    ticket=ticket,
                    client=request.client,
                    prompt_ids=generation.prompt_ids or b"",
                    max_tokens=generation.answer_tokens,
                    sampling=sampling,
                    stop=request.stop,
                    grammar=request.grammar,
                    logprobs=request.logprobs,
                )
            )

    def _tell_positions(self) -> None:
        ready = self._worker.ready
        for position, generation in enumerate(self._queue.order()):
            if generation.position != position:
                generation.position = position
                ahead = self._ahead_s(position) if ready is not None else None
                generation.emit(Queued(position, ahead))
                self._log.append(
                    happened.RequestQueued(request_id=generation.request_id, position=position)
                )

    def _ahead_s(self, position: int) -> float:
        ready = self._worker.ready
        sequences = 1 if ready is None else ready.sequences
        return self._times.ahead_s(ahead=position + len(self._running), sequences=sequences)

    def _deadline_s(self, generation: Generation) -> float:
        asked = generation.request.deadline_s
        most = self._policy().deadline_s
        return most if asked is None else min(asked, most)

    # ---- endings ----------------------------------------------------------------------------------

    def _cancelled(self, generation: Generation) -> None:
        self._fail(generation, Cancelled("The client went away."), RequestState.CANCELLED)

    def cancel(self, request_id: str) -> bool:
        """Cancel by id; False if no such request is under way."""
        generation = self._waiting.get(request_id) or self._running.get(request_id)
        if generation is None:
            return False
        text = "The request was cancelled."
        self._fail(generation, Cancelled(text), RequestState.CANCELLED)
        return True

    def _waited_too_long(self, generation: Generation) -> None:
        if generation.ended:
            return
        seconds = self._now() - generation.arrived
        if self._worker.ready is None:
            error: HomeAIError = ModelLoading(
                f"The model was not ready within {seconds:.0f} s.", retry_after_s=5
            )
        else:
            error = QueueFull(
                f"No worker was free within {seconds:.0f} s.",
                retry_after_s=self._ahead_s(generation.position or 0),
            )
        self._fail(generation, error)

    def _past_deadline(self, generation: Generation) -> None:
        if not generation.ended:
            seconds = self._deadline_s(generation)
            text = f"The answer was not complete within its deadline of {seconds:g} s."
            details: dict[str, object] = {"deadline_ms": round(seconds * 1000)}
            self._fail(generation, LatencyExceedsDeadline(text, details=details))

    def _fail(
        self,
        generation: Generation,
        error: HomeAIError,
        state: RequestState = RequestState.FAILED,
    ) -> None:
        if generation.ended:
            return
        for ticket in generation.tickets:
            if self._open.pop(ticket, None) is not None:
                self._worker.send(Cancel(ticket=ticket))
        self._answers.failed(generation, error, state, self._now())
        was_waiting = self._waiting.get(generation.request_id) is generation
        self._forget(generation)
        if was_waiting:
            self._tell_positions()
        self._dispatch()

    def _forget(self, generation: Generation) -> None:
        key = generation.request_id
        if self._waiting.get(key) is generation:
            del self._waiting[key]
            self._queue.remove(generation.request.client, key)
        if self._running.get(key) is generation:
            del self._running[key]
        if generation.timer is not None:
            generation.timer.cancel()
            generation.timer = None

    # ---- stopping -----------------------------------------------------------------------------------

    async def drain(self, grace_s: float) -> None:
        """Take nothing new, refuse what waits, let what runs finish for `grace_s`, then cancel it."""
        self._stopping = True
        for generation in self._queue.order():
            self._fail(generation, ShuttingDown("The service is stopping.", retry_after_s=5))
        end = self._now() + grace_s
        while self._running and self._now() < end:
            await asyncio.sleep(0.02)
        for generation in list(self._running.values()):
            self._fail(generation, ShuttingDown("The service is stopping.", retry_after_s=5))

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()
