"""Effects of tools: what was about to act, what has acted, and what nobody knows.

intent → (the tool acts) → commit with result. An intent without a commit after a crash is `unknown`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import Any, Protocol

import msgspec


class Kind(StrEnum):
    """What happens if a tool is called twice."""

    PURE = "pure"
    """Nothing: it only looks."""
    IDEMPOTENT = "idempotent"
    """The same as once."""
    IRREVERSIBLE = "irreversible"
    """It acts twice."""


class Effect(msgspec.Struct, frozen=True):
    """An entry.

    Attributes:
        state: `intended` | `committed` | `unknown`.
        result: JSON, once committed.
    """

    call_id: str
    request_id: str
    tool: str
    kind: str
    arguments_sha256: str
    state: str
    result: str | None


class _Ask(Protocol):
    def __call__(
        self, work: Callable[[sqlite3.Connection], object], *, sync: bool = False
    ) -> Awaitable[object]: ...


class EffectBook:
    """The effects in the journal; every entry survives a power failure once its call returned.

    Args:
        ask: Runs a job in the journal's thread.
        now: Wall clock, seconds since 1970.
    """

    def __init__(self, ask: _Ask, now: Callable[[], float]) -> None:
        self._ask, self._now = ask, now

    async def intend(
        self, call_id: str, request_id: str, tool: str, kind: Kind, arguments_sha256: str
    ) -> None:
        """Write down that a tool is about to act.

        Raises:
            sqlite3.Error: It could not be written, so the tool must not act; also if the call is
                in the book already, unless that one was pure.
        """
        row = (call_id, request_id, tool, kind.value, arguments_sha256, "intended", None)
        at = self._now()

        def work(db: sqlite3.Connection) -> None:
            if not db.execute(_INTEND, (*row, at)).rowcount:
                raise sqlite3.IntegrityError("the call is in the book")

        await self._ask(work, sync=True)

    async def commit(self, call_id: str, result: str) -> None:
        """Write down that it has acted, with its result as JSON."""
        await self._ask(
            lambda db: db.execute(
                "UPDATE effects SET state = 'committed', result = ? WHERE call_id = ?",
                (result, call_id),
            ),
            sync=True,
        )

    async def find(self, call_id: str) -> Effect | None:
        """The entry of a call, or None."""
        found = await self._select(_BY_CALL, call_id)
        return found[0] if found else None

    async def of_request(self, request_id: str) -> list[Effect]:
        """All entries of a request, in order."""
        return await self._select(_BY_REQUEST, request_id)

    async def _select(self, query: str, value: str) -> list[Effect]:
        rows: Any = await self._ask(lambda db: db.execute(query, (value,)).fetchall())
        return [Effect(*row) for row in rows]


_INTEND = (  # what only looked may be replaced: another try of the run went another way
    "INSERT INTO effects VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (call_id) DO UPDATE SET "
    "tool = excluded.tool, kind = excluded.kind, arguments_sha256 = excluded.arguments_sha256, "
    "state = excluded.state, result = NULL, at = excluded.at WHERE effects.kind = 'pure'"
)
_BY_CALL = (
    "SELECT call_id, request_id, tool, kind, arguments_sha256, state, result "
    "FROM effects WHERE call_id = ?"
)
_BY_REQUEST = (
    "SELECT call_id, request_id, tool, kind, arguments_sha256, state, result "
    "FROM effects WHERE request_id = ? ORDER BY rowid"
)
