"""Logging: standard error, an owner-only rotating file, and the last lines in memory.

Prompts, answers and keys are never logged. As a last line of defence, what looks like a key is
blackened and the user's home folder is shortened before a line leaves the process.
"""

from __future__ import annotations

import logging
import os
import re
from collections import deque
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path

FILE_BYTES, FILES = 2 * 2**20, 3
RING_LINES = 500
_FORMAT = "%(asctime)s %(levelname)s %(name)s %(message)s"
_SECRET = re.compile(r"\bhai_[\w-]{8,}|(?<=Bearer )\S+")


def scrubbed(text: str) -> str:
    """Return `text` without API keys and without the path of the user's home folder."""
    home = os.path.expanduser("~")
    text = _SECRET.sub("(key)", text)
    return text.replace(home, "~") if len(home) > 1 else text


class _Formatter(logging.Formatter):
    """Lines in the common form, scrubbed, tracebacks included."""

    def format(self, record: logging.LogRecord) -> str:
        return scrubbed(super().format(record))


class _PrivateFile(RotatingFileHandler):
    """A rotating file that only its owner can read."""

    def _open(self) -> TextIOWrapper:
        descriptor = os.open(self.baseFilename, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        return os.fdopen(descriptor, "a", encoding="utf-8", errors="backslashreplace")


class Ring(logging.Handler):
    """The last lines, for diagnosis of a running process."""

    def __init__(self) -> None:
        super().__init__()
        self._lines: deque[str] = deque(maxlen=RING_LINES)

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the formatted line; the oldest one goes when the ring is full."""
        self._lines.append(self.format(record))

    def lines(self) -> tuple[str, ...]:
        """The lines kept, oldest first."""
        return tuple(self._lines)


def set_up(folder: Path, name: str, *, verbose: bool) -> Ring:
    """Log to standard error (warnings; with `verbose` everything) and to `folder`/`name`.log.

    Called again, it replaces what the first call set up. A file that cannot be written is told on
    standard error, and the program goes on without it.

    Returns:
        The last lines, in memory.
    """
    root = logging.getLogger()
    tear_down()
    root.setLevel(logging.DEBUG if verbose else logging.INFO)
    stderr = _Stderr()
    stderr.setLevel(logging.DEBUG if verbose else logging.WARNING)
    ring = Ring()
    for handler in (stderr, ring):
        _add(root, handler)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = _PrivateFile(
            folder / f"{name}.log", maxBytes=FILE_BYTES, backupCount=FILES, encoding="utf-8"
        )
    except OSError as error:
        root.warning("log file cannot be written reason=%s", error.strerror)
    else:
        file.setLevel(logging.INFO)
        _add(root, file)
    logging.getLogger("asyncio").setLevel(logging.WARNING)
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    return ring


class _Stderr(logging.StreamHandler[TextIOWrapper]):
    """Standard error, told apart from handlers of other libraries."""


def _add(root: logging.Logger, handler: logging.Handler) -> None:
    handler.setFormatter(_Formatter(_FORMAT))
    root.addHandler(handler)


def tear_down() -> None:
    """Close and remove what `set_up` added."""
    root = logging.getLogger()
    for handler in root.handlers[:]:
        if isinstance(handler, _PrivateFile | Ring | _Stderr):
            root.removeHandler(handler)
            handler.close()
