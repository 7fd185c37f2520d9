"""Notices that the machine slept: the wall clock went on while the monotonic clock stood still.

After that a GPU may be gone, or its memory empty. A step of the wall clock looks the same and costs a few
canary decodes.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

LOOK_S = 2.0
LEAST_SLEEP_S = 10.0


def slept_s(wall: tuple[float, float], awake: tuple[float, float]) -> float:
    """Seconds of sleep between two looks, never negative.

    Args:
        wall: Wall clock before and after.
        awake: Monotonic clock before and after; it stands still during sleep.
    """
    return max((wall[1] - wall[0]) - (awake[1] - awake[0]), 0.0)


async def watch(
    on_wake: Callable[[float], None],
    *,
    wall: Callable[[], float] = time.time,
    awake: Callable[[], float] = time.monotonic,
    look_s: float = LOOK_S,
) -> None:
    """Call `on_wake` with the seconds of sleep after each. Runs until cancelled."""
    before = wall(), awake()
    while True:
        await asyncio.sleep(look_s)
        now = wall(), awake()
        seconds = slept_s((before[0], now[0]), (before[1], now[1]))
        before = now
        if seconds >= LEAST_SLEEP_S:
            on_wake(seconds)
