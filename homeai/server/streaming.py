"""Answers as a stream, from the events of one or more generations."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence

import msgspec

from homeai.domain.errors import HomeAIError
from homeai.domain.request import GenerationRequest
from homeai.domain.stream import (
    Delta,
    Failed,
    Finished,
    Notice,
    Queued,
    Started,
    StreamEvent,
    TokenLogprob,
    Usage,
)
from homeai.server.call import Call
from homeai.server.decode import Asked
from homeai.server.encode import Dialect, error_body, finish_word, homeai_body, usage_body
from homeai.server.http import EventStream, headers_of, send_error, sse, sse_comment
from homeai.server.ports import Generation
from homeai.server.spoken import Item, Spoken

KEEP_ALIVE_S = 10.0
COMMIT_AFTER_S = 1.0
"""A stream that waits longer gets its status 200 and hears of its place in line; until then an early
error can still be a status of its own."""


class Watched:
    """The generations of one HTTP request.

    Attributes:
        gone: Whether the client closed its connection.
    """

    def __init__(self, generations: Sequence[Generation]) -> None:
        self._generations, self.gone = generations, False

    def pairs(
        self, requests: Sequence[GenerationRequest]
    ) -> Iterator[tuple[Generation, GenerationRequest]]:
        """Each generation with what was asked."""
        return zip(self._generations, requests, strict=True)

    def cancel(self) -> None:
        """Stop the work of all that have not ended."""
        for generation in self._generations:
            generation.cancel()


class Streamer:
    """Writes the answers of one HTTP request as server-sent events.

    Args:
        call: The HTTP request.
        dialect: Words of the endpoint.
        watched: Generations.
        asked: What was asked.
    """

    def __init__(self, call: Call, dialect: Dialect, watched: Watched, asked: Asked) -> None:
        self._call, self._dialect, self._watched, self._asked = call, dialect, watched, asked
        self._stream = EventStream(call.send, headers_of(call.request_id))
        self._finished: list[Finished] = []
        self._prompts: list[Usage] = []
        self._place_word = "queued"  # at first, then "position"
        self._spoken: dict[int, Spoken] = {}

    async def run(self) -> None:
        """Stream all generations, one after the other, to the end or the first error."""
        offset = 0
        for generation, request in self._watched.pairs(self._asked.requests):
            error = await self._one(generation, request, offset)
            if error is not None:
                await self._fail(error)
                return
            offset += request.n
        end = b"data: [DONE]\n\n"
        if self._asked.usage:
            usage = usage_body([f.usage for f in self._finished], self._prompts)
            extra = homeai_body(self._call.request_id, self._finished[-1])
            end = sse(self._dialect.usage_chunk(usage, extra)) + end
        await self._stream.write(end)
        await self._stream.end()

    async def _one(
        self, generation: Generation, request: GenerationRequest, offset: int
    ) -> HomeAIError | None:
        end = len(self._finished) + request.n
        commit_at = asyncio.get_running_loop().time() + COMMIT_AFTER_S
        while len(self._finished) < end:
            events = await self._news(generation, commit_at)
            failed = next((e for e in events if isinstance(e, Failed)), None)
            if failed is not None and not self._stream.begun:
                return failed.error  # whatever came before it, a status says more
            started = next((e for e in events if isinstance(e, Started)), None)
            if started is not None:
                await self._begin(started)
            data = b"".join(self._encoded(e, generation, request, offset) for e in events)
            if data or not events:
                await self._stream.write(data or b": homeai {}\n\n")
            if failed is not None:
                return failed.error
            if len(self._finished) == end:
                self._prompts.append(self._finished[-1].usage)
        return None

    async def _news(self, generation: Generation, commit_at: float) -> Sequence[StreamEvent]:
        """Return what is to be told now; nothing = it is time for a sign of life.

        A place in line is told only if the wait becomes long.
        """
        if self._stream.begun:
            return await generation.next_events(KEEP_ALIVE_S)
        place: list[StreamEvent] = []
        loop = asyncio.get_running_loop()
        while (left_s := commit_at - loop.time()) > 0:
            events = await generation.next_events(left_s)
            if not all(isinstance(event, Queued) for event in events):
                return events
            place = list(events[-1:]) or place
        return place

    def _encoded(
        self, event: StreamEvent, generation: Generation, request: GenerationRequest, offset: int
    ) -> bytes:
        match event:
            case Delta():
                return self._delta(event, request, offset)
            case Finished():
                self._finished.append(event)
                return self._end(event, request, offset)
            case Started():
                return self._start(event, generation, request, offset)
            case _:
                return self._comments([event])

    async def _begin(self, event: Started) -> None:
        headers = [("homeai-device", event.device), ("homeai-attempts", str(event.attempt))]
        if event.degraded is not None:
            headers.append(("homeai-degraded", event.degraded))
        if event.estimate_ms is not None:
            headers.append(("homeai-estimate-ms", str(event.estimate_ms)))
        await self._stream.begin(headers)

    def _start(
        self, event: Started, generation: Generation, request: GenerationRequest, offset: int
    ) -> bytes:
        index = offset + event.choice
        if self._dialect.chat:
            return sse(self._dialect.chunk(index, "", first=True))
        if request.echo_prompt and generation.prompt_text:
            return sse(self._dialect.chunk(index, generation.prompt_text))
        return b""

    def _end(self, event: Finished, request: GenerationRequest, offset: int) -> bytes:
        """The chunk with the finish reason.

        The stream's last chunk carries the `homeai` object; a chunk without choices comes only to
        those who asked for token counts, since others trip over it.
        """
        choices = sum(request.n for request in self._asked.requests)
        is_last = len(self._finished) == choices and not self._asked.usage
        extra = homeai_body(self._call.request_id, event) if is_last else None
        index, last, calls = offset + event.choice, b"", 0
        if self._asked.offer is not None:
            spoken = self._spoken_by(request, event.choice)
            last = self._items(spoken.finish(event.reason), index, None)
            calls = spoken.calls
        reason = finish_word(event.reason, calls)
        return last + sse(self._dialect.chunk(index, None, reason=reason, extra=extra))

    def _delta(self, event: Delta, request: GenerationRequest, offset: int) -> bytes:
        if not event.text and not event.logprobs:
            return b""
        index = offset + event.choice
        if self._asked.offer is None:
            return sse(self._dialect.chunk(index, event.text, entries=event.logprobs))
        items = self._spoken_by(request, event.choice).push(event.text)
        return self._items(items, index, event.logprobs)

    def _spoken_by(self, request: GenerationRequest, choice: int) -> Spoken:
        if choice not in self._spoken and self._asked.offer is not None:
            self._spoken[choice] = Spoken(self._asked.offer, request.id, choice)
        return self._spoken[choice]

    def _items(self, items: list[Item], index: int, entries: list[TokenLogprob] | None) -> bytes:
        """Texts and calls, the log probabilities with the first of them, or alone."""
        chunks = []
        for item in items or ([""] if entries else []):
            text, call = (item, None) if isinstance(item, str) else (None, item)
            chunks.append(sse(self._dialect.chunk(index, text, entries=entries, call=call)))
            entries = None
        return b"".join(chunks)

    def _comments(self, events: Sequence[StreamEvent]) -> bytes:
        comments = []
        for event in events:
            if isinstance(event, Queued):
                kind, self._place_word = self._place_word, "position"
                place = {"event": kind, "position": event.position, "ahead_s": event.ahead_s}
                comments.append(sse_comment(place))
            elif isinstance(event, Notice):
                comments.append(sse_comment({"event": event.kind, **event.facts}))
        return b"".join(comments)

    async def _fail(self, error: HomeAIError) -> None:
        """Tell of an error: as a status while that is possible, else in-band and without [DONE]."""
        if self._watched.gone:
            return
        if not self._stream.begun:
            await send_error(self._call.send, self._call.request_id, error)
            return
        body = msgspec.json.encode(error_body(error, self._call.request_id))
        await self._stream.write(b"event: error\n" + sse(body))
        await self._stream.end()
