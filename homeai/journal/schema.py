"""The tables of the journal and their history."""

from __future__ import annotations

import sqlite3

LADDER: tuple[str, ...] = (
    """
    CREATE TABLE requests (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL,
        client TEXT NOT NULL,
        received_at REAL NOT NULL,
        prompt_sha256 TEXT NOT NULL,
        prompt TEXT,
        state TEXT,
        code TEXT,
        ended_at REAL,
        estimate_ms REAL,
        actual_ms REAL
    ) STRICT;
    CREATE INDEX requests_by_id ON requests (id);
    CREATE TABLE attempts (
        request INTEGER NOT NULL REFERENCES requests ON DELETE CASCADE,
        n INTEGER NOT NULL,
        worker TEXT NOT NULL,
        device TEXT NOT NULL,
        started_at REAL NOT NULL,
        ended_at REAL,
        outcome TEXT,
        tokens INTEGER,
        PRIMARY KEY (request, n)
    ) STRICT;
    CREATE TABLE effects (
        call_id TEXT PRIMARY KEY,
        request_id TEXT NOT NULL,
        tool TEXT NOT NULL,
        kind TEXT NOT NULL,
        arguments_sha256 TEXT NOT NULL,
        state TEXT NOT NULL,
        result TEXT,
        at REAL NOT NULL
    ) STRICT;
    CREATE INDEX effects_by_request ON effects (request_id);
    CREATE TABLE events (
        seq INTEGER PRIMARY KEY,
        at REAL NOT NULL,
        type TEXT NOT NULL,
        body TEXT NOT NULL
    ) STRICT;
    CREATE TABLE answers (
        client TEXT NOT NULL,
        key TEXT NOT NULL,
        body_sha256 TEXT NOT NULL,
        at REAL NOT NULL,
        status INTEGER NOT NULL,
        headers TEXT NOT NULL,
        body BLOB NOT NULL,
        PRIMARY KEY (client, key)
    ) STRICT;
    """,
)
"""Step n brings a database of version n to version n + 1."""


class NewerJournal(Exception):
    """The file was written by a newer homeai."""


def prepare(connection: sqlite3.Connection) -> None:
    """Bring a database, new or old, to the tables of today.

    Raises:
        NewerJournal: It is from the future.
        sqlite3.DatabaseError: It is damaged, or no database.
    """
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version > len(LADDER):
        msg = f"the journal has version {version}; this homeai knows versions up to {len(LADDER)}"
        raise NewerJournal(msg)
    (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if found != "ok":
        raise sqlite3.DatabaseError(found)
    for number, step in enumerate(LADDER[version:], version + 1):
        connection.executescript(f"BEGIN; {step} PRAGMA user_version = {number}; COMMIT;")
