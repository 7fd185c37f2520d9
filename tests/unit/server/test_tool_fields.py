"""Tools in requests: wrong ones get a 400 that names the field, right ones shape prompt and answer."""

from __future__ import annotations

import json

import pytest

from homeai.domain.errors import BadRequest, InvalidSchema
from homeai.domain.stream import Delta, FinishReason, Started, TokenLogprob
from homeai.server import decode
from homeai.tools.offer import Choice
from tests.fakes.scripted_core import answer, finished

CHAT = "/v1/chat/completions"
USER = {"role": "user", "content": "Hi"}
CALLER = decode.Caller("id", "local", None, lambda: 42)
WEATHER = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather of a city",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
        },
    },
}
ADD = {"type": "function", "function": {"name": "add"}}
BONN = '<tool_call>\n{"name": "weather", "arguments": {"city": "Bonn"}}\n</tool_call>'
CALLED = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": "{}"}}
ASSISTANT = {"role": "assistant", "content": None, "tool_calls": [CALLED]}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "3"}


def chat(**fields):
    return decode.chat({"messages": [USER], **fields}, CALLER)


def named(name: object) -> dict:
    return {"type": "function", "function": {"name": name}}


def function(**fields) -> list:
    return [{"type": "function", "function": {"name": "f", **fields}}]


WRONG = {
    "no list": ({"tools": "weather"}, "tools"),
    "no object": ({"tools": ["weather"]}, "tools[0]"),
    "no type": ({"tools": [{"function": {"name": "f"}}]}, "tools[0]"),
    "another type": ({"tools": [{"type": "mcp", "function": {"name": "f"}}]}, "tools[0]"),
    "no function": ({"tools": [{"type": "function"}]}, "tools[0].function"),
    "no name": ({"tools": [{"type": "function", "function": {}}]}, "tools[0].function.name"),
    "a name with a blank": ({"tools": [named("f f")]}, "tools[0].function.name"),
    "a long name": ({"tools": [named("f" * 65)]}, "tools[0].function.name"),
    "a name that is a number": ({"tools": [named(7)]}, "tools[0].function.name"),
    "a name twice": ({"tools": [ADD, ADD]}, "tools"),
    "too many": ({"tools": [named(f"f{n}") for n in range(129)]}, "tools"),
    "parameters are a list": ({"tools": function(parameters=[])}, "tools[0].function.parameters"),
    "parameters of a text": (
        {"tools": function(parameters={"type": "string"})},
        "tools[0].function.parameters",
    ),
    "an unknown field": ({"tools": function(color="red")}, "color"),
    "an unknown choice": ({"tools": [ADD], "tool_choice": "maybe"}, "tool_choice"),
    "a choice that names nothing": ({"tools": [ADD], "tool_choice": {}}, "tool_choice"),
    "a choice of an unknown tool": (
        {"tools": [ADD], "tool_choice": named("bomb")},
        "tool_choice.function.name",
    ),
    "a choice that is a number": ({"tools": [ADD], "tool_choice": 3}, "tool_choice"),
    "a choice without tools": ({"tool_choice": "required"}, "tool_choice"),
    "parallel is a word": ({"tools": [ADD], "parallel_tool_calls": "no"}, "parallel_tool_calls"),
    "a form as well": (
        {"tools": [ADD], "response_format": {"type": "json_object"}},
        "response_format",
    ),
    "a grammar as well": ({"tools": [ADD], "grammar": 'root ::= "a"'}, "response_format"),
    "calls of a user": (
        {"messages": [{**USER, "tool_calls": [CALLED]}]},
        "messages[0].role",
    ),
    "calls without an id": (
        {"messages": [{**ASSISTANT, "tool_calls": [{**CALLED, "id": ""}]}]},
        "messages[0].tool_calls[0].id",
    ),
    "calls without a function": (
        {"messages": [{**ASSISTANT, "tool_calls": [{"id": "c1"}]}]},
        "messages[0].tool_calls[0].function",
    ),
    "calls are none": ({"messages": [{**ASSISTANT, "tool_calls": []}]}, "messages[0].tool_calls"),
    "calls are texts": (
        {"messages": [{**ASSISTANT, "tool_calls": ["f"]}]},
        "messages[0].tool_calls[0]",
    ),
    "a result of no call": ({"messages": [USER, RESULT]}, "messages[1].tool_call_id"),
    "a result without an id": (
        {"messages": [USER, ASSISTANT, {"role": "tool", "content": "3"}]},
        "messages[2].tool_call_id",
    ),
    "nothing said and nothing called": (
        {"messages": [{"role": "assistant", "content": None}]},
        "messages[0].content",
    ),
}


@pytest.mark.parametrize("name", WRONG, ids=list(WRONG))
def test_what_cannot_be_understood_names_its_field(name):
    fields, param = WRONG[name]

    with pytest.raises(BadRequest) as caught:
        chat(**fields)

    assert caught.value.param == param


def test_a_schema_that_cannot_be_enforced_is_refused_only_where_it_would_be():
    tools = function(parameters={"properties": {"x": {"not": {"type": "string"}}}})

    assert chat(tools=tools).requests[0].grammar is None
    with pytest.raises(InvalidSchema, match=r"tools\.f\.parameters"):
        chat(tools=tools, tool_choice="required")


def test_the_model_is_shown_the_tools_as_they_were_given():
    assert chat(tools=[WEATHER]).requests[0].prompt.tools == [WEATHER]
    assert chat(tools=[WEATHER], tool_choice="none").requests[0].prompt.tools is None
    assert chat(tools=[WEATHER], tool_choice="none").offer is None


