"""The one door to actions of tools: intent → act → commit, and never a second time.

The intent is on the disk before the tool acts, the result before anybody hears of it. After a crash in
between nobody knows whether the tool acted; then only a tool that may be called twice is called again.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from homeai.agent.tool import HouseTool, ToolFailed
from homeai.domain.errors import EffectCommitted, EffectsUnrecorded
from homeai.journal.effects import Effect, Kind

logger = logging.getLogger(__name__)

ACT_S = 60.0
"""Longest time a tool may take; after it nobody knows whether it acted."""


class Step(StrEnum):
    """How far an action came."""

    ASKED = "asked"
    INTENDED = "intended"
    ACTED = "acted"
    COMMITTED = "committed"
    REUSED = "reused"


class Book(Protocol):
    """Where effects are written; `homeai.journal.effects.EffectBook`."""

    async def intend(
        self, call_id: str, request_id: str, tool: str, kind: Kind, arguments_sha256: str
    ) -> None:
        """Write down an intent; sqlite3.Error if that failed."""
        ...

    async def commit(self, call_id: str, result: str) -> None:
        """Write down a result."""
        ...

    async def find(self, call_id: str) -> Effect | None:
        """The entry of a call."""
        ...

    async def of_request(self, request_id: str) -> list[Effect]:
        """All entries of a run."""
        ...


@dataclass(frozen=True, slots=True)
class Action:
    """One call of a tool within a run.

    Attributes:
        run: Id of the run; the same when its client asks again.
        call_id: The same as well, since it follows from the run.
        arguments: A JSON object.
    """

    run: str
    call_id: str
    tool: HouseTool
    arguments: dict[str, Any]
    client: str

    @property
    def arguments_sha256(self) -> str:
        """Hash of the arguments, whatever the order of their keys."""
        text = json.dumps(self.arguments, sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()


class EffectDoor:
    """Lets tools act.

    Args:
        book: Where effects are written; None = nowhere, so only pure tools may act.
        tell: Told of each step of an action.
    """

    def __init__(self, book: Book | None, tell: Callable[[Action, Step], None]) -> None:
        self._book, self._tell = book, tell
        self._under_way: set[asyncio.Task[str]] = set()

    async def act(self, action: Action) -> str:
        """Return the result as JSON: of this call, or the recorded one of an earlier try.

        Raises:
            EffectCommitted: It may have acted before, and must not act twice.
            EffectsUnrecorded: Its intent cannot be written down.
        """
        self._tell(action, Step.ASKED)
        if self._book is None:
            if action.tool.kind is not Kind.PURE:
                raise EffectsUnrecorded(_UNRECORDED)
            return await self._perform(action)
        known = await self._known(self._book, action)
        if known is not None and known.result is not None:
            self._tell(action, Step.REUSED)
            return known.result
        if known is None:
            await self._intend(self._book, action)
        # what was begun is finished and written down, also if the client goes away meanwhile
        work = self._act_and_commit(self._book, action)
        task = asyncio.create_task(work)  # noqa: TID251 -- owned by this door: `settle` waits for it
        self._under_way.add(task)
        task.add_done_callback(self._is_done)
        return await asyncio.shield(task)

    async def settle(self) -> None:
        """Wait for all actions under way, whoever asked for them."""
        if self._under_way:
            await asyncio.wait(self._under_way)

    def _is_done(self, task: asyncio.Task[str]) -> None:
        self._under_way.discard(task)
        if not task.cancelled():
            task.exception()  # told to whoever waits; if nobody does, the book says it

    async def done(self, run: str) -> list[dict[str, str]]:
        """Effects of a run that must not happen twice, as clients are told of them."""
        try:
            effects = [] if self._book is None else await self._book.of_request(run)
        except sqlite3.Error:
            logger.warning("effects of a run cannot be read run=%s", run)
            effects = []
        return [_told(effect) for effect in effects if effect.kind != Kind.PURE]

    async def _known(self, book: Book, action: Action) -> Effect | None:
        """The entry of an earlier try of the same call.

        Raises:
            EffectCommitted: That try may have acted, or it was another call.
        """
        try:
            known = await book.find(action.call_id)
        except sqlite3.Error as error:
            raise EffectsUnrecorded(_UNRECORDED) from error
        if known is None:
            return None
        effects = await self.done(action.run)
        same = (known.tool, known.arguments_sha256) == (action.tool.name, action.arguments_sha256)
        if same and (known.result is not None or known.kind != Kind.IRREVERSIBLE):
            return known
        if not same and not effects:
            return None  # this try went another way, and the earlier one only looked at things
        text = (
            "An earlier try of this run called a tool that must not be called twice, and it "
            f"{'may have acted' if same else 'went another way'}; the run ends here."
        )
        raise EffectCommitted(text, details={"effects": effects})

    async def _intend(self, book: Book, action: Action) -> None:
        tool = action.tool
        try:
            await book.intend(
                action.call_id, action.run, tool.name, tool.kind, action.arguments_sha256
            )
        except sqlite3.Error as error:
            raise EffectsUnrecorded(_UNRECORDED) from error
        self._tell(action, Step.INTENDED)

    async def _act_and_commit(self, book: Book, action: Action) -> str:
        try:
            result = await self._perform(action)
        except Exception as error:
            logger.exception("a tool failed tool=%s", action.tool.name)
            if action.tool.kind is Kind.IRREVERSIBLE:
                text = f"The tool {action.tool.name} failed, and may have acted."
                details: dict[str, object] = {"effects": await self.done(action.run)}
                raise EffectCommitted(text, details=details) from error
            result = _result({"error": f"The tool failed: {type(error).__name__}."})
        try:
            await book.commit(action.call_id, result)
        except sqlite3.Error as error:
            text = f"The tool {action.tool.name} acted, but that could not be written down."
            raise EffectCommitted(
                text, details={"effects": [_told_of(action, "unknown")]}
            ) from error
        self._tell(action, Step.COMMITTED)
        return result

    async def _perform(self, action: Action) -> str:
        try:
            async with asyncio.timeout(ACT_S):
                result = _result(await action.tool.act(action.arguments, action.client))
        except ToolFailed as failure:
            result = _result({"error": str(failure)})
        self._tell(action, Step.ACTED)
        return result


_UNRECORDED = "What tools do cannot be written down now, so they must not act."


def _result(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _told(effect: Effect) -> dict[str, str]:
    return {"call_id": effect.call_id, "tool": effect.tool, "state": effect.state}


def _told_of(action: Action, state: str) -> dict[str, str]:
    return {"call_id": action.call_id, "tool": action.tool.name, "state": state}
