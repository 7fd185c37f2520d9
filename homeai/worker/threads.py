"""How many threads a worker computes with."""

from __future__ import annotations

import os

import psutil


def usable_cores() -> int:
    """Physical cores this process may use, at least 1.

    The scheduler's affinity (containers, taskset) bounds what the machine has.
    """
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    physical = psutil.cpu_count(logical=False)
    return max(1, min(physical or allowed or 1, allowed or 1))


def decode_threads(asked: int, cores: int) -> int:
    """Threads of single-token steps: all cores but one, so that other programs do not stop the answer.

    Args:
        asked: Setting; 0 = choose.
        cores: From `usable_cores`.
    """
    return min(asked, cores) if asked > 0 else max(1, cores - 1)


def batch_threads(asked: int, cores: int) -> int:
    """Threads of prefill and batched steps: all cores. Arguments as in `decode_threads`."""
    return min(asked, cores) if asked > 0 else cores
