"""One HTTP/1.1 connection: uvicorn's, with limits on slow, stalled and too many clients."""

from __future__ import annotations

import asyncio
import ipaddress
import json
from collections import Counter
from dataclasses import dataclass
from typing import Any, cast

import h11
from uvicorn import Config
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

HEAD_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Bounds of connections; times in seconds.

    Attributes:
        total: Connections at a time.
        per_address: Of one other computer; programs of this one are only bound by `total`.
        head_s: From a request's first byte (at first: from the connection) to the end of its head.
        stall_s: A client that takes nothing for so long is cut off.
        linger_s: How long the rest of a body is read and dropped after an early answer, so that
            the answer is not lost to a reset.
    """

    total: int = 256
    per_address: int = 64
    head_s: float = 15.0
    stall_s: float = 60.0
    linger_s: float = 2.0


class Gate:
    """Counts open connections.

    Args:
        limits: How many may be.
    """

    def __init__(self, limits: ConnectionLimits) -> None:
        self.limits = limits
        self._open: Counter[str] = Counter()

    def enter(self, address: str) -> bool:
        """Count a connection in; False if there are too many."""
        mine = 0 if _is_loopback(address) else self._open[address]
        if self._open.total() >= self.limits.total or mine >= self.limits.per_address:
            return False
        self._open[address] += 1
        return True

    def leave(self, address: str) -> None:
        """Count it out."""
        self._open[address] -= 1
        if self._open[address] <= 0:
            del self._open[address]


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address.partition("%")[0]).is_loopback
    except ValueError:
        return False


class GatedConfig(Config):
    """uvicorn's configuration with our gate, where each connection finds it."""

    def __init__(self, app: Any, gate: Gate, **options: Any) -> None:  # noqa: ANN401 -- uvicorn's own
        super().__init__(app, **options)
        self.gate = gate


class Connection(H11Protocol):
    """A client's connection."""

    _wire: _Wire
    _head_timer: asyncio.TimerHandle | None = None
    _stall_timer: asyncio.TimerHandle | None = None
    _address = ""
    _counted = False

    @property
    def _gate(self) -> Gate:
        return cast("GatedConfig", self.config).gate

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Count the client in, or turn it away."""
        peer = transport.get_extra_info("peername")
        self._address = str(peer[0]) if peer else ""
        self._counted = self._gate.enter(self._address)
        self._wire = _Wire(transport, self)
        super().connection_made(self._wire)
        if self._counted:
            self._await_head()
        else:
            text = "Too many connections are open; close some or try again."
            self._refuse(503, "queue_full", text, b"retry-after: 5\r\n")

    def connection_lost(self, exc: Exception | None) -> None:
        """Count the client out."""
        for timer in (self._head_timer, self._stall_timer):
            if timer is not None:
                timer.cancel()
        self._wire.lost()
        if self._counted:
            self._counted = False
            self._gate.leave(self._address)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take in bytes, unless the connection is only waiting for its end."""
        if self._wire.is_closing():
            self._wire.drop(data)
            return
        super().data_received(data)
        self._watch_head()

    # ---- heads --------------------------------------------------------------------------------

    def _await_head(self) -> None:
        self._head_timer = self.loop.call_later(self._gate.limits.head_s, self._head_too_slow)

    def _watch_head(self) -> None:
        waiting = self.conn.their_state is h11.IDLE
        if not waiting and self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None
        elif waiting and self._head_timer is None and self.conn.trailing_data[0]:
            self._await_head()

    def _head_too_slow(self) -> None:
        self._head_timer = None
        if self._wire.is_closing():
            return
        if not self.conn.trailing_data[0]:  # a browser's spare connection
            self._wire.close()
            return
        self._refuse(408, "request_timeout", "The head of the request came too slowly.")

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP, in the common shape of errors."""
        cycle = cast("RequestResponseCycle | None", self.cycle)
        if cycle is not None and not cycle.response_complete:
            # its application must not answer any more
            cycle.disconnected = True
            cycle.message_event.set()
            if cycle.response_started:
                self._wire.close()
                return
        if len(self.conn.trailing_data[0]) > HEAD_BYTES:
            text = f"The head of the request is larger than {HEAD_BYTES // 1024} KiB."
            self._refuse(431, "invalid_request", text)
        else:
            self._refuse(400, "invalid_request", "This is not a valid HTTP/1.1 request.")

    def _refuse(self, status: int, code: str, message: str, extra: bytes = b"") -> None:
        """Answer without an application, and close."""
        kind = "server_error" if status >= 500 else "invalid_request_error"
        error: dict[str, object] = {
            "message": message,
            "type": kind,
            "code": code,
            "param": None,
            "homeai": {},
        }
        body = json.dumps({"error": error}).encode()
        retry = b"" if extra else b"x-should-retry: false\r\n"
        self._wire.write(
            b"HTTP/1.1 %d \r\ncontent-type: application/json\r\ncontent-length: %d\r\n"
            b"connection: close\r\n%s%s\r\n%s" % (status, len(body), extra, retry, body)
        )
        self._wire.close(linger=True)

    def on_response_complete(self) -> None:
        """Go on with the next request, unless this one's body is still coming."""
        if self.conn.their_state is h11.SEND_BODY:
            self._wire.close()
        super().on_response_complete()

    def is_body_pending(self) -> bool:
        """Whether the client is still sending a body that nobody wants."""
        return self.conn.their_state is h11.SEND_BODY

    def _should_upgrade(self) -> bool:
        """Never: there are no WebSockets here, and no need to log each wish for one."""
        return False

    # ---- stalled readers ------------------------------------------------------------------------

    def pause_writing(self) -> None:
        """The client does not read."""
        super().pause_writing()
        if self._stall_timer is None:
            self._stall_timer = self.loop.call_later(self._gate.limits.stall_s, self._wire.abort)

    def resume_writing(self) -> None:
        """The client reads again."""
        super().resume_writing()
        if self._stall_timer is not None:
            self._stall_timer.cancel()
            self._stall_timer = None


