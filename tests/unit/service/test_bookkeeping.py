"""The service uses its journal, and goes on when that is in trouble."""

from __future__ import annotations

import asyncio
import contextlib
from types import SimpleNamespace

import pytest

from homeai.journal.problems import JournalError
from homeai.journal.schema import NewerJournal
from homeai.service import run
from homeai.service.bookkeeping import Bookkeeping


class Broken:
    """A journal whose disk is gone."""

    def __init__(self) -> None:
        self.asked, self.twice = 0, asyncio.Event()

    async def close_interrupted(self) -> int:
        raise JournalError("gone")

    async def forget_older_than(self, days: float) -> None:
        self.asked += 1
        if self.asked == 2:
            self.twice.set()
        raise JournalError("gone")


async def test_a_journal_that_cannot_be_read_does_not_stop_the_start():
    remembered: list[object] = []

    await Bookkeeping(Broken()).recall(SimpleNamespace(remember=remembered.append), 5)

    assert remembered == []


async def test_forgetting_goes_on_after_a_failure():
    journal = Broken()
    task = asyncio.create_task(Bookkeeping(journal).forget_daily(5, every_s=0.0))

    await asyncio.wait_for(journal.twice.wait(), 30)

    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    assert journal.asked >= 2


def order(folder):
    return SimpleNamespace(
        paths=SimpleNamespace(data=folder),
        settings=SimpleNamespace(privacy=SimpleNamespace(log_prompts=False)),
    )


def test_without_a_journal_it_serves_and_says_so(tmp_path):
    (tmp_path / "journal.db").mkdir()
    notes: list[str] = []

    assert run._journal(order(tmp_path), notes.append) is None

    assert "serves without it" in notes[0]


def test_a_newer_journal_is_refused(tmp_path, monkeypatch):
    def newer(*_args, **_more):
        raise NewerJournal("newer")

    monkeypatch.setattr(run, "open_journal", newer)

    with pytest.raises(NewerJournal):
        run._journal(order(tmp_path), lambda _: None)
