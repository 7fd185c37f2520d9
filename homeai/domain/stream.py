"""What comes back for a generation request, in order, as immutable events.

Queued* → Started(choice) → Delta(choice)* → Finished(choice), for each choice; or one Failed at any
time, which ends everything. Exactly one end is delivered for each choice.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

from homeai.domain.errors import HomeAIError


class FinishReason(StrEnum):
    """Why an answer ended."""

    STOP = "stop"
    LENGTH = "length"
    CANCELLED = "cancelled"


class TokenLogprob(msgspec.Struct, frozen=True):
    """Natural log probability of one emitted token under the unmodified distribution.

    Attributes:
        id: Token id.
        piece: The token's own bytes (may be a part of a character).
        logprob: ln p.
        top: Most probable alternatives as (id, piece, logprob), best first.
    """

    id: int
    piece: bytes
    logprob: float
    top: list[tuple[int, bytes, float]] = []


class Usage(msgspec.Struct, frozen=True):
    """Token counts of one choice.

    Attributes:
        prompt_tokens: Length of the prompt.
        completion_tokens: Tokens drawn, the end token included only if it was shown.
        cached_tokens: Prompt tokens found in the KV cache of an earlier request of the same client.
    """

    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int = 0


class Queued(msgspec.Struct, frozen=True):
    """The request waits. `position` 0 is next; `ahead_s` is an estimate or None."""

    position: int
    ahead_s: float | None = None


class Started(msgspec.Struct, frozen=True):
    """A worker took the choice up.

    Attributes:
        choice: Index 0 … n-1.
        worker: Name of the worker (`gpu` | `cpu`).
        device: `gpu` | `cpu`, what the next token comes from.
        attempt: 1 or 2.
        prompt_tokens: Length of the prompt.
        degraded: Why it is not the usual worker; None = it is.
        estimate_ms: What was promised for it, p50.
    """

    choice: int
    worker: str
    device: str
    attempt: int
    prompt_tokens: int
    degraded: str | None = None
    estimate_ms: int | None = None


Promise = tuple[float, float]
"""Milliseconds: what was estimated (p50) before a CPU attempt, and what it took."""


class Delta(msgspec.Struct, frozen=True):
    """Text that is safe to show: whole characters, no part of a stop string.

    Attributes:
        choice: Index of the answer.
        text: May be empty when a token is held back.
        tokens: Number of tokens drawn since the last delta.
        logprobs: One entry a token, if asked for.
    """

    choice: int
    text: str
    tokens: int
    logprobs: list[TokenLogprob] | None = None


class Notice(msgspec.Struct, frozen=True):
    """Something the client should know before it gets (more of) its answer.

    Attributes:
        kind: `degraded` (another worker will take over; with reason, estimate, choices) | `resumed` (it
            goes on from a token) | `waiting` (it waits for the GPU).
        facts: For the SSE comment and the `homeai` object; never text of prompt or answer.
    """

    kind: str
    facts: dict[str, Any]


class Finished(msgspec.Struct, frozen=True):
    """One choice is complete."""

    choice: int
    reason: FinishReason
    usage: Usage
    facts: dict[str, Any] = {}
    """For the `homeai` object: device, attempts, provenance, timings."""


class Failed(msgspec.Struct, frozen=True):
    """The whole request ended without (all of) its answers."""

    error: HomeAIError


StreamEvent = Queued | Started | Notice | Delta | Finished | Failed
