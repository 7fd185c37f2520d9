"""The requests that workers compute now."""

from __future__ import annotations

import asyncio
import contextlib

from homeai.router.generation import Generation


class Running:
    """Running requests by id."""

    def __init__(self) -> None:
        self._generations: dict[str, Generation] = {}
        self._idle = asyncio.Event()
        self._idle.set()

    def __len__(self) -> int:
        return len(self._generations)

    def get(self, request_id: str) -> Generation | None:
        """The running request of that id."""
        return self._generations.get(request_id)

    def add(self, generation: Generation) -> None:
        """It runs from now on."""
        self._generations[generation.request_id] = generation
        self._idle.clear()

    def remove(self, generation: Generation) -> None:
        """It does not run any more; nothing happens if it did not."""
        if self._generations.get(generation.request_id) is generation:
            del self._generations[generation.request_id]
            if not self._generations:
                self._idle.set()

    async def wait_until_idle(self, most_s: float) -> list[Generation]:
        """Wait until nothing runs, at most `most_s` seconds; returns what still does."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(most_s):
                await self._idle.wait()
        return list(self._generations.values())
