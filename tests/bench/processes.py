"""What a process tree takes of the machine, and what others take meanwhile."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass

import psutil


def tree(pid: int) -> list[psutil.Process]:
    """Return a process and all its descendants; those that ended meanwhile are left out."""
    try:
        root = psutil.Process(pid)
        return [root, *root.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def memory_kind() -> str:
    """`pss` where the system tells it (Linux), else `uss`."""
    return "pss" if sys.platform == "linux" else "uss"


def memory_bytes(pid: int, *, children: bool = True) -> int:
    """Memory of a process tree; pages shared inside the tree count once (PSS), elsewhere USS.

    Args:
        children: False = the process `pid` alone.
    """
    total = 0
    for process in tree(pid) if children else tree(pid)[:1]:
        try:
            info = process.memory_full_info()
        except (psutil.NoSuchProcess, psutil.ZombieProcess):
            continue
        total += getattr(info, "pss", info.uss)
    return total


def cpu_s(pid: int) -> float:
    """CPU seconds that a process tree used so far, with what its ended children used."""
    total = 0.0
    for process in tree(pid):
        try:
            times = process.cpu_times()
        except (psutil.NoSuchProcess, psutil.ZombieProcess):
            continue
        total += times.user + times.system
        total += getattr(times, "children_user", 0.0) + getattr(times, "children_system", 0.0)
    return total


def machine_busy_s() -> float:
    """CPU seconds of the whole machine that were not idle, hypervisor's share included."""
    times = psutil.cpu_times()
    idle = times.idle + getattr(times, "iowait", 0.0)
    # guest time is part of user time on Linux
    guest = getattr(times, "guest", 0.0) + getattr(times, "guest_nice", 0.0)
    return sum(times) - idle - guest


def own_s() -> float:
    """CPU seconds of this process and of its children that ended and were waited for."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


@dataclass(frozen=True, slots=True)
class Meter:
    """A stopwatch for CPU time, started by `start_meter`.

    Attributes:
        pid: Root of the watched tree; None = no tree.
    """

    pid: int | None
    at: float
    tree_s: float
    machine_s: float
    own_s: float

    def stop(self) -> tuple[float, float]:
        """Return (CPU seconds of the tree, cores that neither the tree nor this process used)."""
        wall = time.monotonic() - self.at
        mine = 0.0 if self.pid is None else cpu_s(self.pid) - self.tree_s
        foreign = machine_busy_s() - self.machine_s - mine - (own_s() - self.own_s)
        return mine, max(0.0, foreign / wall)


def start_meter(pid: int | None = None) -> Meter:
    """Begin to count."""
    tree_s = 0.0 if pid is None else cpu_s(pid)
    return Meter(pid, time.monotonic(), tree_s, machine_busy_s(), own_s())


def wait_until_quiet(most_cores: float, timeout_s: float) -> float:
    """Wait until others use at most `most_cores` cores during half a second.

    Returns:
        Cores that others used in the last half second; above `most_cores` if the time ran out.
    """
    end = time.monotonic() + timeout_s
    while True:
        meter = start_meter()
        time.sleep(0.5)
        _, foreign = meter.stop()
        if foreign <= most_cores or time.monotonic() > end:
            return foreign
