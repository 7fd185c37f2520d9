"""The service uses its journal, and goes on when that is in trouble."""

from __future__ import annotations

import asyncio
import contextlib
import json
from types import SimpleNamespace

import pytest

from homeai.domain.events import RequestAttemptEnded, RequestFinished, WorkerEnded
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


class Listening:
    """A journal that keeps events in a list."""

    def __init__(self) -> None:
        self.events: list[tuple[int, str, bytes]] = []

    def event(self, number: int, name: str, body: bytes) -> None:
        self.events.append((number, name, body))


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


@pytest.mark.parametrize(
    ("promised", "kept"),
    [({"estimate_ms": {"p50": 900, "p90": 1350}, "actual_ms": 1000}, True), ({}, False)],
)
def test_an_end_is_written_down_as_an_event_only_if_it_grades_a_promise(promised, kept):
    journal = Listening()
    end = RequestFinished(
        request_id="r1",
        reason="stop",
        prompt_tokens=3,
        completion_tokens=4,
        cached_tokens=0,
        duration_s=1.5,
        **promised,
    )

    Bookkeeping(journal).write_down(7, end)

    assert [(number, name) for number, name, _ in journal.events] == (
        [(7, "RequestFinished")] if kept else []
    )
    assert all(json.loads(body)["estimate_ms"]["p90"] == 1350 for *_, body in journal.events)


def test_what_the_attempts_of_a_record_tell_is_no_event_of_the_journal():
    journal = Listening()
    end = RequestAttemptEnded(
        request_id="r1", worker="gpu", attempt=1, outcome="crashed", tokens=2, prompt_tokens=3
    )

    Bookkeeping(journal).write_down(1, end)
    Bookkeeping(journal).write_down(2, WorkerEnded(worker="gpu", reason="crashed"))

    assert [name for _, name, _ in journal.events] == ["WorkerEnded"]
