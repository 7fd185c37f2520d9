"""homeai's own endpoints: health, status, events, requests."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import msgspec

from homeai.domain.errors import BadRequest, Forbidden, NotFound
from homeai.server import decode
from homeai.server.call import Call
from homeai.server.closing import Closing
from homeai.server.encode import error_body
from homeai.server.fields import Fields
from homeai.server.http import (
    ClientGone,
    EventStream,
    headers_of,
    send_json,
    send_whole,
    sse,
    wait_until_gone,
)
from homeai.server.ports import Core

KEEP_ALIVE_S = 10.0
_EVENT_ID = re.compile(rb"\d{1,18}")


class Own:
    """The endpoints.

    Args:
        core: The house.
        closing: Tells when event streams have to end.
    """

    def __init__(self, core: Core, closing: Closing) -> None:
        self._core, self._closing = core, closing

    async def live(self, call: Call) -> None:
        """`GET /live`: the process answers."""
        await send_json(call.send, call.request_id, {"status": "live"})

    async def ready(self, call: Call) -> None:
        """`GET /ready` and `/health`: 200 when a request would be served now, else 503 with why."""
        snapshot = self._core.snapshot()
        serves = snapshot.state in ("ready", "degraded")
        body = {"status": snapshot.state, "problem": snapshot.problem}
        headers = headers_of(call.request_id, () if serves else [("retry-after", "1")])
        await send_whole(call.send, 200 if serves else 503, headers, msgspec.json.encode(body))

    async def status(self, call: Call) -> None:
        """`GET /homeai/v1/status`."""
        await send_json(call.send, call.request_id, self._core.snapshot())

    async def metrics(self, call: Call) -> None:
        """`GET /metrics`: figures for Prometheus, in OpenMetrics if the client asks for it."""
        accept = (call.header("accept") or b"").decode("latin-1")
        kind, body = self._core.metrics.text(accept)
        headers = headers_of(call.request_id, [("content-type", kind)])
        await send_whole(call.send, 200, headers, body)

    async def requests(self, call: Call) -> None:
        """`GET /homeai/v1/requests`: those that the client may see."""
        await send_json(call.send, call.request_id, {"requests": self._visible(call)})

    async def request(self, call: Call) -> None:
        """`GET /homeai/v1/requests/{id}`."""
        await send_json(call.send, call.request_id, self._record(call))

    async def cancel(self, call: Call) -> None:
        """`DELETE /homeai/v1/requests/{id}`: cancel; a request that has ended stays as it is."""
        self._record(call)
        cancelled = self._core.cancel(call.path_value)
        body = {"cancelled": cancelled, **self._record(call)}
        await send_json(call.send, call.request_id, body)

    async def choose(self, call: Call) -> None:
        """`POST /homeai/v1/requests/{id}/choice`: what to do with a request that waits for a choice."""
        record = self._record(call)
        choice = Fields(await call.json_object()).text("choice")
        if not self._core.choose(call.path_value, choice):
            text = f"The request waits for no choice; it is {record['state']}."
            raise BadRequest(text, param="choice")
        await send_json(call.send, call.request_id, self._record(call))

    async def route(self, call: Call) -> None:
        """`GET` and `PUT /homeai/v1/route`: the way requests take; only this computer may change it."""
        if call.scope["method"] == "PUT":
            if not call.is_owner:
                raise Forbidden("Only programs of this computer may change the route.")
            self._core.set_mode(Fields(await call.json_object()).text("mode"))
        await send_json(call.send, call.request_id, {"mode": self._core.mode})

    async def estimate(self, call: Call) -> None:
        """`POST /homeai/v1/estimate`: a chat body → how long it would take on each worker."""
        caller = decode.Caller(call.request_id, call.client, None, lambda: 0)
        asked = decode.chat(await call.json_object(), caller)
        found = await self._core.estimate(asked.requests[0])
        await send_json(call.send, call.request_id, found)

    def _visible(self, call: Call) -> list[dict[str, Any]]:
        """This computer's programs see every request, a device on the LAN sees its own."""
        records = self._core.requests()
        if call.is_owner:
            return records
        return [record for record in records if record["client"] == call.client]

    def _record(self, call: Call) -> dict[str, Any]:
        for record in self._visible(call):
            if record["id"] == call.path_value:
                return record
        raise NotFound("There is no record of a request with this id.")

    async def events(self, call: Call) -> None:
        """`GET /homeai/v1/events`: typed events as SSE; `Last-Event-ID` brings the missed ones."""
        after: int | None = None
        if (last := call.header("last-event-id")) is not None:
            if not _EVENT_ID.fullmatch(last):
                raise BadRequest("Last-Event-ID: a number is needed.", param="Last-Event-ID")
            after = int(last)
        stream = EventStream(call.send, headers_of(call.request_id))
        if call.scope["method"] == "HEAD":
            await stream.begin()
            await stream.end()
            return
        try:
            async with asyncio.TaskGroup() as group:
                follower = group.create_task(self._follow(stream, after))
                alive = group.create_task(_keep_alive(stream))
                watcher = group.create_task(wait_until_gone(call.receive))
                with self._closing.ends(watcher.cancel):
                    await asyncio.wait({watcher, follower}, return_when=asyncio.FIRST_COMPLETED)
                for task in (follower, alive, watcher):
                    task.cancel()
            if self._closing.begun:
                body = msgspec.json.encode(error_body(self._closing.error(), call.request_id))
                await stream.write(b"event: error\n" + sse(body))
                await stream.end()
        except* ClientGone:
            pass

    async def _follow(self, stream: EventStream, after: int | None) -> None:
        await stream.write(b": homeai events\n\n")
        async for number, event in self._core.events.follow(after):
            name = type(event).__name__
            head = f"id: {number}\nevent: {name}\n".encode()
            await stream.write(head + sse(msgspec.json.encode(event)))


async def _keep_alive(stream: EventStream) -> None:
    while True:
        await asyncio.sleep(KEEP_ALIVE_S)
        await stream.write(b": still here\n\n")
