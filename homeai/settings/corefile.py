"""How other programs of this user find the running core: one owner-only file."""

from __future__ import annotations

import contextlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from homeai.settings.files import is_held, write_private


@dataclass(frozen=True, slots=True)
class CoreFile:
    """What a local client needs.

    Attributes:
        url: Base address.
        pid: Process of the core.
        token: Lets this user's own programs in.
        version: Of the core.
        started_at: Start time of the process, Unix seconds, so that a reused pid is noticed.
    """

    url: str
    pid: int
    token: str
    version: str
    started_at: float


def write(path: Path, core: CoreFile) -> None:
    """Announce the core."""
    write_private(path, json.dumps(asdict(core)).encode())


def read(path: Path) -> CoreFile | None:
    """Return the running core, or None: no file, a broken one, or its process is gone."""
    try:
        core = CoreFile(**json.loads(path.read_bytes()))
        _require_types(core)
        process = psutil.Process(core.pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return None
        same = abs(process.create_time() - core.started_at) < 1
    except (OSError, ValueError, TypeError, RecursionError, psutil.Error):
        return None
    # Start times are counted from the wall clock. When that was set after the core started (a home
    # PC gets its time from the network a while after it booted), they differ though it is the same
    # process; then the lock, which the system frees with its owner, tells.
    return core if same or is_held(lock_file(path)) else None


def remove(path: Path, pid: int) -> None:
    """Withdraw the announcement if it is still that of `pid`."""
    with contextlib.suppress(OSError, ValueError, TypeError, AttributeError, RecursionError):
        if json.loads(path.read_bytes()).get("pid") == pid:
            path.unlink()


def lock_file(path: Path) -> Path:
    """The lock that a core holds while it runs, beside its announcement."""
    return path.with_name("core.lock")


def _require_types(core: CoreFile) -> None:
    texts = (core.url, core.token, core.version)
    if not all(isinstance(text, str) for text in texts) or type(core.pid) is not int:
        raise TypeError("core.json")
