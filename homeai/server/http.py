"""Small pieces of ASGI that all doors use: headers, bodies, errors, streams."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any

import msgspec

from homeai.domain.errors import HomeAIError, InvalidApiKey, MethodNotAllowed
from homeai.server.encode import error_body

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]


class ClientGone(Exception):
    """The client closed its connection, or takes nothing any more."""


def header(scope: Scope, name: bytes) -> bytes | None:
    """Return the first header of that lower-case name."""
    return next((value for key, value in scope["headers"] if key == name), None)


def headers_of(request_id: str, extra: Iterable[tuple[str, str]] = ()) -> Headers:
    """Return response headers that every answer carries, and some more."""
    pairs = [("x-request-id", request_id), ("cache-control", "no-store"), *extra]
    return [(name.encode("latin-1"), value.encode("latin-1", "replace")) for name, value in pairs]


def error_headers(error: HomeAIError) -> list[tuple[str, str]]:
    """Return what tells clients whether a repeat makes sense.

    OpenAI's SDKs repeat 408, 409, 429 and 5xx by themselves unless `x-should-retry` says no.
    """
    if isinstance(error, InvalidApiKey):
        return [("x-should-retry", "false"), ("www-authenticate", 'Bearer realm="homeai"')]
    if isinstance(error, MethodNotAllowed):
        allowed = error.details.get("allowed")
        return [("x-should-retry", "false"), ("allow", str(allowed))]
    if not error.retryable:
        return [("x-should-retry", "false")]
    return [("retry-after", str(math.ceil(error.retry_after_s or 1)))]


async def send_whole(send: Send, status: int, headers: Headers, body: bytes) -> None:
    """Send a response in one piece."""
    names = {name for name, _ in headers}
    if b"content-type" not in names:
        headers = [*headers, (b"content-type", b"application/json")]
    length = (b"content-length", str(len(body)).encode())
    start = {"type": "http.response.start", "status": status, "headers": [*headers, length]}
    await deliver(send, start)
    await deliver(send, {"type": "http.response.body", "body": body})


async def send_json(send: Send, request_id: str, value: object, status: int = 200) -> None:
    """Send a JSON response."""
    await send_whole(send, status, headers_of(request_id), msgspec.json.encode(value))


async def send_error(
    send: Send, request_id: str, error: HomeAIError, extra: Iterable[tuple[str, str]] = ()
) -> None:
    """Send an error as a response of its own."""
    headers = headers_of(request_id, [*error_headers(error), *extra])
    body = msgspec.json.encode(error_body(error, request_id))
    await send_whole(send, error.http_status, headers, body)


async def deliver(send: Send, message: Message) -> None:
    """Send one ASGI message. How long a client may take nothing is the connection's business.

    Raises:
        ClientGone: The connection broke.
    """
    try:
        await send(message)
    except OSError as error:
        raise ClientGone from error


async def wait_until_gone(receive: Receive) -> None:
    """Return when the client closes the connection; the body was read before."""
    while (await receive())["type"] != "http.disconnect":
        pass


class EventStream:
    """A server-sent event stream.

    Args:
        send: ASGI send.
        headers: Response headers.
    """

    def __init__(self, send: Send, headers: Headers) -> None:
        self._send, self._headers = send, headers
        self.begun = False

    async def begin(self, extra: Iterable[tuple[str, str]] = ()) -> None:
        """Commit the status 200. Safe to call twice."""
        if self.begun:
            return
        self.begun = True
        more = [(name.encode(), value.encode()) for name, value in extra]
        kind = [
            (b"content-type", b"text/event-stream; charset=utf-8"),
            (b"x-accel-buffering", b"no"),
        ]
        headers = [*self._headers, *kind, *more]
        await deliver(
            self._send, {"type": "http.response.start", "status": 200, "headers": headers}
        )

    async def write(self, data: bytes) -> None:
        """Send finished SSE text."""
        await self.begin()
        await deliver(self._send, {"type": "http.response.body", "body": data, "more_body": True})

    async def end(self) -> None:
        """Close the stream."""
        await deliver(self._send, {"type": "http.response.body", "body": b""})


def sse(data: bytes) -> bytes:
    """One SSE event of a line of JSON."""
    return b"data: " + data + b"\n\n"


def sse_comment(value: object) -> bytes:
    """A comment that every client ignores and homeai's own read."""
    return b": homeai " + msgspec.json.encode(value) + b"\n\n"
