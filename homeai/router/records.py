"""Recent requests for `GET /homeai/v1/requests`; texts are never part of it."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from homeai.router.generation import Generation

KEPT_RECORDS = 200


class Records:
    """The last requests, running ones included."""

    def __init__(self) -> None:
        self._generations: OrderedDict[str, Generation] = OrderedDict()
        self._earlier: list[dict[str, Any]] = []

    def remember(self, records: list[dict[str, Any]]) -> None:
        """Take records of an earlier core in, newest first."""
        self._earlier = records[:KEPT_RECORDS]

    def add(self, generation: Generation) -> None:
        """Remember a request; the oldest ended one is forgotten when there are too many."""
        self._generations[generation.request_id] = generation
        self._generations.move_to_end(generation.request_id)
        if len(self._generations) > KEPT_RECORDS:
            oldest = next((key for key, old in self._generations.items() if old.ended), None)
            if oldest is not None:
                del self._generations[oldest]

    def list(self) -> list[dict[str, Any]]:
        """Records, newest first."""
        live = [record(generation) for generation in reversed(self._generations.values())]
        return [*live, *(old for old in self._earlier if old["id"] not in self._generations)]

    def get(self, request_id: str) -> dict[str, Any] | None:
        """One record, or None."""
        generation = self._generations.get(request_id)
        return None if generation is None else record(generation)


def record(generation: Generation) -> dict[str, Any]:
    """Return what may be told of a request."""
    end = generation.ended_at
    return {
        "id": generation.request_id,
        "client": generation.request.client,
        "state": generation.state.value,
        "position": generation.position if generation.state == "waiting" else None,
        "choices": generation.request.n,
        "prompt_tokens": generation.prompt_tokens or None,
        "completion_tokens": sum(ledger.delivered for ledger in generation.ledgers),
        "attempts": [dict(attempt) for attempt in generation.attempts],
        "duration_ms": None if end is None else round((end - generation.arrived) * 1000),
        "error": None if generation.error is None else generation.error.code,
    }
