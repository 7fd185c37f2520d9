"""One answer that several connections may read: the first asker, and whoever comes again with its key."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable

from homeai.server.http import Headers, Message

_ID = re.compile(rb"^id: (\d+)$", re.MULTILINE)


class SharedAnswer:
    """Takes an application's ASGI messages in and gives them to any number of readers.

    Events of a stream are numbered, so that a reader can go on after the last one it saw.

    Args:
        body_sha256: Of the request.
        on_abandoned: Called when nobody has read for `patience_s`, before the answer is complete.
        patience_s: How long a lost client may take to come back.
    """

    def __init__(
        self, body_sha256: str, on_abandoned: Callable[[], None], patience_s: float
    ) -> None:
        self.body_sha256 = body_sha256
        self._on_abandoned, self._patience_s = on_abandoned, patience_s
        self.status = 0
        self.headers: Headers = []
        self.pieces: list[bytes] = []
        self.complete = False
        self._numbers = 0
        self._rest = b""
        self._readers = 0
        self._timer: asyncio.TimerHandle | None = None
        self._news = asyncio.Event()

    @property
    def is_stream(self) -> bool:
        """Whether it is a stream of events."""
        return any(
            name == b"content-type" and value.startswith(b"text/event-stream")
            for name, value in self.headers
        )

    @property
    def is_good(self) -> bool:
        """Whether it is complete and worth repeating."""
        failed = any(piece.startswith(b"event: error") for piece in self.pieces)
        return self.complete and self.status == 200 and not failed

    async def take(self, message: Message) -> None:
        """Take one message in; this is the application's `send`."""
        if message["type"] == "http.response.start":
            self.status, self.headers = message["status"], list(message["headers"])
        else:
            self._add(message.get("body", b""))
            if not message.get("more_body", False):
                self._flush()
                self.complete = True
                self._stop_timer()
        self._wake()

    def _add(self, data: bytes) -> None:
        if not self.is_stream:
            if data:
                self.pieces.append(data)
            return
        *events, self._rest = (self._rest + data).split(b"\n\n")
        for event in events:
            if event.startswith((b":", b"event: error")):  # nothing to go on after
                self.pieces.append(event + b"\n\n")
            else:
                self._numbers += 1
                self.pieces.append(b"id: %d\n%s\n\n" % (self._numbers, event))

    def _flush(self) -> None:
        if self._rest:
            self.pieces.append(self._rest)
            self._rest = b""

    def end(self) -> None:
        """The application ended; a reader of an answer without an end hears its connection break."""
        self.complete = True
        self._stop_timer()
        self._wake()

    # ---- readers ----------------------------------------------------------------------------------

    def enter(self) -> None:
        """A reader comes."""
        self._readers += 1
        self._stop_timer()

    def leave(self) -> None:
        """A reader goes; without any the work stops after a while."""
        self._readers -= 1
        if not self._readers and not self.complete:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(self._patience_s, self._on_abandoned)

    async def wait(self, seen: int) -> None:
        """Return once there are more than `seen` pieces, or a head, or the end."""
        while not self.complete and len(self.pieces) <= seen:
            await self._news.wait()

    async def wait_for_head(self) -> None:
        """Return once status and headers are known, or the application ended without."""
        while not self.status and not self.complete:
            await self._news.wait()

    def _wake(self) -> None:
        self._news.set()
        self._news = asyncio.Event()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def position_after(pieces: list[bytes], last_id: int) -> int:
    """Index of the first piece behind the event with that number; 0 if it is not there."""
    for index, piece in enumerate(pieces):
        found = _ID.search(piece)
        if found is not None and int(found[1]) == last_id:
            return index + 1
    return 0
