"""Private files that are never half written, and a lock between processes."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from homeai.settings.paths import private_folder


def write_private(path: Path, data: bytes) -> None:
    """Replace `path` by a file only its owner can read; readers see the old or the new one, whole.

    A link stays a link: the file that it leads to is replaced.

    Raises:
        OSError: The folder cannot be written; the old file is unharmed.
    """
    path = path.resolve()
    folder = private_folder(path.parent)
    descriptor, name = tempfile.mkstemp(dir=folder, prefix=f".{path.name}.", suffix=".new")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock file beside `path` for a read-change-write; waits for others."""
    private_folder(path.parent)
    with open(path.with_name(f".{path.name}.lock"), "ab") as file:
        _lock(file.fileno())
        yield


def hold(path: Path) -> BinaryIO | None:
    """Take the lock file `path` for as long as the returned file stays open.

    Returns:
        None if another process holds it.
    """
    private_folder(path.parent)
    file = open(path, "ab")  # noqa: SIM115 -- the caller keeps it open
    try:
        _try_lock(file.fileno())
    except OSError:
        file.close()
        return None
    return file


def is_held(path: Path) -> bool:
    """Whether some process holds the lock file `path`; asks without making it."""
    if not path.is_file():
        return False
    file = hold(path)
    if file is None:
        return True
    file.close()
    return False


if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_LOCK, 1)

    def _try_lock(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX)

    def _try_lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
