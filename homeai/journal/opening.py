"""Opening the journal's file: what is broken is set aside, what is merely out of reach is told."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from homeai.journal import schema
from homeai.journal.problems import cannot_open, is_damage

BUSY_S = 5.0
_MAGIC = b"SQLite format 3\0"
_TAILS = ("-wal", "-shm")


def connect(path: Path, busy_s: float = BUSY_S) -> sqlite3.Connection:
    """Connect to the database; waits up to `busy_s` seconds for another program's lock.

    Raises:
        sqlite3.Error: It cannot be opened.
    """
    connection = sqlite3.connect(path, timeout=busy_s, isolation_level=None)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA foreign_keys = ON")
    except BaseException:
        connection.close()
        raise
    return connection


def make_ready(path: Path, at: float, busy_s: float = BUSY_S) -> None:
    """Make the file, or bring it up to date; a broken one is set aside first.

    Args:
        path: The database.
        at: Wall clock, seconds since 1970; goes into the name of a broken file.
        busy_s: Longest wait for a lock, seconds.

    Raises:
        NewerJournal: A newer homeai wrote it.
        JournalError: It cannot be opened, and nothing says that it is broken.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            _prepare(path, busy_s)
        except sqlite3.Error as error:
            if not is_damage(error):
                raise
            _set_aside(path, at)
            _prepare(path, busy_s)
    except (OSError, sqlite3.Error) as error:
        raise cannot_open(path, error) from error


def _prepare(path: Path, busy_s: float) -> None:
    with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "rb") as file:
        begin = file.read(len(_MAGIC))
    # looked at first: SQLite would delete the log beside a file that it cannot read
    if begin != _MAGIC and (begin or path.with_name(f"{path.name}-wal").exists()):
        raise sqlite3.DatabaseError("no database")
    with closing(connect(path, busy_s)) as connection:
        schema.prepare(connection)


def _set_aside(path: Path, at: float) -> None:
    stem, number = f"{path.name}.broken-{int(at)}", 0
    aside = path.with_name(stem)
    while any(path.with_name(aside.name + tail).exists() for tail in ("", *_TAILS)):
        number += 1
        aside = path.with_name(f"{stem}-{number}")
    for tail in (*_TAILS, ""):  # the file last: a new one never meets the old one's log
        old = path.with_name(path.name + tail)
        if old.exists():
            old.rename(path.with_name(aside.name + tail))
