"""One thread that owns the database: jobs in order, many in one transaction, each told when it is kept."""

from __future__ import annotations

import logging
import queue
import sqlite3
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

logger = logging.getLogger(__name__)

Work = Callable[[sqlite3.Connection], object]
_MOST_AT_ONCE = 256
_LINGER_S = 0.02


@dataclass(frozen=True, slots=True)
class Job:
    """Something to do with the database.

    Attributes:
        work: Runs in the writer's thread, within a transaction.
        done: Called there with the result, or the error, once it is kept.
        sync: Survives even a power failure; costs a flush of the disk.
    """

    work: Work
    done: Callable[[object, sqlite3.Error | None], None] | None = None
    sync: bool = False


class Writer:
    """Runs jobs.

    Args:
        connect: Opens the database; called in the writer's thread.
        on_problem: Told once, in the writer's thread, when writing begins to fail.
    """

    def __init__(
        self, connect: Callable[[], sqlite3.Connection], on_problem: Callable[[str], None]
    ) -> None:
        self._connect, self._on_problem = connect, on_problem
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._told = self._sync = False
        self._thread = threading.Thread(target=self._run, name="journal", daemon=True)

    def start(self) -> None:
        """Begin; jobs may be put before."""
        self._thread.start()

    def put(self, job: Job) -> None:
        """Add a job. Never blocks; safe from every thread."""
        self._jobs.put(job)

    def close(self) -> None:
        """Do what was put before, then end."""
        self._jobs.put(None)
        self._thread.join()

    def _run(self) -> None:
        connection = self._connect()
        try:
            ends = False
            while not ends:
                jobs = self._gather()
                ends = None in jobs
                self._keep(connection, [job for job in jobs if job is not None])
        finally:
            connection.close()

    def _gather(self) -> list[Job | None]:
        """Wait for jobs; one that nobody waits for waits a moment for others to share its transaction."""
        jobs = [self._jobs.get()]
        until = time.monotonic() + _LINGER_S
        while len(jobs) < _MOST_AT_ONCE:
            last = jobs[-1]
            urgent = last is None or last.done is not None
            left_s = 0.0 if urgent else max(until - time.monotonic(), 0.0)
            try:
                jobs.append(self._jobs.get(timeout=left_s) if left_s else self._jobs.get_nowait())
            except queue.Empty:
                break
        return jobs

    def _keep(self, connection: sqlite3.Connection, jobs: list[Job]) -> None:
        """Do jobs in one transaction; if it fails, each in its own, so that one harms no other."""
        if not jobs:
            return
        try:
            results = self._transaction(connection, jobs)
        except sqlite3.Error as error:
            if len(jobs) > 1:
                for job in jobs:
                    self._keep(connection, [job])
                return
            self._tell(error)
            if jobs[0].done is not None:
                jobs[0].done(None, error)
            return
        for job, result in zip(jobs, results, strict=True):
            if job.done is not None:
                job.done(result, None)

    def _transaction(self, connection: sqlite3.Connection, jobs: list[Job]) -> list[object]:
        # NORMAL survives the end of the process at any time, FULL also that of the machine
        if (sync := any(job.sync for job in jobs)) is not self._sync:
            connection.execute(f"PRAGMA synchronous = {'FULL' if sync else 'NORMAL'}")
            self._sync = sync
        connection.execute("BEGIN IMMEDIATE")
        try:
            results = [job.work(connection) for job in jobs]
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        return results

    def _tell(self, error: sqlite3.Error) -> None:
        if not self._told:
            self._told = True
            logger.error("journal cannot be written why=%s", type(error).__name__)
            self._on_problem(f"The journal cannot be written: {error}.")
