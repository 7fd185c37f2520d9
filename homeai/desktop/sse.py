"""Server-sent events from bytes that arrive in any pieces. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SseEvent:
    """One event.

    Attributes:
        name: `message` unless the server named it; `comment` for comment lines.
        data: Its text.
    """

    name: str
    data: str


class SseParser:
    """Collects bytes and gives whole events."""

    def __init__(self) -> None:
        self._buffer = b""

    def feed(self, data: bytes) -> list[SseEvent]:
        """Return the events that `data` completes."""
        # lines may end in CR LF, and a cut may fall between the two
        self._buffer = (self._buffer + data).replace(b"\r\n", b"\n")
        *blocks, self._buffer = self._buffer.split(b"\n\n")
        return [event for block in blocks for event in _events(block)]


def _events(block: bytes) -> list[SseEvent]:
    name, data, events = "message", [], []
    for line in block.decode("utf-8", "replace").split("\n"):
        if line.startswith(":"):
            events.append(SseEvent("comment", line[1:].strip()))
        elif line.startswith("event:"):
            name = line[6:].strip()
        elif line.startswith("data:"):
            data.append(line[5:].removeprefix(" "))
    if data:
        events.append(SseEvent(name, "\n".join(data)))
    return events
