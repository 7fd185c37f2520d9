"""Guards against what a test may leave behind: child processes, threads, asyncio tasks."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
import os
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

SESSION_MARK = "HOMEAI_TEST_SESSION"
GRACE_S = float(os.environ.get("HOMEAI_TEST_GRACE_S", "5"))
POLL_S = 0.02
# Pool threads of a loop that a module-wide async fixture keeps open end with that loop, not the test.
POOL_THREADS = ("asyncio_", "AnyIO worker thread")


def mark_session() -> str:
    """Put a fresh mark into the environment, which every descendant process inherits."""
    mark = uuid.uuid4().hex
    os.environ[SESSION_MARK] = mark
    return mark


def _child_pids() -> set[int]:
    if sys.platform != "linux":
        return {child.pid for child in psutil.Process().children()}
    found: set[int] = set()
    for task in Path("/proc/self/task").iterdir():
        # A thread may end between the listing and the reading.
        with contextlib.suppress(OSError):
            found.update(map(int, (task / "children").read_text().split()))
    return found


def _is_alive(pid: int) -> bool:
    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return False
        return not any("multiprocessing" in part for part in process.cmdline())
    except psutil.NoSuchProcess:
        return False


def _wait_until_empty(remaining: Callable[[], set]) -> set:
    """Poll until nothing remains or the grace period is over; return what remains."""
    deadline = time.monotonic() + GRACE_S
    while (left := remaining()) and time.monotonic() < deadline:
        time.sleep(POLL_S)
    return left


def _end(pids: set[int]) -> list[str]:
    """Kill the processes with their descendants and return a description of each."""
    described = []
    for pid in sorted(pids):
        with contextlib.suppress(psutil.NoSuchProcess):
            process = psutil.Process(pid)
            described.append(f"{pid}: {' '.join(process.cmdline())[:160]}")
            for descendant in process.children(recursive=True):
                with contextlib.suppress(psutil.NoSuchProcess):
                    descendant.kill()
            process.kill()
    return described


@pytest.fixture(autouse=True)
def no_leaked_processes() -> Iterator[None]:
    """Fail a test that leaves a child process running.

    Children of module-wide fixtures are older than this fixture, so they may stay.
    """
    before = _child_pids()
    yield
    left = _wait_until_empty(lambda: {p for p in _child_pids() - before if _is_alive(p)})
    if left:
        pytest.fail("left child processes running: " + "; ".join(_end(left)))


@pytest.fixture(autouse=True)
def no_leaked_threads() -> Iterator[None]:
    """Fail a test that leaves a thread running which would keep the interpreter from ending."""
    before = set(threading.enumerate())
    yield
    left = _wait_until_empty(
        lambda: {
            thread
            for thread in set(threading.enumerate()) - before
            if not thread.daemon and not thread.name.startswith(POOL_THREADS)
        }
    )
    if left:
        pytest.fail(f"left threads running: {sorted(thread.name for thread in left)}")


def fail_on_pending_tasks(item: pytest.Function) -> None:
    """Wrap an async test so that it fails when asyncio tasks it started outlive it."""
    if not inspect.iscoroutinefunction(item.obj):
        return
    test = item.obj

    @functools.wraps(test)
    async def guarded(*args: object, **kwargs: object) -> None:
        before = asyncio.all_tasks()
        await test(*args, **kwargs)
        left: set[asyncio.Task] = set()
        for _ in range(20):  # a task that was just cancelled needs some turns of the loop to end
            left = asyncio.all_tasks() - before
            if not left:
                return
            await asyncio.sleep(0)
        names = sorted(f"{task.get_name()} ({task.get_coro()})" for task in left)
        pytest.fail(f"left asyncio tasks pending: {names}")

    item.obj = guarded


def leaked_session_processes(mark: str) -> list[str]:
    """Return (and end) every process that carries the session's mark, orphans included."""

    def carriers() -> set[int]:
        found = set()
        for process in psutil.process_iter():
            if process.pid == os.getpid():
                continue
            # Another user's process, or one that ended meanwhile, can't be read; ours always can.
            with contextlib.suppress(psutil.Error, OSError):
                if process.environ().get(SESSION_MARK) == mark and _is_alive(process.pid):
                    found.add(process.pid)
        return found

    return _end(_wait_until_empty(carriers))