def test_a_choice_decides_how_free_the_model_is():
    assert chat(tools=[WEATHER]).offer.choice is Choice.AUTO
    assert chat(tools=[WEATHER]).requests[0].grammar is None
    assert "weather" in chat(tools=[WEATHER, ADD], tool_choice="required").requests[0].grammar
    forced = chat(tools=[WEATHER, ADD], tool_choice=named("add"))
    assert "weather" not in forced.requests[0].grammar
    assert [tool.name for tool in forced.offer.tools] == ["add"]
    assert forced.offer.parallel is False


def test_calls_and_results_of_earlier_turns_reach_the_template():
    messages = chat(messages=[USER, ASSISTANT, RESULT]).requests[0].prompt.messages

    assert messages[1]["content"] == ""
    assert messages[1]["tool_calls"][0]["function"] == {"name": "add", "arguments": {}}
    assert messages[2] == {**RESULT, "name": "add"}


@pytest.mark.parametrize("arguments", ["", "{", "[1]", '{"a": 1e999}', '{"a": "\\ud800"}', "x" * 9])
def test_arguments_of_earlier_calls_that_are_no_object_stay_text(arguments):
    called = {**CALLED, "function": {"name": "add", "arguments": arguments}}
    messages = [USER, {**ASSISTANT, "tool_calls": [called]}, RESULT]

    prompt = chat(messages=messages).requests[0].prompt

    assert prompt.messages[1]["tool_calls"][0]["function"]["arguments"] == arguments


def events_of(response) -> list[dict]:
    lines = [line[6:] for line in response.text.split("\n") if line.startswith("data: {")]
    return [json.loads(line) for line in lines]


async def test_a_whole_answer_holds_the_call(client, core, chat):
    core.script = lambda request: answer("Look: ", BONN[:20], BONN[20:])

    response = await client.post(CHAT, json=chat(tools=[WEATHER]), headers={"X-Request-Id": "r1"})
    choice = response.json()["choices"][0]

    assert choice["finish_reason"] == "tool_calls"
    assert choice["message"]["content"] == "Look: "
    (call,) = choice["message"]["tool_calls"]
    assert call["function"] == {"name": "weather", "arguments": '{"city": "Bonn"}'}
    assert (call["type"], call.keys()) == ("function", {"id", "type", "function"})


async def test_a_call_alone_has_no_text(client, core, chat):
    core.script = lambda request: answer(BONN)

    body = (await client.post(CHAT, json=chat(tools=[WEATHER]))).json()

    assert body["choices"][0]["message"]["content"] is None


async def test_a_stream_gives_the_call_out_in_one_piece_with_the_same_id(client, core, chat):
    core.script = lambda request: answer("Look: ", *BONN, "\n", *BONN)
    ask = chat(tools=[WEATHER], stream=True)

    streamed = await client.post(CHAT, json=ask, headers={"X-Request-Id": "r2"})
    whole = await client.post(CHAT, json=chat(tools=[WEATHER]), headers={"X-Request-Id": "r2"})

    deltas = [event["choices"][0]["delta"] for event in events_of(streamed)]
    calls = [call for delta in deltas for call in delta.get("tool_calls", ())]
    assert [call["index"] for call in calls] == [0, 1]
    assert "".join(delta.get("content") or "" for delta in deltas) == "Look: "
    assert events_of(streamed)[-1]["choices"][0]["finish_reason"] == "tool_calls"
    ids = [call["id"] for call in calls]
    assert len(set(ids)) == 2
    assert ids == [c["id"] for c in whole.json()["choices"][0]["message"]["tool_calls"]]


@pytest.mark.parametrize("stream", [False, True])
async def test_a_call_that_is_cut_is_not_given_out(client, core, chat, stream):
    core.script = lambda request: answer("Look: ", BONN[:40], reason=FinishReason.LENGTH)

    response = await client.post(CHAT, json=chat(tools=[WEATHER], stream=stream))

    assert "tool_calls" not in response.text
    assert "Bonn" not in response.text
    assert "Look: " in response.text
    assert '"finish_reason":"length"' in response.text


async def test_each_choice_has_calls_of_its_own(client, core, chat):
    core.script = lambda request: [
        *answer(BONN, choice=0),
        *answer("No.", choice=1),
    ]

    body = (await client.post(CHAT, json=chat(tools=[WEATHER], n=2))).json()

    assert [c["finish_reason"] for c in body["choices"]] == ["tool_calls", "stop"]
    assert body["choices"][1]["message"]["content"] == "No."


async def test_without_tools_the_same_text_is_text(client, core, chat):
    core.script = lambda request: answer(BONN)

    body = (await client.post(CHAT, json=chat())).json()

    assert body["choices"][0]["message"]["content"] == BONN


async def test_probabilities_of_tokens_that_are_held_back_are_not_lost(client, core, chat):
    entry = TokenLogprob(5, b"x", -0.5)
    core.script = lambda request: [
        Started(0, "cpu", "cpu", 1, 3),
        Delta(0, "<tool", 1, [entry]),
        Delta(0, "box>", 1, [entry]),
        finished(tokens=2),
    ]

    response = await client.post(CHAT, json=chat(tools=[WEATHER], logprobs=True, stream=True))

    found = [event["choices"][0].get("logprobs") for event in events_of(response)]
    assert sum(len(one["content"]) for one in found if one) == 2


@pytest.mark.parametrize("field", ["tools", "chat_template_kwargs"])
async def test_a_number_that_no_worker_could_read_is_refused_at_the_door(client, chat, field):
    huge = {"type": "object", "properties": {"x": {"maximum": 10**30}}}
    value = function(parameters=huge) if field == "tools" else {"x": 10**30}

    response = await client.post(
        CHAT,
        content=json.dumps(chat(**{field: value})),
        headers={"Content-Type": "application/json"},
    )

    assert response.status_code == 400
    assert "64 bits" in response.json()["error"]["message"] or "range" in response.text
