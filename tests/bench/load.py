"""The load client: few instructions per byte, because it shares the cores with the server under test.

Runs as a process of its own: reads a `LoadPlan` (JSON) from stdin and writes a `LoadResult` to stdout.
While the load runs it only notes when which bytes came; they are understood afterwards.

    python -m tests.bench.load < plan.json > result.json
"""

from __future__ import annotations

import asyncio
import gc
import json
import sys
import time
from dataclasses import dataclass, field
from typing import Any

import h11
import msgspec

from tests.bench.records import LoadPlan, LoadResult, RequestResult

_LAST_CHUNK = b"\r\n0\r\n\r\n"


@dataclass
class Exchange:
    """One request and the bytes that came back, as they came.

    Attributes:
        arrivals: (seconds on the monotonic clock, bytes) of each read.
        broken: Why the connection ended early.
    """

    client: int
    index: int
    start: float = 0.0
    end: float = 0.0
    arrivals: list[tuple[float, bytes]] = field(default_factory=list)
    broken: str | None = None


class Connection(asyncio.Protocol):
    """A connection that carries one request."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._waiting: asyncio.Future[None] | None = None
        self._exchange: Exchange | None = None
        self._head = b""
        self._tail = b""
        self._left: int | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    async def exchange(self, request: bytes, exchange: Exchange) -> None:
        """Write a request and wait until its answer is complete or the connection breaks."""
        assert self._transport is not None
        self._exchange = exchange
        self._waiting = asyncio.get_running_loop().create_future()
        exchange.start = time.perf_counter()
        self._transport.write(request)
        await self._waiting
        exchange.end = exchange.arrivals[-1][0] if exchange.arrivals else time.perf_counter()

    def data_received(self, data: bytes) -> None:
        now = time.perf_counter()
        if self._exchange is None:
            return
        self._exchange.arrivals.append((now, data))
        if self._complete(data):
            self._finish()

    def _complete(self, data: bytes) -> bool:
        if self._left is None and not self._tail:
            self._head += data
            head, found, body = self._head.partition(b"\r\n\r\n")
            if not found:
                return False
            self._left = _content_length(head)
            data = b"\r\n" + body
            if self._left is not None:
                self._left += 2
        if self._left is not None:
            self._left -= len(data)
            return self._left <= 0
        self._tail = (self._tail + data)[-len(_LAST_CHUNK) :]
        return self._tail == _LAST_CHUNK

    def connection_lost(self, error: Exception | None) -> None:
        if self._exchange is not None:
            self._exchange.broken = f"connection closed early ({error or 'end of file'})"
        self._finish()

    def _finish(self) -> None:
        self._exchange = None
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    def close(self) -> None:
        """Close the connection."""
        if self._transport is not None:
            self._transport.close()


def _content_length(head: bytes) -> int | None:
    """Bytes of the body, None for a chunked one."""
    for line in head.lower().split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name == b"content-length":
            return int(value)
    return None


async def _client(plan: LoadPlan, requests: list[bytes], exchanges: list[Exchange]) -> None:
    loop = asyncio.get_running_loop()
    for request, exchange in zip(requests, exchanges, strict=True):
        # a connection for each request: llama-server ends it after a streamed answer
        _, connection = await loop.create_connection(Connection, plan.host, plan.port)
        await connection.exchange(request, exchange)
        connection.close()


async def _run(plan: LoadPlan, exchanges: list[list[Exchange]]) -> None:
    encoded = [[_encode(plan, body) for body in bodies] for bodies in plan.clients]
    async with asyncio.timeout(plan.timeout_s), asyncio.TaskGroup() as group:
        for requests, mine in zip(encoded, exchanges, strict=True):
            group.create_task(_client(plan, requests, mine))


def _encode(plan: LoadPlan, body: dict[str, Any]) -> bytes:
    content = msgspec.json.encode(body)
    lines = [
        f"POST {plan.path} HTTP/1.1",
        f"Host: {plan.host}:{plan.port}",
        "Content-Type: application/json",
        f"Content-Length: {len(content)}",
        *(f"{name}: {value}" for name, value in plan.headers.items()),
    ]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + content


def understand(exchange: Exchange, origin: float) -> RequestResult:
    """Turn recorded bytes into a result; times count from `origin` (monotonic clock)."""
    reader = _Reader(exchange, origin)
    try:
        reader.read()
    except (h11.RemoteProtocolError, ValueError) as unreadable:
        reader.error = f"the answer cannot be read: {unreadable}"
    complete = reader.complete and exchange.broken is None and reader.error is None
    error = reader.error or exchange.broken
    if error is None and reader.status != 200:
        error = f"HTTP {reader.status}: {bytes(reader.body[:300]).decode('utf-8', 'replace')}"
    if error is None and not complete:
        error = "the stream ended without [DONE]"
    usage = reader.usage or {}
    return RequestResult(
        client=exchange.client,
        index=exchange.index,
        status=reader.status,
        start_s=exchange.start - origin,
        end_s=exchange.end - origin,
        text_times_s=reader.text_times_s,
        prompt_tokens=usage.get("prompt_tokens"),
        completion_tokens=usage.get("completion_tokens", len(reader.text_times_s)),
        usage_reported="completion_tokens" in usage,
        complete=complete,
        text="".join(reader.text),
        error=error,
    )


class _Reader:
    """Reads one HTTP answer with server-sent events out of an exchange."""

    def __init__(self, exchange: Exchange, origin: float) -> None:
        self._exchange, self._origin = exchange, origin
        self._line = b""
        self.status = 0
        self.body = bytearray()
        self.text: list[str] = []
        self.text_times_s: list[float] = []
        self.usage: dict[str, int] | None = None
        self.complete = False
        self.error: str | None = None

    def read(self) -> None:
        connection = h11.Connection(h11.CLIENT)
        connection.send(h11.Request(method="POST", target="/", headers=[("Host", "bench")]))
        connection.send(h11.EndOfMessage())
        for at, data in self._exchange.arrivals:
            connection.receive_data(data)
            while (event := connection.next_event()) not in (h11.NEED_DATA, h11.PAUSED):
                if isinstance(event, h11.Response):
                    self.status = event.status_code
                elif isinstance(event, h11.Data):
                    self._data(bytes(event.data), at - self._origin)
                elif isinstance(event, h11.EndOfMessage | h11.ConnectionClosed):
                    return

    def _data(self, data: bytes, at_s: float) -> None:
        self.body += data
        *lines, self._line = (self._line + data).split(b"\n")
        for line in lines:
            name, _, value = line.strip().partition(b":")
            if name == b"data":
                self._event(value.strip(), at_s)

    def _event(self, value: bytes, at_s: float) -> None:
        if value == b"[DONE]":
            self.complete = True
            return
        event = json.loads(value)
        if "error" in event:
            self.error = f"error in the stream: {event['error']}"
            return
        self.usage = event.get("usage") or self.usage
        text = "".join(_text(choice) for choice in event.get("choices", []))
        if text:
            self.text.append(text)
            self.text_times_s.append(at_s)


def _text(choice: dict[str, Any]) -> str:
    delta = choice.get("delta") or {}
    return choice.get("text") or delta.get("content") or ""


def run(plan: LoadPlan) -> LoadResult:
    """Do the plan; broken requests are results, not exceptions.

    Raises:
        TimeoutError: The run took longer than `plan.timeout_s`.
        ExceptionGroup: No connection could be made.
    """
    exchanges = [
        [Exchange(client, index) for index in range(len(bodies))]
        for client, bodies in enumerate(plan.clients)
    ]
    gc.disable()  # a collection would be measured as latency
    cpu = time.process_time()
    try:
        asyncio.run(_run(plan, exchanges))
    finally:
        gc.enable()
    cpu = time.process_time() - cpu
    flat = [exchange for mine in exchanges for exchange in mine]
    origin = min(exchange.start for exchange in flat)
    return LoadResult(requests=[understand(e, origin) for e in flat], client_cpu_s=cpu)


def main() -> int:
    """Read the plan from stdin, write the result to stdout."""
    plan = msgspec.json.decode(sys.stdin.buffer.read(), type=LoadPlan)
    try:
        result = run(plan)
    except TimeoutError:
        return _failed(f"no end after {plan.timeout_s:.0f} s")
    except ExceptionGroup as group:
        return _failed("; ".join(repr(error) for error in group.exceptions))
    sys.stdout.buffer.write(msgspec.json.encode(result))
    return 0


def _failed(why: str) -> int:
    sys.stderr.write(f"load client: {why}\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
