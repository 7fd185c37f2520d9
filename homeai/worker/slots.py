"""Which sequence of the KV cache a request gets, and what it may reuse of an earlier one.

Reuse happens only inside one client: another client's tokens are dropped before their sequence is
given away, and are never compared with a prompt.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

MIN_COPY_TOKENS = 16
"""A shorter common prefix is not worth a copy between sequences."""


@dataclass(slots=True)
class Slot:
    """One sequence of the KV cache.

    Attributes:
        index: Its number in the context.
        client: Whose tokens it holds; None = empty.
        tokens: Ids whose keys and values are in the cache, in order.
        ticket: The request it works for; None = idle.
        last_used: Counter of the last release, for least-recently-used.
    """

    index: int
    client: str | None = None
    tokens: list[int] = field(default_factory=list)
    ticket: int | None = None
    last_used: int = 0


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a prompt goes.

    Attributes:
        slot: Its sequence.
        reuse: Tokens of the prompt that need no computing.
        copy_from: Sequence whose cache must be copied into `slot` first; None = already there.
    """

    slot: Slot
    reuse: int
    copy_from: int | None = None


def common_prefix(left: Sequence[int], right: Sequence[int]) -> int:
    """Return how many leading ids are equal."""
    limit = min(len(left), len(right))
    if left[:limit] == right[:limit]:
        return limit
    low, high = 0, limit  # a binary search over slices beats a Python loop over tokens
    while low < high - 1:
        middle = (low + high) // 2
        if left[low:middle] == right[low:middle]:
            low = middle
        else:
            high = middle
    return low


class SlotTable:
    """All sequences of a context.

    Args:
        count: Number of sequences.
        can_cut: Whether the cache can be cut back to a prefix; if not, nothing is reused.
    """

    def __init__(self, count: int, *, can_cut: bool = True) -> None:
        self.slots = [Slot(index) for index in range(count)]
        self._can_cut = can_cut
        self._clock = 0

    @property
    def idle(self) -> int:
        """Number of sequences nobody works on."""
        return sum(slot.ticket is None for slot in self.slots)

    def place(self, client: str, prompt: list[int]) -> Placement | None:
        """Choose a sequence for a prompt, or None if all are busy. Changes nothing.

        The last prompt token is always computed again, since its logits are needed.
        """
        idle = [slot for slot in self.slots if slot.ticket is None]
        if not idle:
            return None
        shared = self._shared(client, prompt)
        best = max(shared, key=lambda index: shared[index], default=None)
        longest = shared[best] if best is not None else 0
        # Stay in an idle sequence if most of what it holds is wanted; a mere common system prompt is
        # rather copied, so that the longer conversation it belongs to stays for its next turn.
        for slot in idle:
            if shared.get(slot.index, 0) == longest > 0 and 2 * longest >= len(slot.tokens):
                return Placement(slot, longest)
        target = min(
            idle, key=lambda slot: (slot.client is not None, self._distance(slot), slot.last_used)
        )
        if best is not None and longest >= MIN_COPY_TOKENS:
            if best == target.index:
                return Placement(target, longest)
            return Placement(target, longest, copy_from=best)
        return Placement(target, 0)

    def _distance(self, slot: Slot) -> int:
        """Sequences between it and the nearest busy one: only neighbours are computed together."""
        busy = [abs(other.index - slot.index) for other in self.slots if other.ticket is not None]
        return min(busy, default=0)

    def _shared(self, client: str, prompt: list[int]) -> dict[int, int]:
        if not self._can_cut:
            return {}
        wanted = prompt[:-1]
        return {
            slot.index: size
            for slot in self.slots
            if slot.client == client and (size := common_prefix(slot.tokens, wanted))
        }

    def take(self, placement: Placement, client: str, ticket: int, prompt: list[int]) -> Slot:
        """Give the placed sequence to a ticket; its cache holds the reused prefix from now on."""
        slot = placement.slot
        slot.client, slot.ticket = client, ticket
        slot.tokens = prompt[: placement.reuse]
        return slot

    def release(self, slot: Slot) -> None:
        """The ticket ended; the tokens stay for the client's next request."""
        self._clock += 1
        slot.ticket, slot.last_used = None, self._clock

    def clear(self, slot: Slot) -> None:
        """Forget what the sequence holds."""
        slot.client, slot.tokens = None, []
