"""Calls are read from text, whatever the family and however the text was cut."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeai.tools.offer import Offer, Tool, ToolCall, call_id
from homeai.tools.reader import CallReader

WEATHER = Tool("weather", {"type": "object", "properties": {"city": {"type": "string"}}})
ADD = Tool("add", {"type": "object", "properties": {"a": {"type": "integer"}}})
OFFER = Offer((WEATHER, ADD))
BONN = ToolCall("weather", '{"city": "Bonn"}')
TWO = ToolCall("add", '{"a": 2}')
BONN_JSON = '{"name": "weather", "arguments": {"city": "Bonn"}}'
TWO_JSON = '{"name": "add", "arguments": {"a": 2}}'


def read(*pieces: str, cut: bool = False, offer: Offer = OFFER) -> list:
    reader = CallReader(offer)
    items = [item for piece in pieces for item in reader.push(piece)]
    items += reader.finish(cut=cut)
    joined: list = []
    for item in items:
        if isinstance(item, str) and joined and isinstance(joined[-1], str):
            joined[-1] += item
        else:
            joined.append(item)
    return joined


FORMS = {
    "hermes": (f"<tool_call>\n{BONN_JSON}\n</tool_call>", [BONN]),
    "hermes without an end": (f"<tool_call>{BONN_JSON}", [BONN]),
    "words before": (f"Let me look.\n<tool_call>{BONN_JSON}</tool_call>", ["Let me look.\n", BONN]),
    "two": (
        f"<tool_call>{BONN_JSON}</tool_call>\n<tool_call>{TWO_JSON}</tool_call>",
        [BONN, TWO],
    ),
    "words behind": (f"<tool_call>{BONN_JSON}</tool_call>\nDone.", [BONN, "Done."]),
    "mistral": (f"[TOOL_CALLS][{BONN_JSON}, {TWO_JSON}]", [BONN, TWO]),
    "mistral, named": ('[TOOL_CALLS]weather[ARGS]{"city": "Bonn"}', [BONN]),
    "mistral, named, without mark": ('[TOOL_CALLS]weather{"city": "Bonn"}', [BONN]),
    "llama": ('{"name": "weather", "parameters": {"city": "Bonn"}}', [BONN]),
    "llama, python tag": (f"<|python_tag|>{BONN_JSON}; {TWO_JSON}", [BONN, TWO]),
    "openai's own": (
        '{"type": "function", "function": ' + BONN_JSON + "}",
        [BONN],
    ),
    "arguments as text": (
        json.dumps({"name": "add", "arguments": '{"a": 2}'}),
        [TWO],
    ),
    "tags": (
        "<tool_call>\n<function=weather>\n<parameter=city>\nBonn\n</parameter>\n</function>\n</tool_call>",
        [BONN],
    ),
    "tags with a number": (
        "<tool_call><function=add><parameter=a>2</parameter></function></tool_call>",
        [TWO],
    ),
    "braces in strings": (
        '<tool_call>{"name": "weather", "arguments": {"city": "a}\\"{</tool_call>"}}</tool_call>',
        [ToolCall("weather", '{"city": "a}\\"{</tool_call>"}')],
    ),
    "umlauts and emoji": (
        '<tool_call>{"name": "weather", "arguments": {"city": "Köln 🌧"}}</tool_call>',
        [ToolCall("weather", '{"city": "Köln 🌧"}')],
    ),
    "no arguments": ('<tool_call>{"name": "add"}</tool_call>', [ToolCall("add", "{}")]),
}
TEXTS = {
    "words": "The weather is fine.",
    "nothing": "",
    "blanks": "  \n",
    "less than": "1 < 2 and <tool_cal is no mark",
    "an unknown tool": '<tool_call>{"name": "bomb", "arguments": {}}</tool_call>',
    "no json": "<tool_call>{weather: Bonn}</tool_call>",
    "not closed": '<tool_call>{"name": "weather", "arguments": {"city": "Bo',
    "json of its own": '{"city": "Bonn", "name": "weather"}',
    "json that is no call": '{"name": "weather"',
    "arguments are a list": '{"name": "weather", "arguments": [1]}',
    "a mark alone": "[TOOL_CALLS]",
    "a mark and words": "[TOOL_CALLS] are written so: name and arguments",
    "nested too deeply": "<tool_call>" + "[{" * 3000 + "</tool_call>",
    "a number that is too large": '<tool_call>{"name": "add", "arguments": {"a": 1e999}}</tool_call>',
    "beyond 64 bits": '<tool_call>{"name": "add", "arguments": {"a": 99999999999999999999}}</tool_call>',
    "not a number": '<tool_call>{"name": "add", "arguments": {"a": NaN}}</tool_call>',
    "half a character": '<tool_call>{"name": "add", "arguments": {"a": "\\ud800"}}</tool_call>',
    "an endless number": '<tool_call>{"name": "add", "arguments": {"a": '
    + "9" * 5000
    + "}}</tool_call>",
    "another tag": "<tool_call><b>bold</b></tool_call>",
}


@pytest.mark.parametrize("form", FORMS, ids=list(FORMS))
def test_every_known_form_is_read(form):
    text, items = FORMS[form]

    assert read(text) == items
    assert read(*text) == items


@pytest.mark.parametrize("name", TEXTS, ids=list(TEXTS))
def test_what_is_no_call_stays_text(name):
    text = TEXTS[name]

    assert "".join(read(text)) == text
    assert "".join(read(*text)) == text


@given(
    st.sampled_from([text for text, _ in FORMS.values()] + list(TEXTS.values())),
    st.lists(st.integers(0, 200), max_size=8),
    st.booleans(),
)
def test_the_result_does_not_depend_on_how_the_text_was_cut(text, places, cut):
    places = sorted({min(place, len(text)) for place in places})
    pieces = [text[a:b] for a, b in zip([0, *places], [*places, len(text)], strict=True)]

    assert read(*pieces, cut=cut) == read(text, cut=cut)


@given(st.integers(0, len(BONN_JSON) + 10))
def test_a_call_that_is_cut_by_its_limit_is_never_given_out_by_half(size):
    text = f"Well: <tool_call>{BONN_JSON}"

    found = read(text[: 6 + size], cut=True)

    assert all(item == BONN for item in found if not isinstance(item, str))
    assert "name" not in "".join(item for item in found if isinstance(item, str))


@pytest.mark.parametrize("value", ["1e999", "NaN", "\\ud800", "9" * 5000, "{", "nul"])
def test_a_value_in_tags_that_is_no_json_is_taken_as_text(value):
    text = f"<tool_call><function=add><parameter=a>{value}</parameter></function></tool_call>"

    (call,) = read(text)

    assert json.loads(call.arguments) == {"a": value}


def test_where_one_call_is_allowed_the_rest_is_left_out():
    text = f"<tool_call>{BONN_JSON}</tool_call><tool_call>{TWO_JSON}</tool_call> and more"

    assert read(text, offer=Offer((WEATHER, ADD), parallel=False)) == [BONN]
    assert read(*text, offer=Offer((WEATHER, ADD), parallel=False)) == [BONN]


def test_text_is_given_out_at_once_when_it_cannot_become_a_call():
    reader = CallReader(OFFER)

    assert reader.push("Hello ") == ["Hello "]
    assert reader.push("wor<") == ["wor"]
    assert reader.push("b>") == ["<b>"]


def test_json_that_was_asked_for_in_words_comes_as_soon_as_its_first_key_shows_what_it_is():
    reader = CallReader(OFFER)

    assert reader.push('{"ci') == ['{"ci']


def test_ids_belong_to_request_choice_and_number():
    ids = {call_id(r, c, n) for r in ("a", "b") for c in (0, 1) for n in (0, 1)}

    assert len(ids) == 8
    assert call_id("a", 0, 1) == call_id("a", 0, 1)
    assert all(one.startswith("call_") for one in ids)
