"""Whether a request may come in, before any work is done. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from homeai.domain.errors import (
    ContextLengthExceeded,
    HomeAIError,
    LatencyExceedsDeadline,
    ModelLoading,
    QueueFull,
)


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of the waiting line, see `limits.*` in the settings."""

    queue_total: int
    queue_per_client: int


@dataclass(frozen=True, slots=True)
class Wait:
    """The request may wait for its turn, which may be at once."""


@dataclass(frozen=True, slots=True)
class Refuse:
    """The request is refused with this error."""

    error: HomeAIError


def enter(
    limits: Limits, *, waiting: int, waiting_of_client: int, idle: bool, retry_after_s: float
) -> Wait | Refuse:
    """Decide on arrival.

    Args:
        limits: Bounds.
        waiting: Requests in line.
        waiting_of_client: Those of this client.
        idle: Whether a worker could take the request at once.
        retry_after_s: When a place is likely to be free, seconds.
    """
    if idle and not waiting:
        return Wait()
    if waiting >= limits.queue_total:
        text = f"All {limits.queue_total} places in the waiting line are taken."
        return Refuse(QueueFull(text, retry_after_s=retry_after_s))
    if waiting_of_client >= limits.queue_per_client:
        text = f"This client already has {waiting_of_client} requests in line; allowed are {limits.queue_per_client}."
        return Refuse(QueueFull(text, retry_after_s=retry_after_s))
    return Wait()


def answer_length(
    *, prompt_tokens: int, max_tokens: int | None, context_tokens: int
) -> int | Refuse:
    """Return how many tokens the answer may have; nothing is ever cut to make it fit.

    Args:
        prompt_tokens: Exact length of the prompt.
        max_tokens: Asked for; None = all that is left.
        context_tokens: What prompt and answer may have together.
    """
    left = context_tokens - prompt_tokens
    wanted = max(left, 1) if max_tokens is None else max_tokens
    if wanted > left:
        text = (
            f"The prompt has {prompt_tokens} tokens"
            + (f" and max_tokens is {max_tokens}" if max_tokens is not None else "")
            + f"; together at most {context_tokens} fit. Shorten the prompt"
            + (" or lower max_tokens." if max_tokens is not None else ".")
        )
        details: dict[str, object] = {
            "prompt_tokens": prompt_tokens,
            "max_tokens": max_tokens,
            "context_tokens": context_tokens,
        }
        return Refuse(ContextLengthExceeded(text, param="messages", details=details))
    return wanted


def waited_too_long(waited_s: float, again_s: float, *, ready: bool) -> HomeAIError:
    """Return the error for a request that left the line because its wait was over.

    Args:
        waited_s: How long it waited, seconds.
        again_s: After how many seconds a repeat makes sense.
        ready: Whether the model is loaded.
    """
    if not ready:
        return ModelLoading(f"The model was not ready within {waited_s:.0f} s.", retry_after_s=5)
    return QueueFull(f"No worker was free within {waited_s:.0f} s.", retry_after_s=again_s)


def past_deadline(deadline_s: float) -> LatencyExceedsDeadline:
    """Return the error for an answer that was not complete in time."""
    text = f"The answer was not complete within its deadline of {deadline_s:g} s."
    return LatencyExceedsDeadline(text, details={"deadline_ms": round(deadline_s * 1000)})
