"""Tools with the real model, through the official client."""

from __future__ import annotations

import json

import openai
import pytest

from tests.fakes.running_core import RunningCore

ASK = [{"role": "user", "content": "What is the weather in Bonn?"}]
WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather of a city.",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string", "maxLength": 20},
                "unit": {"enum": ["celsius", "fahrenheit"]},
            },
            "required": ["city", "unit"],
            "additionalProperties": False,
        },
    },
}
CLOCK = {
    "type": "function",
    "function": {"name": "clock", "parameters": {"type": "object", "properties": {}}},
}


@pytest.fixture(scope="module")
def core(starter_model, tmp_path_factory):
    home = tmp_path_factory.mktemp("tools")
    with RunningCore(home, starter_model, "limits.context_tokens=2048") as running:
        yield running


@pytest.fixture(scope="module")
def client(core):
    with openai.OpenAI(base_url=f"{core.url}/v1", api_key="unused", timeout=60) as client:
        yield client


def ask(client, **more):
    return client.chat.completions.create(
        model="", messages=more.pop("messages", ASK), temperature=0, **more
    )


def check(call) -> dict:
    assert call.function.name in ("get_weather", "clock")
    arguments = json.loads(call.function.arguments)
    if call.function.name == "get_weather":
        assert arguments.keys() == {"city", "unit"}
        assert arguments["unit"] in ("celsius", "fahrenheit")
    else:
        assert arguments == {}
    return arguments


def test_a_required_call_follows_its_schema(client):
    choice = ask(client, tools=[WEATHER, CLOCK], tool_choice="required", max_tokens=400).choices[0]

    assert choice.finish_reason == "tool_calls"
    assert choice.message.content is None
    for call in choice.message.tool_calls:
        check(call)


def test_a_named_tool_is_called_once(client):
    named = {"type": "function", "function": {"name": "get_weather"}}
    choice = ask(client, tools=[WEATHER, CLOCK], tool_choice=named, max_tokens=200).choices[0]

    (call,) = choice.message.tool_calls
    assert call.function.name == "get_weather"
    check(call)


def test_a_stream_holds_the_same_call(client):
    options = {"tools": [WEATHER], "tool_choice": "required", "parallel_tool_calls": False}
    options |= {"max_tokens": 200, "seed": 3}
    (whole,) = ask(client, **options).choices[0].message.tool_calls

    chunks = list(ask(client, **options, stream=True))

    calls = [c for chunk in chunks for c in chunk.choices[0].delta.tool_calls or ()]
    assert len(calls) == 1
    assert calls[0].function.name == whole.function.name
    assert calls[0].function.arguments == whole.function.arguments
    assert chunks[-1].choices[0].finish_reason == "tool_calls"


def test_a_call_that_its_limit_cuts_is_not_given_out(client):
    choice = ask(client, tools=[WEATHER], tool_choice="required", max_tokens=6).choices[0]

    assert choice.finish_reason == "length"
    assert choice.message.tool_calls is None


def test_the_result_of_a_call_is_read_and_answered_in_words(client):
    options = {"tools": [WEATHER], "max_tokens": 200}
    first = ask(client, **options, tool_choice="required", parallel_tool_calls=False)
    message = first.choices[0].message
    (call,) = message.tool_calls
    turn = [
        *ASK,
        message.model_dump(exclude_none=True),
        {"role": "tool", "tool_call_id": call.id, "content": "Rain, 12 degrees"},
    ]

    second = ask(client, messages=turn, **options, tool_choice="none")

    assert second.choices[0].message.content
    assert not second.choices[0].message.tool_calls


def test_the_model_hears_of_the_tools_though_its_template_knows_none(client):
    plain = ask(client, max_tokens=1)
    offered = ask(client, tools=[WEATHER], max_tokens=1)
    hidden = ask(client, tools=[WEATHER], tool_choice="none", max_tokens=1)

    assert offered.usage.prompt_tokens > plain.usage.prompt_tokens + 100
    assert hidden.usage.prompt_tokens == plain.usage.prompt_tokens
