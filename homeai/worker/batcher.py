"""Which tokens the next decode call computes. Pure.

Every decoding sequence gets its next token in each call, so nobody's stream stalls for longer than one
chunk. Prompts are computed one after the other, the one with least left first: of several that arrive
together the first is answered after its own prefill rather than after everyone's. Waiting makes a
prompt look shorter, so a long one is not starved by a stream of short ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

CHUNK_TOKENS = 512
"""Prompt tokens a call computes while nobody streams."""
CHUNK_TOKENS_BESIDE_STREAMS = 256
"""The same while others stream: bounds their pause to one smaller chunk."""
LEAST_CHUNK_TOKENS = 32
CALL_S = 2.0
"""Longest a call should take: bounds how long a cancel waits, also on slow machines."""
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


def chunk_limit(tokens_s: float) -> int:
    """Return how many prompt tokens fit one call at a measured prefill rate.

    Args:
        tokens_s: Prompt tokens per second; 0 = not measured yet.
    """
    return int(max(LEAST_CHUNK_TOKENS, min(CHUNK_TOKENS, tokens_s * CALL_S)))


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
        (key, tokens) in the order in which they enter the batch; further prompts join only if the
        first ones end inside the chunk.
    """
    most = CHUNK_TOKENS_BESIDE_STREAMS if decoding else CHUNK_TOKENS
    room = min(most, limit, batch_tokens - decoding)
    order = sorted(pending, key=lambda item: item.remaining - AGING_TOKENS * item.waited)
    if not order or room <= 0:
        return []
    first = order[0]
    return [(first.key, min(first.remaining, room))]
