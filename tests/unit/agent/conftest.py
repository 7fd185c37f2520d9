"""A real journal, and a tool that counts how often it acted."""

from __future__ import annotations

import asyncio
import time

import pytest

from homeai.agent.tool import HouseTool
from homeai.journal.effects import Kind
from homeai.journal.journal import open_journal

NUMBER = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
    "additionalProperties": False,
}


class Counter:
    """A tool that counts its calls, and fails as it is told."""

    def __init__(self) -> None:
        self.calls: list[dict] = []
        self.error: Exception | None = None
        self.hold: asyncio.Event | None = None
        self.begun = asyncio.Event()

    async def act(self, arguments, _client):
        self.begun.set()
        if self.hold is not None:
            await self.hold.wait()
        self.calls.append(arguments)
        if self.error is not None:
            raise self.error
        return {"count": len(self.calls)}

    def tool(self, kind=Kind.IRREVERSIBLE, name="count"):
        return HouseTool(name, "Counts.", NUMBER, kind, self.act)


@pytest.fixture
def counter():
    return Counter()


@pytest.fixture
def journal_file(tmp_path):
    return tmp_path / "journal.db"


@pytest.fixture
def journal(journal_file):
    made = open_journal(
        journal_file, now=time.time, keep_prompts=False, on_problem=lambda _text: None
    )
    made.start()
    yield made
    made.close()
