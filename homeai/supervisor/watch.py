"""Health is progress: a worker that has work and computes nothing is hung."""

from __future__ import annotations

import asyncio
from pathlib import Path

from homeai.protocol.messages import Heartbeat
from homeai.supervisor.transport import Link

_CGROUP_EVENTS = Path("/sys/fs/cgroup/memory.events")


class Progress:
    """Watches one life of a worker.

    Args:
        stall_s: Longest time without progress, seconds.

    Attributes:
        stalled: Whether it was ended for lack of progress.
    """

    def __init__(self, stall_s: float) -> None:
        self._stall_s, self.stalled = stall_s, False
        self._steps = -1
        self._moved_at = asyncio.get_running_loop().time()
        self._heard_at = self._moved_at

    def saw_something(self) -> None:
        """Any message came."""
        self._heard_at = asyncio.get_running_loop().time()

    def saw_heartbeat(self, beat: Heartbeat) -> None:
        """The worker told how far it is."""
        if beat.steps != self._steps or not beat.in_flight:
            self._steps = beat.steps
            self._moved_at = asyncio.get_running_loop().time()

    async def kill_when_stalled(self, link: Link) -> None:
        """Kill the worker once it stalls. Runs until cancelled."""
        clock = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(min(1.0, self._stall_s / 4))
            silent = clock.time() - self._heard_at
            stuck = self._heard_at - self._moved_at if self._steps >= 0 else 0.0
            if max(silent, stuck) > self._stall_s:
                self.stalled = True
                link.kill()
                return


def oom_kill_count() -> int:
    """How many processes of our memory group the kernel ended for lack of memory; 0 = unknown."""
    try:
        lines = _CGROUP_EVENTS.read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeDecodeError):
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)
