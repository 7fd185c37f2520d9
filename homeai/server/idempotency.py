"""`Idempotency-Key`: the same request sent twice is computed once.

Same key and body: joins the running request, or gets the stored answer again, marked. Another body under
the same key: 409. Keys belong to their client. A client that lost its stream sends the request again
with `Last-Event-ID` and gets the rest.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import re
from collections.abc import Awaitable, Callable
from dataclasses import replace

from homeai.domain.errors import BadRequest, HomeAIError, IdempotencyConflict, WorkerFailed
from homeai.journal.journal import KeptAnswer
from homeai.server.call import Call
from homeai.server.http import ClientGone, Message, deliver, headers_of, send_error, wait_until_gone
from homeai.server.ports import Core
from homeai.server.shared_answer import SharedAnswer, position_after

RECONNECT_S = 30.0
"""How long work goes on for a client whose connection broke."""
_KEY = re.compile(rb"[\x21-\x7e]{1,255}")
_EVENT_ID = re.compile(rb"\d{1,9}")
_REPLAYED = (b"idempotency-replayed", b"true")

Handler = Callable[[Call], Awaitable[None]]


class Idempotency:
    """Answers under way, by client and key.

    Args:
        core: Keeps complete answers.
        reconnect_s: How long work goes on without a reader.
    """

    def __init__(self, core: Core, reconnect_s: float = RECONNECT_S) -> None:
        self._core, self._reconnect_s = core, reconnect_s
        self._live: dict[tuple[str, str], SharedAnswer] = {}

    def wrap(self, handler: Handler) -> Handler:
        """Return the handler that honours the header."""

        async def wrapped(call: Call) -> None:
            key = call.header("idempotency-key")
            if key is None:
                await handler(call)
                return
            if not _KEY.fullmatch(key):
                text = "Idempotency-Key: 1 to 255 visible ASCII characters are allowed."
                raise BadRequest(text, param="Idempotency-Key")
            await self._serve(call, key.decode("ascii"), handler)

        return wrapped

    async def _serve(self, call: Call, key: str, handler: Handler) -> None:
        body = await call.body()
        digest = hashlib.sha256(call.scope["path"].encode() + b"\0" + body).hexdigest()
        name = call.client, key
        running = self._live.get(name)
        if running is None:
            kept = await self._core.kept_answer(*name)
            if kept is not None:
                _same(kept.body_sha256, digest)
                await _replay(call, kept)
                return
            running = self._live.get(name)  # another may have come while the disk was read
        if running is not None:
            _same(running.body_sha256, digest)
            await _read(call, running, joined=True)
            return
        await self._compute(call, name, digest, body, handler)

    async def _compute(
        self, call: Call, name: tuple[str, str], digest: str, body: bytes, handler: Handler
    ) -> None:
        gone = asyncio.Event()
        shared = self._live[name] = SharedAnswer(digest, gone.set, self._reconnect_s)
        given = False

        async def receive() -> Message:
            nonlocal given
            if not given:
                given = True
                return {"type": "http.request", "body": body, "more_body": False}
            await gone.wait()
            return {"type": "http.disconnect"}

        async def produce() -> None:
            try:
                await handler(replace(call, receive=receive, send=shared.take))
            except HomeAIError as error:
                await send_error(shared.take, call.request_id, error)
            finally:
                shared.end()
                del self._live[name]

        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(produce())
                group.create_task(_read_quietly(call, shared))
        except* ClientGone:
            pass
        if shared.is_good:
            await self._core.keep_answer(
                KeptAnswer(
                    *name,
                    digest,
                    shared.status,
                    json.dumps(
                        [[n.decode("latin-1"), v.decode("latin-1")] for n, v in shared.headers]
                    ),
                    b"".join(shared.pieces),
                )
            )


def _same(one: str, other: str) -> None:
    if one != other:
        raise IdempotencyConflict(
            "This Idempotency-Key was used before with another body; use a new key.",
            param="Idempotency-Key",
        )


async def _read_quietly(call: Call, shared: SharedAnswer) -> None:
    """The first reader may go without ending the work."""
    with contextlib.suppress(ClientGone):
        await _read(call, shared, joined=False)


async def _read(call: Call, shared: SharedAnswer, *, joined: bool) -> None:
    shared.enter()
    try:
        async with asyncio.TaskGroup() as group:
            reader = group.create_task(_copy(call, shared, joined=joined))
            watcher = group.create_task(wait_until_gone(call.receive))
            await asyncio.wait({reader, watcher}, return_when=asyncio.FIRST_COMPLETED)
            reader.cancel()
            watcher.cancel()
    except* ClientGone:
        pass
    finally:
        shared.leave()


async def _copy(call: Call, shared: SharedAnswer, *, joined: bool) -> None:
    await shared.wait_for_head()
    if not shared.status:
        if joined:
            raise WorkerFailed("The request that this one joined ended without an answer.")
        return
    headers = [*shared.headers, _REPLAYED] if joined else shared.headers
    await deliver(
        call.send, {"type": "http.response.start", "status": shared.status, "headers": headers}
    )
    at = _start(call, shared.pieces)
    while True:
        await shared.wait(at)
        data, at = b"".join(shared.pieces[at:]), len(shared.pieces)
        more = not shared.complete
        await deliver(call.send, {"type": "http.response.body", "body": data, "more_body": more})
        if not more:
            return


async def _replay(call: Call, kept: KeptAnswer) -> None:
    own = {name for name, _ in headers_of(call.request_id)}
    pairs = [(n.encode("latin-1"), v.encode("latin-1")) for n, v in json.loads(kept.headers)]
    headers = [*headers_of(call.request_id), *(p for p in pairs if p[0] not in own), _REPLAYED]
    body = kept.body
    if any(value.startswith(b"text/event-stream") for _, value in pairs):
        pieces = [piece + b"\n\n" for piece in body.split(b"\n\n") if piece]
        body = b"".join(pieces[_start(call, pieces) :])
    await deliver(
        call.send, {"type": "http.response.start", "status": kept.status, "headers": headers}
    )
    await deliver(call.send, {"type": "http.response.body", "body": body})


def _start(call: Call, pieces: list[bytes]) -> int:
    """Where to begin for a client that says what it saw last."""
    last = call.header("last-event-id")
    if last is None or not _EVENT_ID.fullmatch(last):
        return 0
    return position_after(pieces, int(last))
