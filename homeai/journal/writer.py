"""One thread that owns the database: jobs in order, many in one transaction, each told when it is kept."""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from homeai.journal.problems import Account, JournalError, is_outside, why

logger = logging.getLogger(__name__)

Work = Callable[[sqlite3.Connection], object]
Failure = sqlite3.Error | JournalError
MOST_WAITING = 10_000
_MOST_AT_ONCE = 256
_LINGER_S = 0.02


@dataclass(frozen=True, slots=True)
class Job:
    """Something to do with the database.

    Attributes:
        work: Runs in the writer's thread, within a transaction.
        done: Called once with the result when it is kept, or with the error: in the writer's thread,
            after `close` in that of `put`.
        sync: Survives even a power failure; costs a flush of the disk.
    """

    work: Work
    done: Callable[[object, Failure | None], None] | None = None
    sync: bool = False


class Writer:
    """Runs jobs.

    Args:
        connect: Opens the database; called in the writer's thread, again after it failed.
        on_problem: Told, in any thread, when writing begins to fail and when it works again.
        most_waiting: Jobs in memory beyond which those that nobody waits for are dropped.
    """

    def __init__(
        self,
        connect: Callable[[], sqlite3.Connection],
        on_problem: Callable[[str], None],
        most_waiting: int = MOST_WAITING,
    ) -> None:
        self._connect, self._account, self._most = connect, Account(on_problem), most_waiting
        self._jobs: deque[Job] = deque()
        self._changed = threading.Condition()
        self._closed = self._sync = False
        self._connection: sqlite3.Connection | None = None
        self._thread = threading.Thread(target=self._run, name="journal", daemon=True)

    def start(self) -> None:
        """Begin; jobs may be put before."""
        self._thread.start()

    def put(self, job: Job) -> None:
        """Add a job. Never waits for the disk; safe from every thread."""
        with self._changed:
            closed = self._closed
            full = not closed and job.done is None and len(self._jobs) >= self._most
            if not closed and not full:
                self._jobs.append(job)
                self._changed.notify()
        if closed:
            _answer(job, None, JournalError("The journal is closed."))
        elif full:
            self._account.trouble("the disk does not keep up", 1)

    def close(self) -> None:
        """Do what was put before, then end."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()

    def _run(self) -> None:
        while jobs := self._gather():
            self._keep(jobs)
        if self._connection is not None:
            self._connection.close()

    def _gather(self) -> list[Job]:
        """Wait for jobs; what nobody waits for lingers for others to share its transaction."""
        with self._changed:
            self._changed.wait_for(lambda: self._jobs or self._closed)
            until = time.monotonic() + _LINGER_S
            while not self._closed and len(self._jobs) < _MOST_AT_ONCE:
                left_s = until - time.monotonic()
                if left_s <= 0 or any(job.done is not None for job in self._jobs):
                    break
                self._changed.wait(left_s)
            count = min(len(self._jobs), _MOST_AT_ONCE)
            return [self._jobs.popleft() for _ in range(count)]

    def _keep(self, jobs: list[Job]) -> None:
        """Do jobs in one transaction; if one of them fails, each in its own: it harms no other."""
        try:
            results = self._transaction(jobs)
        except Exception as error:  # noqa: BLE001 -- a bug in a job must not end the thread
            if len(jobs) > 1 and not is_outside(error):
                for job in jobs:
                    self._keep([job])
                return
            self._failed(jobs, error)
            return
        for job, result in zip(jobs, results, strict=True):
            _answer(job, result, None)

    def _failed(self, jobs: list[Job], error: Exception) -> None:
        lost = sum(job.done is None for job in jobs)
        if is_outside(error):
            self._account.trouble(why(error), lost)
        elif lost or not isinstance(error, sqlite3.IntegrityError):  # whoever waits is told of that
            self._account.defect(why(error))
        failure: Failure
        if isinstance(error, sqlite3.Error):
            failure = error
        else:
            failure = JournalError(f"The journal failed: {why(error)}.")
            failure.__cause__ = error
        for job in jobs:
            _answer(job, None, failure)

    def _transaction(self, jobs: list[Job]) -> list[object]:
        if self._connection is None:
            self._connection, self._sync = self._connect(), False
        connection = self._connection
        # NORMAL survives the end of the process at any time, FULL also that of the machine
        if (sync := any(job.sync for job in jobs)) is not self._sync:
            connection.execute(f"PRAGMA synchronous = {'FULL' if sync else 'NORMAL'}")
            self._sync = sync
        changes = connection.total_changes
        connection.execute("BEGIN IMMEDIATE")
        try:
            results = [job.work(connection) for job in jobs]
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        # reading proves nothing of a full disk; nor does one step when far too much still waits
        if connection.total_changes > changes and len(self._jobs) <= self._most // 2:
            self._account.works()
        return results


def _answer(job: Job, result: object, failure: Failure | None) -> None:
    if job.done is None:
        return
    try:
        job.done(result, failure)
    except Exception:  # noqa: BLE001 -- as above
        logger.warning("an answer of the journal reached nobody")
