"""Starts a worker process and carries frames to and from it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import psutil

from homeai.protocol.framing import encode
from homeai.protocol.messages import ToWorker

STDERR_BYTES = 64 * 1024
_CONNECT_S = 30.0
_SECRET_BYTES = 32


@dataclass(frozen=True, slots=True)
class Launch:
    """How a worker is started.

    Attributes:
        command: Program and arguments.
        environment: Its whole environment, without the channel's variables.
        inherit_socket: Hand the socket over as a descriptor; else it connects over loopback.
    """

    command: Sequence[str]
    environment: Mapping[str, str]
    inherit_socket: bool = sys.platform != "win32"


class Link:
    """A running worker process with its channel.

    Attributes:
        pid: Its process id.
        reader: Frames from the worker.
    """

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self._process, self.reader, self._writer = process, reader, writer
        self.pid: int = process.pid
        self._stderr = bytearray()

    def send(self, message: ToWorker) -> None:
        """Queue one message; a dead peer is noticed by the reader."""
        if not self._writer.is_closing():
            self._writer.write(encode(message))

    async def collect_stderr(self) -> None:
        """Keep the last part of what the process prints, until it ends."""
        stream = self._process.stderr
        while stream is not None and (data := await stream.read(4096)):
            self._stderr += data
            del self._stderr[:-STDERR_BYTES]

    @property
    def stderr_tail(self) -> str:
        """What the process printed last."""
        return self._stderr.decode("utf-8", "replace")

    async def finish(self, grace_s: float) -> int | None:
        """Wait for the end, then ask, then kill the whole tree; returns the exit status.

        Args:
            grace_s: Time for each step, seconds.
        """
        for step in (None, self.terminate, self.kill):
            if step is not None:
                step()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(grace_s):
                    return await self._process.wait()
        return None

    def terminate(self) -> None:
        """Ask the process to end."""
        with contextlib.suppress(ProcessLookupError):
            self._process.terminate()

    def kill(self) -> None:
        """End the process and all it started, at once."""
        if sys.platform == "win32":
            with contextlib.suppress(psutil.Error):
                for child in psutil.Process(self.pid).children(recursive=True):
                    child.kill()
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
        else:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)

    def close(self) -> None:
        """Close the channel; a worker ends itself then."""
        self._writer.close()


async def spawn(launch: Launch) -> Link:
    """Start the process and its channel.

    Raises:
        OSError: The program cannot be started.
        TimeoutError: It did not connect in time.
    """
    if launch.inherit_socket:
        return await _spawn_inherited(launch)
    return await _spawn_connecting(launch)


async def _start(
    launch: Launch, extra: Mapping[str, str], fds: Sequence[int]
) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *launch.command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        env={**launch.environment, **extra},
        pass_fds=fds,
        start_new_session=True,  # Ctrl-C in a terminal reaches the core only
    )


async def _spawn_inherited(launch: Launch) -> Link:
    ours, theirs = socket.socketpair()
    try:
        fd = theirs.fileno()
        process = await _start(launch, {"HOMEAI_WORKER_FD": str(fd)}, [fd])
    except BaseException:
        ours.close()
        raise
    finally:
        theirs.close()
    reader, writer = await asyncio.open_connection(sock=ours)
    return Link(process, reader, writer)


async def _spawn_connecting(launch: Launch) -> Link:
    """For systems that cannot hand sockets over: the worker proves itself by a one-time secret."""
    secret = secrets.token_bytes(_SECRET_BYTES)
    arrived: asyncio.Future[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = (
        asyncio.get_running_loop().create_future()
    )

    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_CONNECT_S):
                shown = await reader.readexactly(_SECRET_BYTES)
        except (TimeoutError, asyncio.IncompleteReadError, OSError):
            shown = b""
        if secrets.compare_digest(shown, secret) and not arrived.done():
            arrived.set_result((reader, writer))
        else:
            writer.close()

    server = await asyncio.start_server(greet, "127.0.0.1", 0)
    try:
        port = server.sockets[0].getsockname()[1]
        address = {
            "HOMEAI_WORKER_ADDRESS": f"127.0.0.1:{port}",
            "HOMEAI_WORKER_SECRET": secret.hex(),
        }
        process = await _start(launch, address, ())
        try:
            async with asyncio.timeout(_CONNECT_S):
                reader, writer = await arrived
        except BaseException:
            process.kill()
            await process.wait()
            raise
    finally:
        server.close()
    return Link(process, reader, writer)
