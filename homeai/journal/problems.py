"""What can be wrong with the journal, and what people are told of it."""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

logger = logging.getLogger(__name__)

_DAMAGED = {sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT}
_SENTENCES = {
    sqlite3.SQLITE_BUSY: "another program holds a lock on it",
    sqlite3.SQLITE_LOCKED: "another program holds a lock on it",
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_READONLY: "it, or its folder, may only be read",
    sqlite3.SQLITE_PERM: "access to it is not permitted",
    sqlite3.SQLITE_CANTOPEN: "it, or a file beside it, cannot be opened",
    sqlite3.SQLITE_IOERR: "the disk reports an error",
    sqlite3.SQLITE_NOMEM: "there is not enough memory",
}


class JournalError(Exception):
    """The journal cannot be used; the text is a sentence for people."""


def _code(error: BaseException) -> int:
    return int(getattr(error, "sqlite_errorcode", None) or 0) & 0xFF  # without the extended part


def is_damage(error: sqlite3.Error) -> bool:
    """Whether an error says that the file itself is broken, or is no journal."""
    return _code(error) in {0, sqlite3.SQLITE_ERROR, *_DAMAGED}  # 0: found by homeai itself


def is_outside(error: BaseException) -> bool:
    """Whether an error is the disk's or the file's, and so would meet every other job too."""
    return _code(error) in _SENTENCES or _code(error) in _DAMAGED


def why(error: BaseException) -> str:
    """The reason in words, without a full stop."""
    if isinstance(error, OSError):
        return (error.strerror or str(error)).lower()
    return _SENTENCES.get(_code(error), str(error))


def cannot_open(path: Path, error: BaseException) -> JournalError:
    """The error of a journal that cannot be opened."""
    return JournalError(f"The journal {path} cannot be opened: {why(error)}.")


class Account:
    """Tells of trouble once when it begins, and once when it is over with what was lost.

    Safe from every thread.

    Args:
        tell: Takes a sentence, in whichever thread found out.
    """

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell, self._lock = tell, threading.Lock()
        self._troubled, self._lost, self._defective = False, 0, False

    def trouble(self, reason: str, lost: int) -> None:
        """Something could not be written, `lost` entries for good."""
        with self._lock:
            begins, self._troubled = not self._troubled, True
            self._lost += lost
        if begins:
            logger.error("journal cannot be written why=%s", reason)
            self._say(f"The journal cannot be written: {reason}. Entries are being lost.")

    def defect(self, reason: str) -> None:
        """A job failed for a reason of its own, which no disk heals: told once for ever."""
        with self._lock:
            begins, self._defective = not self._defective, True
        if begins:
            logger.error("a job of the journal failed why=%s", reason)
            self._say(f"Part of the journal cannot be written: {reason}.")

    def works(self) -> None:
        """Something was written."""
        with self._lock:
            if not self._troubled:
                return
            lost, self._troubled, self._lost = self._lost, False, 0
        logger.warning("journal is written again lost=%d", lost)
        self._say(f"The journal is written again; entries lost meanwhile: {lost}.")

    def _say(self, sentence: str) -> None:
        try:
            self._tell(sentence)
        except Exception:  # noqa: BLE001 -- a closed terminal must not end the writer
            logger.warning("nobody could be told of the journal")
