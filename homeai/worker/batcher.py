"""Which tokens the next decode call computes. Pure.

Every decoding sequence gets its next token in each call, so nobody's stream stalls for longer than one
chunk. Prompts go in the order of what is left of them, as many as fit one call. Waiting makes a prompt
look shorter, so a long one is not starved by a stream of short ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

CHUNK_TOKENS = 512
"""Most prompt tokens of one call."""
LEAST_CHUNK_TOKENS = 32
CALL_S = 2.0
"""Longest a call should take: bounds how long a cancel waits, also on slow machines."""
CALL_BESIDE_STREAMS_S = 1.0
"""The same while others stream: bounds the pause in their answers."""
AGING_TOKENS = 64
"""A waiting prompt counts as this much shorter for each call it waited."""


@dataclass(frozen=True, slots=True)
class Pending:
    """A sequence whose prompt is not computed yet.

    Attributes:
        key: The caller's name for it.
        remaining: Prompt tokens still to compute, ≥ 1.
        waited: Calls it was passed over.
    """

    key: int
    remaining: int
    waited: int = 0


def chunk_limit(tokens_s: float, *, beside_streams: bool) -> int:
    """Return how many prompt tokens fit one call at a measured prefill rate.

    Args:
        tokens_s: Prompt tokens per second.
        beside_streams: Whether answers grow in the same call.
    """
    seconds = CALL_BESIDE_STREAMS_S if beside_streams else CALL_S
    return int(max(LEAST_CHUNK_TOKENS, min(CHUNK_TOKENS, tokens_s * seconds)))


def prefill_share(
    pending: Sequence[Pending], decoding: int, batch_tokens: int, limit: int = CHUNK_TOKENS
) -> list[tuple[int, int]]:
    """Choose prompt chunks for the next call.

    Args:
        pending: Sequences in order of arrival.
        decoding: Sequences that get one token each in the same call.
        batch_tokens: Rows of one call.
        limit: Most prompt tokens, from `chunk_limit`.

    Returns:
        (key, tokens) in the order in which they enter the batch. The first may be a part of its prompt;
        others join only whole, since several prompts in one call are cheaper than one after the other.
    """
    room = min(limit, batch_tokens - decoding)
    share: list[tuple[int, int]] = []
    for item in sorted(pending, key=lambda item: item.remaining - AGING_TOKENS * item.waited):
        if share and item.remaining > room:
            break
        if room <= 0:
            break
        size = min(item.remaining, room)
        share.append((item.key, size))
        room -= size
    return share
