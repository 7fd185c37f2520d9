"""A lock between processes, so that two set-ups at once do not write the same folder."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from first_run.steps import say

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl


@contextlib.contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Hold the lock file; waits for another set-up to end. A holder that dies gives it up.

    Steps inherit the lock (see `run_step`): when the set-up alone is killed, the next one waits for
    the pip or compiler that goes on, rather than writing beside it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+b") as file:
        if sys.platform == "win32":
            file.seek(0)
            msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)
        else:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                say(f"another set-up is at work here; waiting for it ({path})")
                fcntl.flock(file, fcntl.LOCK_EX)
            os.set_inheritable(file.fileno(), True)  # noqa: FBT003 - takes no keyword
        yield
