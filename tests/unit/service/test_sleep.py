"""Sleep is what the wall clock saw and the monotonic clock did not."""

from __future__ import annotations

import asyncio

import pytest

from homeai.service.sleep import slept_s, watch


@pytest.mark.parametrize(
    ("wall", "awake", "expected"),
    [((0, 2), (0, 2), 0), ((0, 3602), (0, 2), 3600), ((100, 0), (0, 2), 0)],
)
def test_sleep_is_the_difference_of_the_clocks(wall, awake, expected):
    assert slept_s(wall, awake) == expected


async def test_each_sleep_is_told_once():
    wall, looks = iter([0.0, 0.0, 3600.0, 3600.0]), asyncio.Event()
    told = []

    def now() -> float:
        value = next(wall, None)
        if value is None:
            looks.set()
        return 3600.0 if value is None else value

    async with asyncio.TaskGroup() as group:
        task = group.create_task(watch(told.append, wall=now, awake=lambda: 0.0, look_s=0))
        await looks.wait()
        task.cancel()

    assert told == [3600.0]
