"""Logging: standard error and an owner-only rotating file. Prompts, answers and keys are never logged."""

from __future__ import annotations

import logging
import os
from logging.handlers import RotatingFileHandler
from pathlib import Path

FILE_BYTES, FILES = 2 * 2**20, 3
_FORMAT = "%(asctime)s %(levelname)s %(name)s %(message)s"


class _PrivateFile(RotatingFileHandler):
    """A rotating file that only its owner can read."""

    def _open(self):  # type: ignore[no-untyped-def]  # noqa: ANN202 -- the base class has no annotation
        descriptor = os.open(self.baseFilename, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        return os.fdopen(descriptor, "a", encoding="utf-8")


def set_up(folder: Path, name: str, *, verbose: bool) -> None:
    """Log to standard error (warnings; with `verbose` everything) and to `folder`/`name`.log."""
    root = logging.getLogger()
    root.setLevel(logging.DEBUG if verbose else logging.INFO)
    stderr = logging.StreamHandler()
    stderr.setLevel(logging.DEBUG if verbose else logging.WARNING)
    stderr.setFormatter(logging.Formatter(_FORMAT))
    root.addHandler(stderr)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = _PrivateFile(
        folder / f"{name}.log", maxBytes=FILE_BYTES, backupCount=FILES, encoding="utf-8", delay=True
    )
    file.setLevel(logging.INFO)
    file.setFormatter(logging.Formatter(_FORMAT))
    root.addHandler(file)
    logging.getLogger("asyncio").setLevel(logging.WARNING)
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
