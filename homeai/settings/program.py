"""How this program starts itself again, installed or packaged as one executable."""

from __future__ import annotations

import sys


def own_program() -> list[str]:
    """The beginning of a command line that runs homeai with more arguments."""
    return _python_or_packaged([], "homeai")


def worker_program() -> list[str]:
    """The command line of a worker process."""
    return _python_or_packaged(["worker"], "homeai.worker.main")


def _python_or_packaged(packaged: list[str], module: str) -> list[str]:
    if getattr(sys, "frozen", False):  # a packaged executable knows no `-m`
        return [sys.executable, *packaged]
    return [sys.executable, "-m", module]
