"""The journal's thread survives what its jobs and its disk do; who waits always gets an answer."""

from __future__ import annotations

import queue
import sqlite3
import threading
from contextlib import closing

import pytest

from homeai.journal.opening import connect
from homeai.journal.problems import JournalError
from homeai.journal.writer import Job, Writer

WAIT_S = 30.0


def insert(db: sqlite3.Connection) -> object:
    return db.execute("INSERT INTO kept VALUES (zeroblob(5000))")


@pytest.fixture
def path(tmp_path):
    made = tmp_path / "j.db"
    with closing(connect(made)) as db:
        db.execute("CREATE TABLE kept (a)")
    return made


def ask(writer: Writer, work) -> tuple[object, Exception | None]:
    answers: queue.Queue[tuple[object, Exception | None]] = queue.Queue()
    writer.put(Job(work, lambda result, error: answers.put((result, error))))
    return answers.get(timeout=WAIT_S)


def test_a_bug_in_a_job_does_not_end_the_thread(path):
    writer = Writer(lambda: connect(path), lambda _: None)
    writer.start()

    assert isinstance(ask(writer, lambda _: int("a bug"))[1], JournalError)
    assert ask(writer, insert)[1] is None
    writer.close()


def test_after_the_end_who_waits_gets_an_error(path):
    writer = Writer(lambda: connect(path), lambda _: None)
    writer.start()
    writer.close()

    assert isinstance(ask(writer, insert)[1], JournalError)


def test_when_it_cannot_connect_jobs_get_the_error_and_later_ones_are_done(path):
    tries = iter([sqlite3.OperationalError("no"), None])

    def connecting() -> sqlite3.Connection:
        if (error := next(tries)) is not None:
            raise error
        return connect(path)

    writer = Writer(connecting, lambda _: None)
    writer.start()

    assert isinstance(ask(writer, insert)[1], sqlite3.Error)
    assert ask(writer, insert)[1] is None
    writer.close()


def test_a_disk_that_hangs_loses_what_nobody_waits_for_and_says_so(path):
    told: list[str] = []
    entered, go_on = threading.Event(), threading.Event()
    writer = Writer(lambda: connect(path), told.append, most_waiting=4)
    writer.start()
    writer.put(Job(lambda _: (entered.set(), go_on.wait(WAIT_S)), lambda *_: None))
    assert entered.wait(WAIT_S)
    for _ in range(9):
        writer.put(Job(insert))
    answers: queue.Queue[object] = queue.Queue()
    writer.put(Job(insert, lambda _, error: answers.put(error)))

    assert [("cannot be written" in line) for line in told] == [True]
    go_on.set()
    assert answers.get(timeout=WAIT_S) is None
    writer.close()

    assert told[1:] == ["The journal is written again; entries lost meanwhile: 5."]
    with closing(connect(path)) as db:
        assert db.execute("SELECT count(*) FROM kept").fetchone() == (5,)


def test_each_time_the_disk_is_full_is_told_and_each_end_of_it(path):
    told: list[str] = []
    writer = Writer(lambda: connect(path), told.append)
    writer.start()
    for _ in range(2):
        ask(writer, lambda db: db.execute("PRAGMA max_page_count = 1").fetchall())
        for _ in range(2):
            assert isinstance(ask(writer, insert)[1], sqlite3.OperationalError)
        assert ask(writer, lambda db: db.execute("SELECT 1").fetchone()) == ((1,), None)
        ask(writer, lambda db: db.execute("PRAGMA max_page_count = 99999").fetchall())
        assert ask(writer, insert)[1] is None
    writer.close()

    assert ["disk is full" in line for line in told] == [True, False, True, False]
    assert ["again" in line for line in told] == [False, True, False, True]


def test_a_lock_of_another_program_is_answered_and_passes(path):
    writer = Writer(lambda: connect(path, 0.0), lambda _: None)
    writer.start()
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        assert "locked" in str(ask(writer, insert)[1])
        other.execute("ROLLBACK")

    assert ask(writer, insert)[1] is None
    writer.close()
