"""What is done to the journal's tables as a whole: after a start, now and then, and for a list."""

from __future__ import annotations

import sqlite3
from typing import Any

INTERRUPTED = "interrupted"
"""Code of requests and outcome of attempts that a core left open when it ended."""


def close_interrupted(db: sqlite3.Connection, at: float) -> int:
    """Close requests, attempts and effects that have no end; returns the number of requests."""
    db.execute(
        "UPDATE attempts SET outcome = ?, ended_at = ? WHERE outcome IS NULL", (INTERRUPTED, at)
    )
    db.execute("UPDATE effects SET state = 'unknown' WHERE state = 'intended'")
    return db.execute(
        "UPDATE requests SET state = 'failed', code = ?, ended_at = ? WHERE state IS NULL",
        (INTERRUPTED, at),
    ).rowcount


def forget_some(db: sqlite3.Connection, before: float, most: int = 500) -> int:
    """Delete up to `most` rows of each table that ended before a time, seconds since 1970.

    Returns the number of rows deleted; 0 = nothing is left to forget.
    """
    return sum(db.execute(query, (before, most)).rowcount for query in _FORGET)


_EFFECTS = (  # an effect stays as long as its request
    "DELETE FROM effects WHERE rowid IN (SELECT rowid FROM effects WHERE at < ?1 AND NOT EXISTS "
    "(SELECT 1 FROM requests WHERE id = request_id AND (ended_at IS NULL OR ended_at >= ?1)) "
    "LIMIT ?2)"
)
_FORGET = (
    _EFFECTS,
    "DELETE FROM requests WHERE seq IN (SELECT seq FROM requests WHERE ended_at < ?1 LIMIT ?2)",
    "DELETE FROM events WHERE seq IN (SELECT seq FROM events WHERE at < ?1 LIMIT ?2)",
    "DELETE FROM answers WHERE rowid IN (SELECT rowid FROM answers WHERE at < ?1 LIMIT ?2)",
)


def recent(db: sqlite3.Connection, limit: int) -> list[dict[str, Any]]:
    """The last requests with their attempts, newest first."""
    found = []
    query = (
        "SELECT seq, id, client, received_at, state, code, ended_at, estimate_ms, actual_ms "
        "FROM requests ORDER BY seq DESC LIMIT ?"
    )
    for seq, id_, client, received, state, code, ended, estimate, actual in db.execute(
        query, (limit,)
    ).fetchall():
        attempts = db.execute(
            "SELECT n, worker, device, outcome, tokens FROM attempts WHERE request = ? ORDER BY n",
            (seq,),
        ).fetchall()
        names = ("n", "worker", "device", "outcome", "tokens")
        found.append(
            {
                "id": id_,
                "client": client,
                "state": state,
                "error": code,
                "duration_ms": None if ended is None else round((ended - received) * 1000),
                "estimate_ms": estimate,
                "actual_ms": actual,
                "attempts": [dict(zip(names, attempt, strict=True)) for attempt in attempts],
            }
        )
    return found
