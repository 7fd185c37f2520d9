"""From a worker's pieces to the events a reader sees, through the ledger."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from homeai.domain import events as happened
from homeai.domain.errors import HomeAIError
from homeai.domain.states import RequestState
from homeai.domain.stream import Delta, Finished, FinishReason, Notice, Usage
from homeai.domain.stream import Started as StartedEvent
from homeai.protocol.messages import Done, Piece, Started
from homeai.router.events import EventRing
from homeai.router.generation import Generation
from homeai.router.parties import Recorder

PLANNED_REASONS = frozenset({"by_choice", "exceeds_gpu_profile"})
"""Reasons to answer on the CPU that are no degradation."""


class Answers:
    """Writes events into generations.

    Args:
        log: Typed events go there.
        provenance: Facts for the `homeai` object of answers.
        recorder: Keeps attempts and ends.
    """

    def __init__(
        self, log: EventRing, provenance: Callable[[], dict[str, Any]], recorder: Recorder
    ) -> None:
        self._log, self._provenance, self._recorder = log, provenance, recorder

    def dispatched(self, generation: Generation, lane: str) -> int:
        """An attempt begins; returns its number."""
        number = len(generation.attempts) + 1
        generation.attempts.append(
            {
                "n": number,
                "worker": lane,
                "device": lane,
                "started_at": datetime.now(UTC).isoformat(timespec="milliseconds"),
                "tokens": 0,
                "outcome": "running",
            }
        )
        self._log.append(
            happened.RequestDispatched(
                request_id=generation.request_id, worker=lane, attempt=number
            )
        )
        return number

    def started(self, generation: Generation, message: Started) -> None:
        """A worker took a choice up: told as a start, or as a resumption to those who saw one."""
        choice, lane = generation.tickets[message.ticket], generation.lane
        attempt = len(generation.attempts)
        if choice in generation.begun:
            at = generation.ledgers[choice].delivered
            generation.resumed_at = at
            facts = {"choice": choice, "device": lane, "attempt": attempt, "token": at}
            generation.emit(Notice("resumed", facts))
            return
        generation.begun.add(choice)
        estimate = generation.estimate
        generation.emit(
            StartedEvent(
                choice=choice,
                worker=lane,
                device=lane,
                attempt=attempt,
                prompt_tokens=generation.prompt_tokens,
                degraded=generation.reason,
                estimate_ms=None if estimate is None else round(estimate.p50_ms),
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
        generation.accepted[choice].extend(piece.ids)
        generation.sent_chars[choice] += len(piece.text)
        if generation.state is RequestState.DISPATCHED:
            generation.move(RequestState.STREAMING)
        if generation.first_token_at is None:
            generation.first_token_at = now
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
            self.close_attempt(generation, "finished")
        facts = self._facts(generation, message, now)
        generation.emit(Finished(choice=choice, reason=reason, usage=usage, facts=facts))
        if last:
            promise, estimate = generation.promise(now), generation.estimate
            self._recorder.ended(generation.request_id, generation.state.value, None, promise)
            self._log.append(
                happened.RequestFinished(
                    request_id=generation.request_id,
                    reason=reason,
                    prompt_tokens=generation.prompt_tokens,
                    completion_tokens=sum(u.completion_tokens for u in generation.usages.values()),
                    cached_tokens=usage.cached_tokens,
                    duration_s=now - generation.arrived,
                    estimate_ms=None if promise is None or estimate is None else estimate.body(),
                    actual_ms=None if promise is None else round(promise[1]),
                )
            )
        return last

    def failed(
        self, generation: Generation, error: HomeAIError, state: RequestState, now: float
    ) -> None:
        """The request ends with an error."""
        for ledger in generation.ledgers:
            ledger.end()
        self.close_attempt(generation, state.value)
        generation.tickets.clear()
        generation.fail(error, state, now)
        self._recorder.ended(generation.request_id, state.value, error.code, None)
        self._log.append(
            happened.RequestCancelled(request_id=generation.request_id)
            if state is RequestState.CANCELLED
            else happened.RequestFailed(request_id=generation.request_id, code=error.code)
        )

    def close_attempt(self, generation: Generation, outcome: str) -> None:
        """The attempt that runs, if one does, ended like this."""
        if not generation.attempts or generation.attempts[-1]["outcome"] != "running":
            return
        attempt, before = generation.attempts[-1], generation.attempts[:-1]
        tokens = generation.delivered - sum(int(str(one["tokens"])) for one in before)
        attempt["outcome"], attempt["tokens"] = outcome, tokens
        number = len(generation.attempts)
        self._recorder.attempt_ended(generation.request_id, number, outcome, tokens)
        self._log.append(
            happened.RequestAttemptEnded(
                request_id=generation.request_id,
                worker=str(attempt["worker"]),
                attempt=number,
                outcome=outcome,
                tokens=tokens,
                prompt_tokens=generation.prompt_tokens,
            )
        )

    def _facts(self, generation: Generation, message: Done, now: float) -> dict[str, Any]:
        estimate, reason = generation.estimate, generation.reason
        provenance = {**self._provenance(), "seed": generation.request.sampling.seed}
        if generation.resumed_at is not None:
            provenance["resumed_at_token"] = generation.resumed_at
            provenance["continuation"] = (
                "exact" if provenance.get("profile") == "exact" else "same prefix"
            )
        return {
            "device": generation.lane,
            "degraded": reason is not None and reason not in PLANNED_REASONS,
            "reason": reason,
            "attempts": [dict(attempt) for attempt in generation.attempts],
            "estimate_ms": None if estimate is None else estimate.body(),
            "actual_ms": round((now - generation.arrived) * 1000),
            "prefill_ms": round(message.prefill_s * 1000),
            "decode_ms": round(message.decode_s * 1000),
            "provenance": provenance,
        }
