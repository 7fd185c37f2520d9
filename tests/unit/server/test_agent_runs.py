"""Agent runs over HTTP: what is refused, what comes back, and that the same run acts once."""

from __future__ import annotations

import httpx
import pytest

from homeai.agent.tool import HouseTool
from homeai.journal.effects import Kind
from tests.fakes.scripted_core import ScriptedCore, answer, door

RUN = "/homeai/v1/agent"
NUMBER = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
    "additionalProperties": False,
}
CALL = '<tool_call>{"name": "add", "arguments": {"n": 2}}</tool_call>'


@pytest.fixture
async def core():
    async def add(arguments, client):
        return {"sum": arguments["n"] + 1, "for": client.partition(":")[0]}

    return ScriptedCore(
        script=lambda request: answer(CALL if request.id.endswith(".turn1") else "Three."),
        tools=[HouseTool("add", "Adds one.", NUMBER, Kind.PURE, add)],
    )


async def test_a_run_tells_what_was_done_and_what_the_model_said(client, chat):
    body = (await client.post(RUN, json=chat(), headers={"X-Request-Id": "r9"})).json()

    assert body["message"] == {"role": "assistant", "content": "Three."}
    assert (body["turns"], body["finish_reason"]) == (2, "stop")
    (step,) = body["steps"]
    assert step["result"] == {"sum": 3, "for": "local"}
    assert (step["tool"], step["arguments"], step["turn"]) == ("add", {"n": 2}, 1)
    assert body["usage"]["completion_tokens"] == 2
    assert body["homeai"]["request_id"] == "r9"
    assert len(body["homeai"]["answers"]) == 2


async def test_tools_are_listed_with_what_calling_them_twice_would_do(client):
    (tool,) = (await client.get("/homeai/v1/tools")).json()["tools"]

    assert tool["function"]["name"] == "add"
    assert tool["effect"] == "pure"


async def test_a_run_has_the_same_id_for_the_same_key_and_body_only(client, chat):
    async def run_id(key, **fields):
        answered = await client.post(RUN, json=chat(**fields), headers={"Idempotency-Key": key})
        return answered.json()["id"]

    one = await run_id("a")

    assert one == await run_id("a")
    assert one != await run_id("b")
    assert one.startswith("run_")


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"tools": ["bomb"]}, "tools"),
        ({"tools": []}, "tools"),
        ({"tools": "add"}, "tools"),
        ({"tools": [{"type": "function"}]}, "tools"),
        ({"max_turns": 0}, "max_turns"),
        ({"max_turns": 17}, "max_turns"),
        ({"max_turns": "many"}, "max_turns"),
        ({"stream": True}, "stream"),
        ({"n": 2}, "n"),
        ({"tool_choice": "none"}, "tool_choice"),
        ({"tool_choice": "bomb"}, "tool_choice"),
        ({"messages": []}, "messages"),
        ({"temperature": 9}, "temperature"),
        ({"response_format": {"type": "json_object"}}, "response_format"),
    ],
)
async def test_what_cannot_be_understood_names_its_field(client, chat, fields, param):
    response = await client.post(RUN, json={**chat(), **fields})

    assert response.status_code == 400
    assert response.json()["error"]["param"] == param


async def test_a_tool_can_be_named(client, core, chat):
    await client.post(RUN, json=chat(tool_choice="add"))

    first, second = (generation.request for generation in core.generations)
    assert "add" in first.grammar
    assert second.grammar is None


async def test_an_irreversible_tool_does_not_act_without_a_journal(chat):
    acted = []

    async def burn(arguments, _client):
        acted.append(arguments)

    core = ScriptedCore(
        script=lambda request: answer(CALL),
        tools=[HouseTool("add", "Burns.", NUMBER, Kind.IRREVERSIBLE, burn)],
    )
    transport = httpx.ASGITransport(door(core))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        response = await client.post(RUN, json=chat())

    assert response.status_code == 503
    assert response.json()["error"]["code"] == "effects_unrecorded"
    assert response.headers["x-should-retry"] == "false"
    assert acted == []
