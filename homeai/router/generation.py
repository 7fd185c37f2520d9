"""A request on its way through the house: its state, and the events that wait for its reader."""

from __future__ import annotations

import asyncio
from array import array
from collections import deque
from collections.abc import Callable

from homeai.domain.errors import HomeAIError
from homeai.domain.request import GenerationRequest
from homeai.domain.states import TERMINAL, RequestState, advance
from homeai.domain.stream import Failed, FinishReason, Promise, StreamEvent, Usage
from homeai.planning.latency import Estimate
from homeai.protocol.messages import Done, Piece, Started
from homeai.router.ledger import ChoiceLedger


class Generation:
    """One accepted request; implements `server.ports.Generation`.

    Only the router writes to it; a door reads with `next_events` and may `cancel`.

    Args:
        request: What was asked.
        arrived: Event loop time of arrival, seconds.
        on_cancel: Called once when the reader gives up.

    Attributes:
        prompt_ids: Packed ids, once prepared.
        tickets: Open ticket → choice.
        usages: Usage of each finished choice.
        lane: Worker it waits for or runs on.
        reason: Why that is not the usual one; None = it is.
        suspect: It was running when a worker died by signal, so it runs alone.
        accepted: Token ids delivered, for each choice; a later attempt goes on behind them.
        sent_chars: Characters of text delivered, for each choice.
        begun: Choices whose start was told.
        estimate: What was promised before a retry.
        promised_at: When, event loop time.
        unheard: What a worker said before its attempt was written down; None = it is.
    """

    def __init__(
        self,
        request: GenerationRequest,
        arrived: float,
        on_cancel: Callable[[Generation], None],
    ) -> None:
        self.request, self.arrived = request, arrived
        self.request_id = request.id
        self.prompt_text: str | None = None
        self.prompt_ids: bytes | None = None
        self.prompt_tokens = 0
        self.answer_tokens = 0
        self.state = RequestState.RECEIVED
        self.ledgers = [ChoiceLedger() for _ in range(request.n)]
        self.tickets: dict[int, int] = {}
        self.usages: dict[int, Usage] = {}
        self.reasons: dict[int, FinishReason] = {}
        self.lane = ""
        self.reason: str | None = None
        self.suspect = False
        self.accepted = [array("i") for _ in range(request.n)]
        self.sent_chars = [0] * request.n
        self.begun: set[int] = set()
        self.resumed_at: int | None = None
        self.estimate: Estimate | None = None
        self.promised_at: float | None = None
        self.attempts: list[dict[str, object]] = []
        self.timer: asyncio.TimerHandle | None = None
        self.position: int | None = None
        self.dispatched_at: float | None = None
        self.first_token_at: float | None = None
        self.ended_at: float | None = None
        self.error: HomeAIError | None = None
        self.unheard: list[Piece | Started | Done] | None = None
        self._on_cancel = on_cancel
        self._events: deque[StreamEvent] = deque()
        self._reader: asyncio.Future[None] | None = None
        self._patience: asyncio.TimerHandle | None = None
        self._patient_until = 0.0

    @property
    def ended(self) -> bool:
        """Whether the last event was written."""
        return self.state in TERMINAL

    @property
    def delivered(self) -> int:
        """Tokens that reached the reader, of all choices."""
        return sum(ledger.delivered for ledger in self.ledgers)

    @property
    def open_choices(self) -> list[int]:
        """Choices that are not complete yet."""
        return [n for n in range(self.request.n) if n not in self.reasons]

    def deadline_s(self, most_s: float) -> float:
        """Seconds from arrival until the answer is due."""
        asked = self.request.deadline_s
        return most_s if asked is None else min(asked, most_s)

    def promise(self, now: float) -> Promise | None:
        """What was promised before a CPU attempt and what it took until now; None = nothing was."""
        if self.estimate is None or self.promised_at is None:
            return None
        return self.estimate.p50_ms, 1000 * (now - self.promised_at)

    def move(self, new: RequestState) -> None:
        """Change the state; a move outside the table is a bug of ours and raises ValueError."""
        self.state = advance(self.state, new)

    def emit(self, event: StreamEvent) -> None:
        """Write an event for the reader and wake it."""
        self._events.append(event)
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)

    async def next_events(self, timeout_s: float | None = None) -> list[StreamEvent]:
        """Return all events since the last call; waits for the first, at most `timeout_s`."""
        if not self._events:
            if self.ended:
                raise RuntimeError("the last event of this request was read already")
            loop = asyncio.get_running_loop()
            self._reader = loop.create_future()
            if timeout_s is not None:
                self._be_patient_until(loop, loop.time() + timeout_s)
            try:
                await self._reader
            finally:
                self._reader = None
                if self.state in TERMINAL and self._patience is not None:
                    self._patience.cancel()
        events = list(self._events)
        self._events.clear()
        return events

    def _be_patient_until(self, loop: asyncio.AbstractEventLoop, when: float) -> None:
        """Wake the reader without news at `when`.

        One timer serves many calls, since a new one for each token would cost more than the token.
        """
        self._patient_until = when
        if self._patience is None or self._patience.cancelled() or self._patience.when() > when:
            if self._patience is not None:
                self._patience.cancel()
            self._patience = loop.call_at(when, self._patience_ends, loop)

    def _patience_ends(self, loop: asyncio.AbstractEventLoop) -> None:
        self._patience = None
        if self._reader is None or self._reader.done():
            return
        if loop.time() < self._patient_until:  # news came meanwhile, and it waits anew
            self._be_patient_until(loop, self._patient_until)
        else:
            self._reader.set_result(None)

    def cancel(self) -> None:
        """The reader is gone. Safe at any time and more than once."""
        if not self.ended:
            self._on_cancel(self)

    def fail(self, error: HomeAIError, state: RequestState, now: float) -> None:
        """End the request with an error, once."""
        self.move(state)
        self.error, self.ended_at = error, now
        self.emit(Failed(error))