class _Wire(asyncio.Transport):
    """The transport, with an end that neither loses an answer nor waits for ever.

    Closing a socket with unread bytes resets it, and the client may never see what was answered.
    So, while a body is still coming, only our direction is closed and the rest is dropped.

    What is written in one turn of the loop (head, body, end of message) leaves in one piece.

    Args:
        inner: The real transport.
        connection: Whose.
    """

    def __init__(self, inner: asyncio.Transport, connection: Connection) -> None:
        super().__init__()
        self._inner, self._connection = inner, connection
        self._limits = connection._gate.limits  # noqa: SLF001 -- two halves of one thing
        self._closing = False
        self._timer: asyncio.TimerHandle | None = None
        self._dropped = 0
        self._unsent: list[bytes] = []

    def close(self, *, linger: bool = False) -> None:
        if self._closing:
            return
        self._flush()
        self._closing = True
        wait_s = self._limits.stall_s
        if linger or self._connection.is_body_pending():
            wait_s = self._limits.linger_s
            self._inner.resume_reading()
            if self._inner.can_write_eof():
                self._inner.write_eof()
        else:
            self._inner.close()
        self._timer = self._connection.loop.call_later(wait_s, self._inner.abort)

    def drop(self, data: bytes) -> None:
        """Forget what comes after the end; a flood ends the connection at once."""
        self._dropped += len(data)
        if self._dropped > _MOST_DROPPED:
            self._inner.abort()

    def lost(self) -> None:
        """The connection is gone."""
        self._closing = True
        if self._timer is not None:
            self._timer.cancel()

    def abort(self) -> None:
        self._closing = True
        self._unsent.clear()
        self._inner.abort()

    def is_closing(self) -> bool:
        return self._closing or self._inner.is_closing()

    def write(self, data: Any) -> None:  # noqa: ANN401 -- any buffer
        if self.is_closing():
            return
        if not self._unsent:
            self._connection.loop.call_soon(self._flush)
        self._unsent.append(data)

    def _flush(self) -> None:
        if self._unsent:
            data = b"".join(self._unsent)
            self._unsent.clear()
            if not self._inner.is_closing():
                self._inner.write(data)

    def get_extra_info(self, name: str, default: Any = None) -> Any:  # noqa: ANN401 -- as asyncio
        return self._inner.get_extra_info(name, default)

    def pause_reading(self) -> None:
        if not self.is_closing():
            self._inner.pause_reading()

    def resume_reading(self) -> None:
        if not self.is_closing():
            self._inner.resume_reading()


_MOST_DROPPED = 256 * 2**20
