"""The worker's end of the socket to the core. Never stdin, stdout or stderr: native code prints there."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator, Mapping

import msgspec

from homeai.protocol.framing import FrameDecoder, encode
from homeai.protocol.messages import ToWorker

FD_VARIABLE = "HOMEAI_WORKER_FD"
ADDRESS_VARIABLE = "HOMEAI_WORKER_ADDRESS"
SECRET_VARIABLE = "HOMEAI_WORKER_SECRET"  # noqa: S105 -- the variable's name, not a secret

_READ_BYTES = 1 << 16


class Channel:
    """Framed messages over one socket.

    Sending is allowed from several threads, reading from one.
    """

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._lock = threading.Lock()

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Channel:
        """Open the channel the core has prepared.

        `HOMEAI_WORKER_FD` names an inherited socket; where descriptors cannot be inherited,
        `HOMEAI_WORKER_ADDRESS` (host:port) and `HOMEAI_WORKER_SECRET` (hex) do instead.

        Raises:
            RuntimeError: Neither is set; the worker was started by hand.
        """
        if fd := environment.get(FD_VARIABLE):
            connection = socket.socket(fileno=int(fd))
            os.set_inheritable(connection.fileno(), False)  # noqa: FBT003 -- the API has no keyword
            return cls(connection)
        address, secret = environment.get(ADDRESS_VARIABLE), environment.get(SECRET_VARIABLE)
        if not address or not secret:
            raise RuntimeError("a worker is started by the core, not by hand")
        host, _, port = address.rpartition(":")
        connection = socket.create_connection((host, int(port)), timeout=10)
        connection.settimeout(None)
        connection.sendall(bytes.fromhex(secret))
        return cls(connection)

    def send(self, *messages: msgspec.Struct) -> None:
        """Send messages in one piece.

        Raises:
            OSError: The core is gone.
        """
        frames = b"".join(map(encode, messages))
        with self._lock:
            self._socket.sendall(frames)

    def receive(self) -> Iterator[ToWorker]:
        """Yield messages until the core closes its end.

        Raises:
            FrameError: What arrived is no message.
        """
        decoder: FrameDecoder[ToWorker] = FrameDecoder(ToWorker)  # type: ignore[arg-type]
        while data := self._socket.recv(_READ_BYTES):
            yield from decoder.feed(data)
