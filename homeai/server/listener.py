"""Binds the socket and serves the application over HTTP/1.1, with limits on slow and greedy clients."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import socket
from collections.abc import Iterator

import uvicorn

from homeai.server.connection import HEAD_BYTES, Connection, ConnectionLimits, Gate, GatedConfig
from homeai.server.guard import Guard
from homeai.settings.schema import Settings, is_loopback

KEEP_ALIVE_S = 75
_BACKLOG = 512
_ABORT_S, _GIVE_UP_S = 1.0, 2
"""After the end was announced: cut what is still open, and stop waiting for it."""


class BindingRefused(Exception):
    """The settings do not allow to listen there, or the address cannot be had; says why."""


def check_binding(settings: Settings, *, has_key: bool) -> None:
    """Refuse to listen beyond this computer without permission and a key.

    Raises:
        BindingRefused: Says what to do.
    """
    server = settings.server
    if not is_loopback(server.host) and not server.lan:
        raise BindingRefused(
            f"server.host is {server.host}, which other devices can reach, but server.lan is off. "
            "Turn it on with `homeai settings set server.lan true`."
        )
    if server.lan and not has_key:
        raise BindingRefused(
            "server.lan lets other devices in, but there is no API key yet. "
            "Make one with `homeai keys create NAME`."
        )


def bind(host: str, port: int) -> socket.socket:
    """Return a listening socket.

    Raises:
        BindingRefused: The address is not ours or the port is taken.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        # a name such as localhost has both kinds of address; most programs try 127.0.0.1
        family, kind, protocol, _, address = min(found, key=lambda one: one[0] != socket.AF_INET)
        sock = socket.socket(family, kind, protocol)
    except OSError as error:
        raise BindingRefused(f"The address {host} cannot be used: {error.strerror}.") from error
    try:
        if os.name == "posix":  # elsewhere it would let two programs share the port
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if address[0] == "::":
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        sock.bind(address)
        sock.listen(_BACKLOG)
    except OSError as error:
        sock.close()
        raise BindingRefused(_why_not(host, port, error)) from error
    return sock


def _why_not(host: str, port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return (
            f"Port {port} at {host} is in use by another program. "
            "Choose another with --port, or 0 for any free one."
        )
    if error.errno == errno.EADDRNOTAVAIL:
        return f"The address {host} is none of this computer's."
    if error.errno == errno.EACCES:
        return f"Port {port} is reserved for the system; choose one from 1024 on with --port."
    return f"Port {port} at {host} cannot be used: {error.strerror}."


class Listener:
    """A running HTTP server.

    Args:
        app: The doors.
        sock: From `bind`.
        limits: Of connections.
    """

    def __init__(
        self, app: Guard, sock: socket.socket, limits: ConnectionLimits | None = None
    ) -> None:
        self._app, self._sock = app, sock
        config = GatedConfig(
            app,
            Gate(limits or ConnectionLimits()),
            http=Connection,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,  # anyone could send them
            timeout_keep_alive=KEEP_ALIVE_S,
            timeout_graceful_shutdown=_GIVE_UP_S,
            h11_max_incomplete_event_size=HEAD_BYTES,
        )
        self._server = _Server(config)

    @property
    def url(self) -> str:
        """Base address for programs on this computer or, if bound to one address, on the LAN."""
        host, port = self._sock.getsockname()[:2]
        if host in ("0.0.0.0", "::"):  # noqa: S104 -- compared, not bound
            host = "127.0.0.1"
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    async def run(self) -> None:
        """Serve until `stop`."""
        await self._server.serve(sockets=[self._sock])

    def stop(self) -> None:
        """Accept nothing new, end event streams and idle connections, and let `run` return."""
        self._app.closing.begin()
        self._server.should_exit = True


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """The service answers signals itself."""
        yield

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Cut what does not end by itself, so that no request has to be torn out of its code."""
        cutting = asyncio.get_running_loop().call_later(_ABORT_S, self._cut)
        try:
            await super().shutdown(sockets)
        finally:
            cutting.cancel()

    def _cut(self) -> None:
        for connection in list(self.server_state.connections):
            connection.transport.abort()
