"""`homeai serve`: one core in this process, from the first import to a clean end."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psutil

from homeai import __version__
from homeai.journal.journal import Journal, open_journal
from homeai.journal.problems import JournalError
from homeai.journal.schema import NewerJournal
from homeai.server.addresses import own_names
from homeai.server.app import create_app
from homeai.server.hosts import HostRules
from homeai.server.listener import BindingRefused, Listener, bind, check_binding
from homeai.service.bookkeeping import Bookkeeping
from homeai.service.service import Service
from homeai.settings import corefile
from homeai.settings.files import hold, write_private
from homeai.settings.keys import KeyFileError, KeyRing
from homeai.settings.paths import Paths
from homeai.settings.schema import Settings

EXIT_OK, EXIT_FAILED = 0, 1

Say = Callable[[str], None]
DRAIN_S = 10.0


@dataclass(frozen=True, slots=True)
class Order:
    """What to serve.

    Attributes:
        ready_file: Gets `{"url","pid","token_file"}` once the model is ready, or certainly is not.
        model: Overrides `model.active`.
        exit_with_parent: End when standard input closes.
    """

    settings: Settings
    paths: Paths
    ready_file: Path | None = None
    model: str | None = None
    exit_with_parent: bool = False


def serve(order: Order, say: Say, note: Say) -> int:
    """Serve until told to stop; returns the exit status.

    Args:
        order: What to serve.
        say: Takes the one line with the address, when it is ready.
        note: Takes everything else that people should know.
    """
    lock = hold(order.paths.runtime / "core.lock")
    if lock is None:
        running = corefile.read(order.paths.core_file)
        where = f" at {running.url} (pid {running.pid})" if running else ""
        note(f"homeai is running already{where}; stop it first or use its address.")
        return EXIT_FAILED
    with lock:
        keys = KeyRing(order.paths.keys_file)
        server = order.settings.server
        try:
            check_binding(order.settings, has_key=bool(keys.list()))
            sock = bind(server.host, server.port)
        except (BindingRefused, KeyFileError) as error:
            note(str(error))
            return EXIT_FAILED
        try:
            journal = _journal(order, note)
        except NewerJournal as error:
            sock.close()
            note(f"{error}. Update homeai, or move the journal away.")
            return EXIT_FAILED
        return asyncio.run(_serve(order, keys, sock, journal, say, note))


def _journal(order: Order, note: Say) -> Journal | None:
    """Open the journal, before the event loop: it may wait for the disk. None = serve without."""
    try:
        return open_journal(
            order.paths.data / "journal.db",
            now=time.time,
            keep_prompts=order.settings.privacy.log_prompts,
            on_problem=note,
        )
    except JournalError as error:
        note(f"{error} homeai serves without it: nothing is written down.")
        return None


async def _serve(
    order: Order,
    keys: KeyRing,
    sock: socket.socket,
    journal: Journal | None,
    say: Say,
    note: Say,
) -> int:
    paths = order.paths
    if journal is not None:
        journal.start()
    try:
        await _serve_with(order, keys, sock, journal, say, note)
    finally:
        if journal is not None:
            await asyncio.to_thread(journal.close)
    corefile.remove(paths.core_file, os.getpid())
    return EXIT_OK


async def _serve_with(
    order: Order, keys: KeyRing, sock: socket.socket, journal: Journal | None, say: Say, note: Say
) -> None:
    settings, paths = order.settings, order.paths
    service = Service(
        settings,
        paths,
        os.environ,
        model=order.model,
        first_event=time.time_ns() // 1000,  # larger than any number of an earlier run
        journal=journal,
    )
    token = secrets.token_urlsafe(32)
    server = settings.server
    rules = HostRules(
        own_names() if server.lan else (),
        server.allowed_hosts,
        server.allowed_origins,
        lan=server.lan,
        own_now=own_names,
        clock=time.monotonic,
    )
    listener = Listener(create_app(service, rules, keys, token.encode()), sock)
    stop = asyncio.Event()
    _stop_on_signals(stop)
    async with asyncio.TaskGroup() as group:
        service.start(group)  # first of all: the worker starts while the rest is set up
        await service.recall()
        serving = group.create_task(listener.run(), name="http")
        if order.exit_with_parent:
            _stop_on_eof(stop)
        _announce(paths, listener.url, token)
        forgetting = group.create_task(
            Bookkeeping(journal).forget_daily(settings.privacy.journal_days), name="forgetting"
        )
        telling = group.create_task(_tell(order, service, listener.url, token, say, note))
        stopping = group.create_task(stop.wait())
        await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        telling.cancel()
        forgetting.cancel()
        await service.drain(DRAIN_S)
        listener.stop()
        await service.stop()
        await serving


def _announce(paths: Paths, url: str, token: str) -> None:
    started = psutil.Process().create_time()
    corefile.write(
        paths.core_file, corefile.CoreFile(url, os.getpid(), token, __version__, started)
    )


async def _tell(order: Order, service: Service, url: str, token: str, say: Say, note: Say) -> None:
    await service.wait_until_settled()
    snapshot = service.snapshot()
    if snapshot.problem is not None:
        note(f"No model is ready. {snapshot.problem}")
    elif snapshot.model is not None:
        tiny = " It is tiny: good for a first try, often wrong." if snapshot.model.tiny else ""
        note(f"The model {snapshot.model.name} is ready.{tiny}")
    if order.ready_file is not None:
        token_file = order.paths.runtime / "token"
        write_private(token_file, token.encode())
        ready = {"url": url, "pid": os.getpid(), "token_file": str(token_file)}
        write_private(order.ready_file, json.dumps(ready).encode())
    say(f"homeai serves at {url}")  # last: whoever reads it finds all of the above


def _stop_on_signals(stop: asyncio.Event) -> None:
    loop = asyncio.get_running_loop()

    def first() -> None:
        if stop.is_set():  # a second signal: at once
            os._exit(EXIT_FAILED)
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        try:
            loop.add_signal_handler(number, first)
        except NotImplementedError:  # Windows
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(first))


def _stop_on_eof(stop: asyncio.Event) -> None:
    """Stop when the program that started us is gone: its end of our standard input closes."""
    loop = asyncio.get_running_loop()

    def wait() -> None:
        with contextlib.suppress(OSError, ValueError):
            while sys.stdin.buffer.read(1024):
                pass
        with contextlib.suppress(RuntimeError):  # the loop ended first
            loop.call_soon_threadsafe(stop.set)

    threading.Thread(target=wait, name="parent-watch", daemon=True).start()
