"""`/v1/chat/completions`, `/v1/completions`, `/v1/embeddings`, `/v1/models` in OpenAI's dialect."""

from __future__ import annotations

import asyncio
import base64
import sys
import time
from array import array
from collections.abc import Callable
from typing import Any

from homeai.domain.errors import HomeAIError, LatencyExceedsDeadline, ModelNotFound
from homeai.domain.request import EmbeddingRequest
from homeai.server import decode
from homeai.server.call import Call
from homeai.server.encode import Dialect, usage_body
from homeai.server.gathered import Gathered
from homeai.server.http import ClientGone, send_error, send_json, wait_until_gone
from homeai.server.ports import Core, ModelCard
from homeai.server.streaming import Streamer, Watched

OWNER = "homeai"


class OpenAI:
    """The dialect's endpoints.

    Args:
        core: The house.
        new_seed: Seeds for requests without one.
    """

    def __init__(self, core: Core, new_seed: Callable[[], int]) -> None:
        self._core, self._new_seed = core, new_seed

    async def chat(self, call: Call) -> None:
        """`POST /v1/chat/completions`."""
        await self._generate(call, decode.chat, chat=True)

    async def completion(self, call: Call) -> None:
        """`POST /v1/completions`."""
        await self._generate(call, decode.completion, chat=False)

    async def _generate(
        self,
        call: Call,
        read: Callable[[dict[str, Any], decode.Caller], decode.Asked],
        *,
        chat: bool,
    ) -> None:
        body = await call.json_object()
        caller = decode.Caller(
            call.request_id, call.client, call.deadline_s(), self._new_seed, call.fallback()
        )
        if body.keys() & {"response_format", "grammar", "tools"}:
            # checking a schema takes a while; other requests go on meanwhile
            asked = await asyncio.to_thread(read, body, caller)
        else:
            asked = read(body, caller)
        model = asked.model or self._active_name()
        prefix = "chatcmpl-" if chat else "cmpl-"
        dialect = Dialect(prefix + call.request_id, int(time.time()), model, chat)
        watched = Watched([self._core.submit(request) for request in asked.requests])
        try:
            async with asyncio.TaskGroup() as group:
                watcher = group.create_task(_cancel_when_gone(call, watched))
                if asked.stream:
                    await Streamer(call, dialect, watched, asked).run()
                else:
                    await self._whole(call, dialect, watched, asked)
                watcher.cancel()
        except* ClientGone:
            pass
        finally:
            watched.cancel()

    def _active_name(self) -> str:
        models = self._core.models()
        return models[0].name if models else ""

    async def _whole(
        self, call: Call, dialect: Dialect, watched: Watched, asked: decode.Asked
    ) -> None:
        gathered: list[Gathered] = []
        for generation, request in watched.pairs(asked.requests):
            part = await Gathered.of(generation, request)
            if part.error is not None:
                if not watched.gone:
                    await send_error(call.send, call.request_id, part.error)
                return
            gathered.append(part)
        choices, offset = [], 0
        for part in gathered:
            choices += part.choices(dialect, offset, asked.offer)
            offset += len(part.texts)
        usages = [usage for part in gathered for usage in part.usages]
        usage = usage_body(usages, [part.usages[0] for part in gathered])
        last = gathered[-1].last
        extra = {"request_id": call.request_id, **last.facts}
        await call.send_answer(dialect.whole(choices, usage, extra), last)

    async def embedding(self, call: Call) -> None:
        """`POST /v1/embeddings`."""
        caller = decode.Caller(call.request_id, call.client, call.deadline_s(), self._new_seed)
        request, encoding = decode.embedding(await call.json_object(), caller)
        async with asyncio.TaskGroup() as group:
            work = group.create_task(_embedded(self._core, request))
            watcher = group.create_task(wait_until_gone(call.receive))
            await asyncio.wait({work, watcher}, return_when=asyncio.FIRST_COMPLETED)
            gone = not work.done()
            work.cancel()
            watcher.cancel()
        if gone:
            raise ClientGone
        outcome = work.result()
        if isinstance(outcome, HomeAIError):
            raise outcome
        vectors, tokens = outcome
        data = [
            {"object": "embedding", "index": index, "embedding": _encoded(vector, encoding)}
            for index, vector in enumerate(vectors)
        ]
        body = {
            "object": "list",
            "data": data,
            "model": request.model or self._active_name(),
            "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
        }
        await send_json(call.send, call.request_id, body)

    async def models(self, call: Call) -> None:
        """`GET /v1/models`."""
        body = {"object": "list", "data": [_card(m) for m in self._core.models()]}
        await send_json(call.send, call.request_id, body)

    async def model(self, call: Call) -> None:
        """`GET /v1/models/{id}`."""
        wanted = call.path_value
        for model in self._core.models():
            if model.name == wanted:
                await send_json(call.send, call.request_id, _card(model))
                return
        raise ModelNotFound(f"There is no model {wanted[:100]!r}.", param="model")


async def _embedded(
    core: Core, request: EmbeddingRequest
) -> tuple[list[list[float]], int] | HomeAIError:
    try:
        return await core.embed(request)
    except HomeAIError as error:  # a value, so that it does not tear the group of tasks
        return error
    except TimeoutError:
        return LatencyExceedsDeadline("The vectors were not complete within the deadline.")


def _card(model: ModelCard) -> dict[str, Any]:
    return {"id": model.name, "object": "model", "created": model.created, "owned_by": OWNER}


def _encoded(vector: list[float], encoding: str) -> list[float] | str:
    if encoding == "float":
        return vector
    packed = array("f", vector)
    if sys.byteorder == "big":
        packed.byteswap()
    return base64.b64encode(packed.tobytes()).decode()


async def _cancel_when_gone(call: Call, watched: Watched) -> None:
    await wait_until_gone(call.receive)
    watched.gone = True
    watched.cancel()
