"""The one place where requests meet workers: feeds events to pure deciders and carries verdicts out.

Runs in the event loop and never blocks. Everything is driven by four inputs: a request arrives, a
worker says something, a worker's state changes, a reader gives up.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
from collections.abc import Callable
from typing import Any

from homeai.domain import events as happened
from homeai.domain.errors import (
    Cancelled,
    HomeAIError,
    ShuttingDown,
    from_code,
)
from homeai.domain.request import GenerationRequest
from homeai.domain.states import RequestState
from homeai.protocol.messages import (
    Cancel,
    Done,
    FromWorker,
    Piece,
    Prepared,
    Ready,
    Refused,
    Started,
    Step,
)
from homeai.router import admission, orders
from homeai.router.answers import Answers
from homeai.router.events import EventRing
from homeai.router.generation import Generation
from homeai.router.ledger import LedgerError
from homeai.router.line import Line
from homeai.router.parties import Policy, Worker
from homeai.router.preparation import Preparation
from homeai.router.records import Records
from homeai.supervisor.diagnosis import Ending

logger = logging.getLogger(__name__)


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
        self._running: dict[str, Generation] = {}
        self._line = Line(worker, log, lambda: len(self._running))
        self._open: dict[int, Generation] = {}
        self._tickets = itertools.count(1)
        self._preparation = Preparation(worker, self._tickets, self._fail)
        self._stopping = False
        self._idle = asyncio.Event()
        self._answers = Answers(worker, log, provenance)
        self.records = Records()

    @property
    def running(self) -> int:
        """Requests a worker works for."""
        return len(self._running)

    @property
    def waiting(self) -> int:
        """Requests in line."""
        return len(self._line)

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
        if self._may_start_at_once(request):
            self._start(generation)
            return generation
        self._line.join(generation)
        wait_s = min(policy.queue_wait_s, self._deadline_s(generation))
        loop = asyncio.get_running_loop()
        generation.timer = loop.call_later(wait_s, self._waited_too_long, generation)
        self._preparation.ask(generation)
        self._line.tell_positions()
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
        if self._line.get(request.id) or request.id in self._running:
            return from_code("invalid_request", f"A request with the id {request.id} is under way.")
        return self._line.refusal(request, policy, idle=self._free() > 0)

    def _may_start_at_once(self, request: GenerationRequest) -> bool:
        """Whether its prompt can be prepared and computed in one go: nobody waits, a sequence is free.

        Several answers share one prompt, which is then better prepared once.
        """
        return request.n == 1 and not len(self._line) and self._free() > 0

    # ---- a worker says something --------------------------------------------------------------

    def on_messages(self, messages: list[FromWorker]) -> None:
        """Take in what a worker sent."""
        for message in messages:
            match message:
                case Step():
                    for piece in message.pieces:
                        self._on_piece(piece)
                case Prepared():
                    self._preparation.done(message)
                case Started():
                    if (generation := self._open.get(message.ticket)) is not None:
                        self._answers.started(generation, message)
                case Done():
                    self._on_done(message)
                case Refused():
                    self._on_refused(message)
                case Ready():
                    self._preparation.resume(self._line.order())
                case _:
                    pass
        self._dispatch()

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
            self._line.times.observe(now - (generation.dispatched_at or now))
            self._forget(generation)

    def _on_refused(self, message: Refused) -> None:
        ticket = message.ticket
        asked, running = self._preparation.take(ticket), self._open.pop(ticket, None)
        generation = asked or running
        if generation is not None and not generation.ended:
            self._fail(generation, from_code(message.code, message.message, message.param))

    def on_ending(self, ending: Ending) -> None:
        """A worker died or gave up: what it held fails now, what waits keeps its place if it may."""
        for generation in list(self._running.values()):
            self._fail(generation, from_code(ending.code, ending.sentence))
        self._preparation.clear()
        failure = self._worker.failure
        if failure is not None:
            for generation in self._line.order():
                self._fail(generation, failure)

    # ---- decisions ------------------------------------------------------------------------------

    def _free(self) -> int:
        ready = self._worker.ready
        return 0 if ready is None else ready.sequences - len(self._open)

    def _dispatch(self) -> None:
        moved = False
        while self._free() > 0:
            generation = self._line.first()
            if generation is None or generation.prompt_ids is None or not generation.answer_tokens:
                break  # its prompt is being prepared: the turn stays its own
            self._start(self._line.pop())
            moved = True
        if moved:
            self._line.tell_positions()

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
            if generation.prompt_ids is None:
                self._preparation.expect(ticket, generation)
            self._worker.send(orders.submit(ticket, generation, choice))

    def _deadline_s(self, generation: Generation) -> float:
        asked = generation.request.deadline_s
        most = self._policy().deadline_s
        return most if asked is None else min(asked, most)

    # ---- endings ----------------------------------------------------------------------------------

    def _cancelled(self, generation: Generation) -> None:
        self._fail(generation, Cancelled("The client went away."), RequestState.CANCELLED)

    def cancel(self, request_id: str) -> bool:
        """Cancel by id; False if no such request is under way."""
        generation = self._line.get(request_id) or self._running.get(request_id)
        if generation is None:
            return False
        text = "The request was cancelled."
        self._fail(generation, Cancelled(text), RequestState.CANCELLED)
        return True

    def _waited_too_long(self, generation: Generation) -> None:
        if generation.ended:
            return
        waited_s = self._now() - generation.arrived
        again_s = self._line.ahead_s(generation.position or 0)
        ready = self._worker.ready is not None
        self._fail(generation, admission.waited_too_long(waited_s, again_s, ready=ready))

    def _past_deadline(self, generation: Generation) -> None:
        if not generation.ended:
            error = admission.past_deadline(self._deadline_s(generation))
            self._fail(generation, error)

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
        if self._line.leave(generation):
            self._line.tell_positions()
        self._forget(generation)
        self._dispatch()

    def _forget(self, generation: Generation) -> None:
        if self._running.get(generation.request_id) is generation:
            del self._running[generation.request_id]
            if not self._running:
                self._idle.set()
        if generation.timer is not None:
            generation.timer.cancel()
            generation.timer = None

    # ---- stopping -----------------------------------------------------------------------------------

    async def drain(self, grace_s: float) -> None:
        """Take nothing new, refuse what waits, let what runs finish for `grace_s`, then cancel it."""
        self._stopping = True
        for generation in self._line.order():
            self._fail(generation, ShuttingDown("The service is stopping.", retry_after_s=5))
        self._idle.clear()
        if self._running:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(grace_s):
                    await self._idle.wait()
        for generation in list(self._running.values()):
            self._fail(generation, ShuttingDown("The service is stopping.", retry_after_s=5))

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()
