"""Binds the socket and serves the application over HTTP/1.1, with limits on slow and greedy clients."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections import Counter
from collections.abc import Iterator
from typing import Any, ClassVar

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from homeai.settings.schema import Settings, is_loopback

HEAD_BYTES = 64 * 1024
HEAD_S = 15.0
KEEP_ALIVE_S = 75
MAX_CONNECTIONS, MAX_CONNECTIONS_PER_ADDRESS = 256, 64
_BACKLOG = 512


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
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        sock = socket.socket(family, kind, protocol)
    except OSError as error:
        raise BindingRefused(f"The address {host} cannot be used: {error.strerror}.") from error
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(address)
        sock.listen(_BACKLOG)
    except OSError as error:
        sock.close()
        raise BindingRefused(
            f"Port {port} at {host} cannot be used: {error.strerror}. "
            "Another program may have it; choose another with --port."
        ) from error
    return sock


class Listener:
    """A running HTTP server.

    Args:
        app: ASGI application.
        sock: From `bind`.
    """

    def __init__(self, app: Any, sock: socket.socket) -> None:  # noqa: ANN401 -- any ASGI application
        self._sock = sock
        config = uvicorn.Config(
            app,
            http=_LimitedProtocol,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_keep_alive=KEEP_ALIVE_S,
            timeout_graceful_shutdown=2,
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
        """Accept nothing new, end idle connections, and let `run` return."""
        self._server.should_exit = True


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """The service answers signals itself."""
        yield


class _LimitedProtocol(H11Protocol):
    """uvicorn's HTTP/1.1 with a time limit for the head and a bound on connections."""

    _by_address: ClassVar[Counter[str]] = Counter()
    _all: ClassVar[int] = 0
    _timer: asyncio.TimerHandle | None = None
    _address = ""
    _counted = False

    def connection_made(self, transport: Any) -> None:  # noqa: ANN401
        cls = _LimitedProtocol
        peer = transport.get_extra_info("peername")
        self._address = str(peer[0]) if peer else ""
        if (
            cls._all >= MAX_CONNECTIONS
            or cls._by_address[self._address] >= MAX_CONNECTIONS_PER_ADDRESS
        ):
            transport.abort()
            return
        cls._all += 1
        cls._by_address[self._address] += 1
        self._counted = True
        super().connection_made(transport)
        self._timer = self.loop.call_later(HEAD_S, transport.abort)

    def handle_events(self) -> None:
        super().handle_events()
        if self._timer is not None and getattr(self, "cycle", None) is not None:
            self._timer.cancel()  # the first head is complete; keep-alive limits the pauses after it
            self._timer = None

    def connection_lost(self, exc: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._counted:
            cls = _LimitedProtocol
            self._counted = False
            cls._all -= 1
            cls._by_address[self._address] -= 1
            if not cls._by_address[self._address]:
                del cls._by_address[self._address]
            super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._counted:
            super().data_received(data)
