"""Numbered events of the whole service, kept in a ring, followed by any number of readers."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable

from homeai.domain.events import Event

KEPT_EVENTS = 1000


class EventRing:
    """The last events with their numbers.

    Args:
        first: Number of the first event; larger than any of an earlier run, so that a reader that
            comes back after a restart does not take new events for old ones.
        sinks: Each gets every event with its number as well, at once.
    """

    def __init__(self, first: int = 1, *sinks: Callable[[int, Event], None]) -> None:
        self._sinks = sinks
        self._events: deque[tuple[int, Event]] = deque(maxlen=KEPT_EVENTS)
        self._next = first
        self._news = asyncio.Event()

    def append(self, event: Event) -> None:
        """Number and keep an event, and wake all readers."""
        self._events.append((self._next, event))
        for sink in self._sinks:
            sink(self._next, event)
        self._next += 1
        self._news.set()
        self._news = asyncio.Event()

    async def follow(self, after: int | None) -> AsyncIterator[tuple[int, Event]]:
        """Yield (id, event): those kept with an id > `after` (None = none of them), then live ones."""
        last = self._next - 1 if after is None else after
        while True:
            news = self._news
            for number, event in list(self._events):
                if number > last:
                    last = number
                    yield number, event
            if last >= self._next:  # an id from another run: begin with what comes now
                last = self._next - 1
            await news.wait()
