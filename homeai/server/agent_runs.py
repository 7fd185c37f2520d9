"""`POST /homeai/v1/agent`: a conversation in which the model may call tools of this house."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable
from typing import Any

from homeai.agent.loop import Order, Outcome
from homeai.domain.errors import BadRequest, HomeAIError
from homeai.server import decode
from homeai.server.call import Call
from homeai.server.encode import homeai_body, usage_body
from homeai.server.fields import Fields
from homeai.server.http import ClientGone, send_json, wait_until_gone
from homeai.server.ports import Core

MOST_TURNS, USUAL_TURNS = 16, 4


class AgentRuns:
    """The endpoints.

    Args:
        core: The house.
        new_seed: Seeds for runs without one.
    """

    def __init__(self, core: Core, new_seed: Callable[[], int]) -> None:
        self._core, self._new_seed = core, new_seed

    async def tools(self, call: Call) -> None:
        """`GET /homeai/v1/tools`: what can be called, and what calling it twice would do."""
        tools = [{**tool.described(), "effect": tool.kind} for tool in self._core.agent.box.all()]
        await send_json(call.send, call.request_id, {"tools": tools})

    async def run(self, call: Call) -> None:
        """`POST /homeai/v1/agent`: the body of a chat, `tools` as names, and `max_turns`."""
        order = await asyncio.to_thread(self._order, call, await call.json_object())
        async with asyncio.TaskGroup() as group:
            work = group.create_task(_ran(self._core, order))
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
        await send_json(call.send, call.request_id, _body(call.request_id, order, outcome))

    def _order(self, call: Call, body: dict[str, Any]) -> Order:
        fields = Fields(body)
        names = self._names(fields)
        turns = fields.count("max_turns", USUAL_TURNS, 1, MOST_TURNS) or USUAL_TURNS
        if fields.switch("stream"):
            raise fields.wrong("stream", given=True, allowed="false; a run is answered as a whole")
        box = self._core.agent.box
        tools = [tool.described() for tool in box.all() if tool.name in names]
        chat = {**fields.rest, "tools": tools}
        if isinstance(chat.get("tool_choice"), str) and box.get(chat["tool_choice"]) is not None:
            named = {"name": chat["tool_choice"]}
            chat["tool_choice"] = {"type": "function", "function": named}
        caller = decode.Caller(
            call.request_id, call.client, call.deadline_s(), self._new_seed, call.fallback()
        )
        asked = decode.chat(chat, caller)
        if asked.offer is None:
            raise fields.wrong("tool_choice", "none", "auto, required, or the name of a tool")
        if asked.requests[0].n != 1:
            raise fields.wrong("n", asked.requests[0].n, "1")
        return Order(_run_id(call, body), asked.requests[0], asked.offer, turns)

    def _names(self, fields: Fields) -> list[str]:
        known = self._core.agent.box.names
        given = fields.take("tools")
        if given is None:
            return known
        if not isinstance(given, list) or not given:
            raise fields.wrong("tools", given, f"a list of names: {', '.join(known)}")
        for name in given:
            if not isinstance(name, str) or name not in known:
                raise BadRequest(
                    f"tools: there is no tool of one of the names given; there are "
                    f"{', '.join(known)}.",
                    param="tools",
                )
        return given


def _run_id(call: Call, body: dict[str, Any]) -> str:
    """The same whenever a client asks for the same run: by its `Idempotency-Key`, else its request id."""
    key = call.header("idempotency-key")
    name = call.request_id if key is None else key.decode("latin-1")
    owner = call.client.partition(":")[0]
    text = (
        f"{owner}\0{name}\0{hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()}"
    )
    return f"run_{hashlib.sha256(text.encode()).hexdigest()[:32]}"


async def _ran(core: Core, order: Order) -> Outcome | HomeAIError:
    try:
        return await core.agent.run(order)
    except HomeAIError as error:  # a value, so that it does not tear the group of tasks
        return error


def _body(request_id: str, order: Order, outcome: Outcome) -> dict[str, Any]:
    usages = [finished.usage for finished in outcome.finished]
    return {
        "id": order.run,
        "object": "homeai.agent.run",
        "message": {"role": "assistant", "content": outcome.text},
        "finish_reason": outcome.reason,
        "turns": outcome.turns,
        "steps": outcome.steps,
        "usage": usage_body(usages, usages),
        "homeai": {
            **homeai_body(request_id, outcome.finished[-1]),
            "answers": [finished.facts for finished in outcome.finished],
        },
    }
