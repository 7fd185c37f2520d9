"""Between the service and its journal: every event goes in, and what an earlier core left comes out."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sqlite3

import msgspec

from homeai.domain import events as happened
from homeai.domain.events import Event
from homeai.journal.journal import Journal, KeptAnswer
from homeai.journal.problems import JournalError
from homeai.router.records import KEPT_RECORDS, Records

logger = logging.getLogger(__name__)

_TROUBLE = (sqlite3.Error, JournalError)  # the journal has told of it
_DAY_S = 86_400.0
_TOLD_ELSEWHERE = (
    happened.ModelLoadProgressed,
    happened.RequestReceived,
    happened.RequestQueued,
    happened.RequestDispatched,
    happened.RequestFirstToken,
    happened.RequestAttemptEnded,
    happened.RequestCancelled,
    happened.RequestFailed,
)


def _is_told_elsewhere(event: Event) -> bool:
    if isinstance(event, happened.RequestFinished):
        return event.estimate_ms is None  # a record keeps no p90, and so cannot grade it
    return isinstance(event, _TOLD_ELSEWHERE)


class Bookkeeping:
    """Uses the journal, if there is one.

    Args:
        journal: None = nothing is kept.
    """

    def __init__(self, journal: Journal | None) -> None:
        self._journal = journal

    def write_down(self, number: int, event: Event) -> None:
        """Keep an event, unless the request's own record tells the same."""
        if self._journal is not None and not _is_told_elsewhere(event):
            self._journal.event(number, type(event).__name__, msgspec.json.encode(event))

    async def recall(self, records: Records, keep_days: float) -> None:
        """Close what an earlier core left open, forget what is old, and take its records in."""
        if self._journal is None:
            return
        try:
            interrupted = await self._journal.close_interrupted()
            if interrupted:
                logger.warning("requests of an earlier run were interrupted count=%d", interrupted)
            await self._journal.forget_older_than(keep_days)
            records.remember(await self._journal.recent(KEPT_RECORDS))
        except _TROUBLE:
            logger.warning("what an earlier run wrote down cannot be read")

    async def forget_daily(self, keep_days: float, every_s: float = _DAY_S) -> None:
        """Forget what is old every `every_s` seconds, until cancelled."""
        while self._journal is not None:
            await asyncio.sleep(every_s)
            with contextlib.suppress(*_TROUBLE):
                await self._journal.forget_older_than(keep_days)

    async def keep_answer(self, answer: KeptAnswer) -> None:
        """Keep a complete answer; if that fails, a repeat is computed anew."""
        if self._journal is not None:
            with contextlib.suppress(*_TROUBLE):  # the journal has told of its trouble
                await self._journal.keep_answer(answer)

    async def kept_answer(self, client: str, key: str) -> KeptAnswer | None:
        """The answer kept under a client's key, or None."""
        if self._journal is None:
            return None
        try:
            return await self._journal.answer(client, key)
        except _TROUBLE:
            return None
