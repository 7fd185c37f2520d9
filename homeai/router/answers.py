"""From a worker's pieces to the events a reader sees, through the ledger."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Protocol

from homeai.domain import events as happened
from homeai.domain.errors import HomeAIError
from homeai.domain.states import RequestState
from homeai.domain.stream import Delta, Finished, FinishReason, Usage
from homeai.domain.stream import Started as StartedEvent
from homeai.protocol.messages import Done, Piece, Started
from homeai.router.events import EventRing
from homeai.router.generation import Generation


class _Named(Protocol):
    @property
    def name(self) -> str: ...


class Answers:
    """Writes events into generations.

    Args:
        worker: For the names in events.
        log: Typed events go there.
        provenance: Facts for the `homeai` object of answers.
    """

    def __init__(
        self, worker: _Named, log: EventRing, provenance: Callable[[], dict[str, Any]]
    ) -> None:
        self._worker, self._log, self._provenance = worker, log, provenance

    def dispatched(self, generation: Generation) -> None:
        """An attempt begins."""
        number = len(generation.attempts) + 1
        generation.attempts.append(
            {
                "n": number,
                "worker": self._worker.name,
                "device": self._worker.name,
                "started_at": datetime.now(UTC).isoformat(timespec="milliseconds"),
                "tokens": 0,
                "outcome": "running",
            }
        )
        self._log.append(
            happened.RequestDispatched(
                request_id=generation.request_id, worker=self._worker.name, attempt=number
            )
        )

    def started(self, generation: Generation, message: Started) -> None:
        """A worker took a choice up."""
        choice = generation.tickets[message.ticket]
        generation.emit(
            StartedEvent(
                choice=choice,
                worker=self._worker.name,
                device=self._worker.name,
                attempt=len(generation.attempts),
                prompt_tokens=generation.prompt_tokens,
            )
        )

    def piece(self, generation: Generation, piece: Piece, now: float) -> None:
        """Tokens came.

        Raises:
            LedgerError: Out of order.
        """
        choice = generation.tickets[piece.ticket]
        count = len(piece.ids)
        if not generation.ledgers[choice].accept(piece.index, count):
            return
        if generation.first_token_at is None:
            generation.first_token_at = now
            if generation.state is RequestState.DISPATCHED:
                generation.move(RequestState.STREAMING)
            self._log.append(
                happened.RequestFirstToken(
                    request_id=generation.request_id, ttft_s=now - generation.arrived
                )
            )
        generation.emit(Delta(choice, piece.text, count, piece.logprobs))

    def finished(self, generation: Generation, message: Done, now: float) -> bool:
        """A choice is complete; returns whether the whole request is."""
        choice = generation.tickets.pop(message.ticket)
        if generation.ended or not generation.ledgers[choice].end():
            return False
        usage = Usage(message.prompt_tokens, message.completion_tokens, message.cached_tokens)
        reason = FinishReason(message.reason)
        generation.usages[choice], generation.reasons[choice] = usage, reason
        last = not generation.tickets
        if last:
            generation.move(RequestState.FINISHED)
            generation.ended_at = now
            self._close_attempt(generation, "finished")
        facts = self._facts(generation, message, now)
        generation.emit(Finished(choice=choice, reason=reason, usage=usage, facts=facts))
        if last:
            self._log.append(
                happened.RequestFinished(
                    request_id=generation.request_id,
                    reason=reason,
                    prompt_tokens=generation.prompt_tokens,
                    completion_tokens=sum(u.completion_tokens for u in generation.usages.values()),
                    cached_tokens=usage.cached_tokens,
                    duration_s=now - generation.arrived,
                )
            )
        return last

    def failed(
        self, generation: Generation, error: HomeAIError, state: RequestState, now: float
    ) -> None:
        """The request ends with an error."""
        for ledger in generation.ledgers:
            ledger.end()
        self._close_attempt(generation, state.value)
        generation.tickets.clear()
        generation.fail(error, state, now)
        self._log.append(
            happened.RequestCancelled(request_id=generation.request_id)
            if state is RequestState.CANCELLED
            else happened.RequestFailed(request_id=generation.request_id, code=error.code)
        )

    @staticmethod
    def _close_attempt(generation: Generation, outcome: str) -> None:
        if generation.attempts and generation.attempts[-1]["outcome"] == "running":
            generation.attempts[-1]["outcome"] = outcome
            generation.attempts[-1]["tokens"] = sum(
                ledger.delivered for ledger in generation.ledgers
            )

    def _facts(self, generation: Generation, message: Done, now: float) -> dict[str, Any]:
        return {
            "device": self._worker.name,
            "degraded": False,
            "reason": None,
            "attempts": [dict(attempt) for attempt in generation.attempts],
            "estimate_ms": None,
            "actual_ms": round((now - generation.arrived) * 1000),
            "prefill_ms": round(message.prefill_s * 1000),
            "decode_ms": round(message.decode_s * 1000),
            "provenance": {**self._provenance(), "seed": generation.request.sampling.seed},
        }
