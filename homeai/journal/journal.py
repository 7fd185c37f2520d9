"""The journal: requests, attempts, effects, events and answers that may be asked for again."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from homeai.domain.request import GenerationRequest
from homeai.domain.stream import Promise
from homeai.journal.effects import EffectBook
from homeai.journal.housekeeping import close_interrupted, forget_some, recent
from homeai.journal.opening import BUSY_S, connect, make_ready
from homeai.journal.writer import Failure, Job, Work, Writer

_DAY_S = 86_400.0


_BEGIN = (
    "INSERT INTO attempts (request, n, worker, device, started_at) "
    "VALUES ((SELECT max(seq) FROM requests WHERE id = ?), ?, ?, ?, ?)"
)
_CLOSE = (
    "UPDATE attempts SET ended_at = ?, outcome = ?, tokens = ? "
    "WHERE request = (SELECT max(seq) FROM requests WHERE id = ?) AND n = ?"
)
_END = (
    "UPDATE requests SET ended_at = ?, state = ?, code = ?, estimate_ms = ?, actual_ms = ? "
    "WHERE seq = (SELECT max(seq) FROM requests WHERE id = ?) AND state IS NULL"
)


class Journal:
    """Writes down what happens. Implements `router.parties.Recorder`.

    Open it with `open_journal`.

    Args:
        path: The database.
        now: Wall clock, seconds since 1970.
        keep_prompts: Keep prompts, not only their hashes.
        on_problem: Told, in any thread, when writing begins to fail and when it works again.
    """

    def __init__(
        self,
        path: Path,
        *,
        now: Callable[[], float],
        keep_prompts: bool,
        on_problem: Callable[[str], None],
    ) -> None:
        self._now, self._keep_prompts = now, keep_prompts
        self._writer = Writer(lambda: connect(path), on_problem)
        self.effects = EffectBook(self._ask, now)

    def start(self) -> None:
        """Begin to write."""
        self._writer.start()

    def close(self) -> None:
        """Write what was told before, then close. Blocks until that is done."""
        self._writer.close()

    # ---- requests ---------------------------------------------------------------------------------

    def received(self, request: GenerationRequest) -> None:
        """A request came in; without permission only a hash of its prompt is kept."""
        at = self._now()

        def work(db: sqlite3.Connection) -> None:
            prompt = msgspec.json.encode(request.prompt)
            db.execute(
                "INSERT INTO requests (id, client, received_at, prompt_sha256, prompt) "
                "VALUES (?, ?, ?, ?, ?)",
                (
                    request.id,
                    request.client,
                    at,
                    hashlib.sha256(prompt).hexdigest(),
                    prompt.decode() if self._keep_prompts else None,
                ),
            )

        self._put(work)

    def attempt(
        self, request_id: str, number: int, worker: str, device: str, then: Callable[[], None]
    ) -> None:
        """An attempt is about to begin; `then` runs in the event loop once that is kept.

        It also runs when the journal cannot be written: service goes before bookkeeping.
        """
        at, loop = self._now(), asyncio.get_running_loop()

        def work(db: sqlite3.Connection) -> None:
            db.execute(_BEGIN, (request_id, number, worker, device, at))

        def done(_result: object, _error: Failure | None) -> None:
            with contextlib.suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(then)

        self._writer.put(Job(work, done))

    def attempt_ended(self, request_id: str, number: int, outcome: str, tokens: int) -> None:
        """An attempt ended."""
        at = self._now()
        self._put(lambda db: db.execute(_CLOSE, (at, outcome, tokens, request_id, number)))

    def ended(self, request_id: str, state: str, code: str | None, promise: Promise | None) -> None:
        """The request ended; `promise` is what was told before and how long it took."""
        at = self._now()
        estimate, actual = promise or (None, None)
        self._put(lambda db: db.execute(_END, (at, state, code, estimate, actual, request_id)))

    def event(self, number: int, name: str, body: bytes) -> None:
        """Something happened."""
        at = self._now()
        self._put(
            lambda db: db.execute(
                "INSERT OR IGNORE INTO events VALUES (?, ?, ?, ?)",
                (number, at, name, body.decode()),
            )
        )

    # ---- answers that may be asked for again ------------------------------------------------------

    async def keep_answer(self, answer: KeptAnswer) -> None:
        """Keep a whole answer under its client's key."""
        row = (*_key(answer), self._now(), answer.status, answer.headers, answer.body)
        await self._ask(
            lambda db: db.execute(
                "INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?, ?, ?)", row
            )
        )

    async def answer(self, client: str, key: str) -> KeptAnswer | None:
        """The answer kept under a client's key, or None."""
        query = (
            "SELECT body_sha256, status, headers, body FROM answers WHERE client = ? AND key = ?"
        )
        row: Any = await self._ask(lambda db: db.execute(query, (client, key)).fetchone())
        return None if row is None else KeptAnswer(client, key, *row)

    # ---- after a start, and now and then ----------------------------------------------------------

    async def close_interrupted(self) -> int:
        """Close what an earlier core left open; returns the number of its requests."""
        at = self._now()
        return int(str(await self._ask(lambda db: close_interrupted(db, at))))

    async def forget_older_than(self, days: float) -> None:
        """Delete what ended longer ago; what has not ended stays."""
        before = self._now() - days * _DAY_S
        while await self._ask(lambda db: forget_some(db, before)):  # others write in between
            pass

    async def recent(self, limit: int) -> list[dict[str, Any]]:
        """The last requests with their attempts, newest first."""
        found: Any = await self._ask(lambda db: recent(db, limit))
        return list(found)

    def _put(self, work: Work) -> None:
        self._writer.put(Job(work))

    async def _ask(self, work: Work, *, sync: bool = False) -> object:
        """Run a job and wait for its result.

        Raises:
            sqlite3.Error: It could not be done.
            JournalError: The journal is closed, or the job failed in another way.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[object] = loop.create_future()

        def settle(result: object, error: Failure | None) -> None:
            if not future.done():
                future.set_result(result) if error is None else future.set_exception(error)

        def done(result: object, error: Failure | None) -> None:
            with contextlib.suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(settle, result, error)

        self._writer.put(Job(work, done, sync))
        return await future


class KeptAnswer(msgspec.Struct, frozen=True):
    """A whole answer, kept for repeats of the same request.

    Attributes:
        body_sha256: Of the request's body.
        headers: JSON list of pairs.
    """

    client: str
    key: str
    body_sha256: str
    status: int
    headers: str
    body: bytes


def _key(answer: KeptAnswer) -> tuple[str, str, str]:
    return answer.client, answer.key, answer.body_sha256


def open_journal(
    path: Path,
    *,
    now: Callable[[], float],
    keep_prompts: bool,
    on_problem: Callable[[str], None],
    busy_s: float = BUSY_S,
) -> Journal:
    """Open or make the journal; a file that is none is set aside, never lost.

    Raises:
        NewerJournal: A newer homeai wrote it.
        JournalError: It cannot be opened; it is left as it is.
    """
    make_ready(path, now(), busy_s)
    return Journal(path, now=now, keep_prompts=keep_prompts, on_problem=on_problem)
