"""How other programs of this user find the running core: one owner-only file."""

from __future__ import annotations

import contextlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from homeai.settings.files import write_private


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
        process = psutil.Process(core.pid)
        same = abs(process.create_time() - core.started_at) < 1
        return core if same and process.status() != psutil.STATUS_ZOMBIE else None
    except (OSError, ValueError, TypeError, psutil.Error):
        return None


def remove(path: Path, pid: int) -> None:
    """Withdraw the announcement if it is still that of `pid`."""
    with contextlib.suppress(OSError, ValueError):
        if json.loads(path.read_bytes()).get("pid") == pid:
            path.unlink()
