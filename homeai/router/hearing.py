"""Takes in what workers say of running requests: tokens, starts, ends. Learns from each how fast they are."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Protocol

from homeai.domain.errors import HomeAIError, from_code
from homeai.protocol.messages import Done, Piece, Started, Step
from homeai.router.answers import Answers
from homeai.router.clock import now
from homeai.router.generation import Generation
from homeai.router.lane import Lane
from homeai.router.ledger import LedgerError
from homeai.router.line import Line

logger = logging.getLogger(__name__)


class _House(Protocol):
    """What the router does for us."""

    def fail(self, generation: Generation, error: HomeAIError) -> None: ...
    def forget(self, generation: Generation) -> None: ...
    def work(self) -> None: ...


class Hearing:
    """From messages of workers to events of requests.

    Args:
        house: The router.
        lanes: The workers.
        line: Learns how long answers take.
        answers: Writes the events.
    """

    def __init__(
        self, house: _House, lanes: Mapping[str, Lane], line: Line, answers: Answers
    ) -> None:
        self._house, self._lanes, self._line, self._answers = house, lanes, line, answers

    def on_message(self, lane: Lane, message: Step | Started | Done) -> None:
        """Take one message in; what belongs to no open request is out of date."""
        if isinstance(message, Step):
            for piece in message.pieces:
                self._on_ticket(lane, piece)
        else:
            self._on_ticket(lane, message)

    def attempt_is_written(self, generation: Generation, number: int) -> None:
        """What a worker said meanwhile counts from now on."""
        if number != len(generation.attempts) or generation.unheard is None:
            return  # it was over before it was written
        unheard, generation.unheard = generation.unheard, None
        lane = self._lanes[generation.lane]
        for message in unheard:
            self._on_ticket(lane, message)
        if unheard:
            self._house.work()

    def _on_ticket(self, lane: Lane, message: Piece | Started | Done) -> None:
        generation = lane.open.get(message.ticket)
        if generation is None:
            return
        if generation.unheard is not None:
            generation.unheard.append(message)
            return
        match message:
            case Piece():
                self._on_piece(generation, message)
            case Started():
                self._answers.started(generation, message)
            case Done():
                del lane.open[message.ticket]
                self._on_done(lane, generation, message)

    def _on_piece(self, generation: Generation, piece: Piece) -> None:
        try:
            self._answers.piece(generation, piece, now())
        except LedgerError as error:
            logger.error("answer out of order request=%s what=%s", generation.request_id, error)  # noqa: TRY400
            self._house.fail(
                generation, from_code("worker_failed", "The worker lost part of the answer.")
            )

    def _on_done(self, lane: Lane, generation: Generation, message: Done) -> None:
        at = now()
        self._learn(lane, generation, message)
        if self._answers.finished(generation, message, at):
            self._line.times.observe(at - (generation.dispatched_at or at))
            if generation.estimate is not None and (promise := generation.promise(at)):
                lane.latency.grade(generation.estimate, promise[1])
            self._house.forget(generation)

    def _learn(self, lane: Lane, generation: Generation, message: Done) -> None:
        if message.reason == "cancelled":
            return
        first = generation.resumed_at or 0
        lane.latency.observe(
            prompt_tokens=message.prompt_tokens - message.cached_tokens + first,
            prefill_s=message.prefill_s,
            new_tokens=message.completion_tokens - first - 1,
            decode_s=message.decode_s,
        )
        for other in self._lanes.values():
            other.latency.observe_length(
                new_tokens=message.completion_tokens, allowed=generation.request.max_tokens
            )
