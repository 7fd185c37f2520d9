"""Every way in which a body can be wrong gets a 400 that names the field; right ones arrive intact."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from homeai.domain.errors import HomeAIError
from homeai.domain.request import ChatPrompt, TextPrompt, TokenPrompt
from homeai.server import decode
from homeai.server.jsonbody import decode_object

USER = {"role": "user", "content": "Hi"}
CHAT, TEXT, EMBEDDING = "/v1/chat/completions", "/v1/completions", "/v1/embeddings"
CALLER = decode.Caller("id", "local", None, lambda: 42)


def chat(**fields):
    return decode.chat({"messages": [USER], **fields}, CALLER).requests[0]


def text(**fields):
    return decode.completion({"prompt": "Once", **fields}, CALLER)


WRONG_SHARED = [
    ({"temperature": "hot"}, "temperature"),
    ({"temperature": True}, "temperature"),
    ({"temperature": 2.1}, "temperature"),
    ({"temperature": -0.1}, "temperature"),
    ({"top_p": 1.5}, "top_p"),
    ({"top_p": -1}, "top_p"),
    ({"min_p": 2}, "min_p"),
    ({"typical_p": 0}, "typical_p"),
    ({"top_k": -1}, "top_k"),
    ({"top_k": 1.5}, "top_k"),
    ({"repeat_penalty": 0}, "repeat_penalty"),
    ({"repeat_last_n": -2}, "repeat_last_n"),
    ({"presence_penalty": 3}, "presence_penalty"),
    ({"frequency_penalty": -3}, "frequency_penalty"),
    ({"n": 0}, "n"),
    ({"n": 9}, "n"),
    ({"n": "2"}, "n"),
    ({"n": True}, "n"),
    ({"max_tokens": 0}, "max_tokens"),
    ({"max_tokens": 1.0}, "max_tokens"),
    ({"max_tokens": -5}, "max_tokens"),
    ({"seed": "x"}, "seed"),
    ({"seed": 2**64}, "seed"),
    ({"stop": ""}, "stop"),
    ({"stop": ["a", ""]}, "stop"),
    ({"stop": [1]}, "stop"),
    ({"stop": {"a": 1}}, "stop"),
    ({"stop": ["a"] * 17}, "stop"),
    ({"stop": "a" * 1001}, "stop"),
    ({"logit_bias": []}, "logit_bias"),
    ({"logit_bias": {"word": 1}}, "logit_bias"),
    ({"logit_bias": {"-1": 1}}, "logit_bias"),
    ({"logit_bias": {"٣": 1}}, "logit_bias"),
    ({"logit_bias": {"1": 101}}, "logit_bias"),
    ({"logit_bias": {"1": "a"}}, "logit_bias"),
    ({"logit_bias": {str(i): 1 for i in range(1025)}}, "logit_bias"),
    ({"stream": "yes"}, "stream"),
    ({"stream": 1}, "stream"),
    ({"stream_options": {"include_usage": True}}, "stream_options"),
    ({"stream": True, "stream_options": []}, "stream_options"),
    ({"stream": True, "stream_options": {"include_usage": 1}}, "stream_options.include_usage"),
    ({"model": 5}, "model"),
    ({"response_format": "json"}, "response_format"),
    ({"response_format": {"type": "xml"}}, "response_format.type"),
    ({"grammar": 5}, "grammar"),
    ({"grammar": 'root ::= "a"', "response_format": {"type": "json_object"}}, "grammar"),
]
WRONG_CHAT = [
    ({"messages": None}, "messages"),
    ({"messages": []}, "messages"),
    ({"messages": "Hi"}, "messages"),
    ({"messages": ["Hi"]}, "messages[0]"),
    ({"messages": [{"content": "Hi"}]}, "messages[0].role"),
    ({"messages": [{"role": "king", "content": "Hi"}]}, "messages[0].role"),
    ({"messages": [{"role": "user"}]}, "messages[0].content"),
    ({"messages": [{"role": "user", "content": 5}]}, "messages[0].content"),
    ({"messages": [{"role": "user", "content": []}]}, "messages[0].content"),
    ({"messages": [USER, {"role": "assistant", "content": None}]}, "messages[1].content"),
    ({"messages": [{"role": "user", "content": ["Hi"]}]}, "messages[0].content"),
    ({"messages": [{"role": "user", "content": [{"type": "text"}]}]}, "messages[0].content"),
    ({"messages": [{**USER, "name": 5}]}, "messages[0].name"),
    ({"logprobs": 1}, "logprobs"),
    ({"top_logprobs": 2}, "top_logprobs"),
    ({"logprobs": True, "top_logprobs": 21}, "top_logprobs"),
    ({"max_tokens": 5, "max_completion_tokens": 6}, "max_tokens"),
    ({"max_completion_tokens": 0}, "max_completion_tokens"),
    ({"reasoning_effort": "extreme"}, "reasoning_effort"),
    ({"chat_template_kwargs": []}, "chat_template_kwargs"),
    ({"chat_template_kwargs": {"messages": []}}, "chat_template_kwargs"),
    ({"chat_template_kwargs": {"not a name": 1}}, "chat_template_kwargs"),
]
WRONG_TEXT = [
    ({"prompt": None}, "prompt"),
    ({"prompt": []}, "prompt"),
    ({"prompt": 5}, "prompt"),
    ({"prompt": [[]]}, "prompt"),
    ({"prompt": ["a", 1]}, "prompt"),
    ({"prompt": [1, -1]}, "prompt"),
    ({"prompt": [True]}, "prompt"),
    ({"prompt": ["a"] * 17}, "prompt"),
    ({"prompt": ["a"] * 9, "n": 2}, "n"),
    ({"logprobs": True}, "logprobs"),
    ({"logprobs": 21}, "logprobs"),
    ({"echo": "yes"}, "echo"),
]
WRONG_EMBEDDING = [
    ({"input": None}, "input"),
    ({"input": ""}, "input"),
    ({"input": ["a", ""]}, "input"),
    ({"input": []}, "input"),
    ({"input": {"a": 1}}, "input"),
    ({"input": ["a"] * 2049}, "input"),
    ({"encoding_format": "hex"}, "encoding_format"),
]
UNSUPPORTED_CHAT = [
    ({"functions": [{}]}, "functions"),
    ({"function_call": "auto"}, "function_call"),
    ({"audio": {"voice": "x"}}, "audio"),
    ({"modalities": ["text", "audio"]}, "modalities"),
    ({"prediction": {"type": "content"}}, "prediction"),
    ({"web_search_options": {}}, "web_search_options"),
    ({"best_of": 2}, "best_of"),
    ({"suffix": "end"}, "suffix"),
    ({"store": True}, "store"),
    ({"store": 0}, "store"),
    ({"service_tier": "priority"}, "service_tier"),
    ({"verbosity": "low"}, "verbosity"),
    ({"ignore_eos": True}, "ignore_eos"),
    ({"temprature": 1}, "temprature"),
    ({"messages": [{**USER, "function_call": {"name": "f"}}]}, "messages[0].function_call"),
    (
        {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]},
        "messages[0].content",
    ),
]


def cases(rows, **fixed):
    """Parameter sets named after the fields that are wrong."""
    return [
        pytest.param(
            *fixed.values(),
            fields,
            param,
            id=f"{fixed.get('address', '')}-{number}-{json.dumps(fields)[:50]}",
        )
        for number, (fields, param) in enumerate(rows)
    ]


WRONG = [
    *cases(WRONG_SHARED + WRONG_CHAT, address=CHAT, base={"messages": [USER]}),
    *cases(WRONG_SHARED + WRONG_TEXT, address=TEXT, base={"prompt": "Once"}),
    *cases(WRONG_EMBEDDING, address=EMBEDDING, base={"input": "a"}),
]


@pytest.mark.parametrize(("address", "base", "fields", "param"), WRONG)
async def test_a_wrong_field_is_named_and_nothing_is_computed(
    client, core, address, base, fields, param
):
    response = await client.post(address, json={**base, **fields})

    error = response.json()["error"]
    assert (response.status_code, error["code"], error["param"]) == (400, "invalid_request", param)
    assert error["type"] == "invalid_request_error"
    assert response.headers["x-should-retry"] == "false"
    assert core.generations == []


@pytest.mark.parametrize(("fields", "param"), cases(UNSUPPORTED_CHAT))
async def test_what_is_not_offered_is_refused_instead_of_ignored(client, chat, fields, param):
    response = await client.post(CHAT, json=chat(**fields))

    error = response.json()["error"]
    assert (response.status_code, error["code"]) == (400, "unsupported_parameter")
    assert error["param"] == param


@pytest.mark.parametrize(
    "fields",
    [
        {
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "a", "schema": {"type": 5}},
            }
        },
        {"grammar": "root ::= ("},
    ],
    ids=["schema", "grammar"],
)
async def test_a_schema_or_grammar_that_cannot_be_kept_is_invalid_schema(client, chat, fields):
    response = await client.post(CHAT, json=chat(**fields))

    assert (response.status_code, response.json()["error"]["code"]) == (400, "invalid_schema")


async def test_an_unknown_parameter_brings_the_nearest_known_one(client, chat):
    response = await client.post(CHAT, json=chat(temprature=1))

    assert "Did you mean temperature?" in response.json()["error"]["message"]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b'"text"',
        b'{"messages": NaN}',
        b'{"temperature": Infinity}',
        b'{"temperature": 1e999}',
        b'{"model": "a", "model": "b"}',
        b'{"a": {"b": 1, "b": 1}}',
        b'{"prompt": "\\ud800"}',
        b'{"prompt": "\\udc00\\ud800"}',
        b'{"\\ud800": 1}',
        b'{"prompt": "\xff"}',
        b'{"prompt": "\xed\xa0\x80"}',
        b'{"a":' + b"[" * 101 + b"]" * 101 + b"}",
        b"[" * 100_000,
        b'{"a": [' + b"[]," * 200_001 + b"[]]}",
        b'{"seed": ' + b"9" * 5000 + b"}",
    ],
    ids=lambda body: f"{len(body)}-{body[:24]!r}",
)
async def test_a_body_that_is_no_proper_json_object_is_refused(client, body):
    response = await client.post(TEXT, content=body, headers={"content-type": "application/json"})

    assert response.status_code == 400
    assert response.json()["error"]["code"] == "invalid_request"


def test_errors_about_json_do_not_quote_the_body():
    with pytest.raises(HomeAIError) as caught:
        decode_object(b'{"prompt": "my secret diary')

    assert "secret" not in caught.value.message


@pytest.mark.parametrize(
    "value", ["my secret diary", ["my secret diary"], {"a": "my secret diary"}]
)
def test_errors_about_messages_do_not_quote_them(value):
    with pytest.raises(HomeAIError) as caught:
        decode.chat({"messages": value}, CALLER)

    assert "secret" not in caught.value.message


def test_brackets_inside_long_texts_are_no_arrays():
    body = json.dumps({"prompt": '[{"\\' * 120_000}).encode()

    assert len(decode_object(body)["prompt"]) == 480_000


def test_more_arrays_than_anyone_needs_are_refused_before_they_cost_time():
    with pytest.raises(HomeAIError, match="more than 200000"):
        decode_object(b'{"a": [' + b"[]," * 200_000 + b"[]]}")


def test_a_byte_order_mark_is_no_harm():
    assert decode_object(b'\xef\xbb\xbf{"a": 1}') == {"a": 1}


def test_absent_parameters_leave_the_defaults_and_a_fresh_seed():
    request = chat()

    assert request.sampling.temperature == 0.8
    assert (request.sampling.seed, request.n, request.max_tokens) == (42, 1, None)


def test_null_means_absent():
    assert chat(temperature=None, seed=None, tools=None, n=None, stop=None) == chat()


def test_sampling_parameters_arrive_as_given():
    sampling = chat(
        temperature=0, top_p=0.5, top_k=7, min_p=0, typical_p=0.9, repeat_penalty=1.1,
        repeat_last_n=-1, presence_penalty=-2, frequency_penalty=2, logit_bias={"5": -100}, seed=9,
    ).sampling  # fmt: skip

    assert (sampling.temperature, sampling.top_p, sampling.top_k, sampling.min_p) == (0, 0.5, 7, 0)
    assert (sampling.typical_p, sampling.repeat_penalty, sampling.repeat_last_n) == (0.9, 1.1, -1)
    assert (sampling.presence_penalty, sampling.frequency_penalty) == (-2, 2)
    assert (sampling.logit_bias, sampling.seed) == ({5: -100.0}, 9)


def test_top_p_of_zero_is_greedy():
    sampling = chat(top_p=0, temperature=1.5).sampling

    assert (sampling.temperature, sampling.top_p) == (0.0, 1.0)


def test_a_negative_seed_is_taken_modulo_64_bits():
    assert chat(seed=-1).sampling.seed == 2**64 - 1


def test_one_stop_text_is_as_good_as_a_list():
    assert (chat(stop="a").stop, chat(stop=["a", "b"]).stop) == (("a",), ("a", "b"))


def test_the_two_names_of_max_tokens_may_agree():
    assert chat(max_tokens=5, max_completion_tokens=5).max_tokens == 5


def test_text_parts_are_joined_and_developer_becomes_system():
    parts = [{"type": "text", "text": "one"}, {"type": "text", "text": " two"}]
    prompt = chat(messages=[{"role": "developer", "content": parts}, USER]).prompt

    assert prompt == ChatPrompt([{"role": "system", "content": "one two"}, USER])


def test_an_answer_sent_back_loses_what_is_no_part_of_the_conversation():
    back = {
        "role": "assistant",
        "content": "Yes",
        "refusal": None,
        "annotations": [],
        "tool_calls": None,
    }

    assert chat(messages=[USER, back]).prompt.messages[1] == {"role": "assistant", "content": "Yes"}


def test_harmless_parameters_are_taken():
    assert chat(
        user="me", metadata={"a": "b"}, store=False, service_tier="auto", parallel_tool_calls=True,
        tools=[], tool_choice="none", modalities=["text"], verbosity="medium", safety_identifier="x",
        prompt_cache_key="y",
    ) == chat()  # fmt: skip


def test_best_of_may_repeat_n():
    assert text(n=2, best_of=2).requests[0].n == 2


def test_reasoning_effort_reaches_the_template():
    prompt = chat(reasoning_effort="low", chat_template_kwargs={"thinking": False}).prompt

    assert prompt.template_args == {"reasoning_effort": "low", "thinking": False}


@pytest.mark.parametrize(
    ("prompt", "prompts"),
    [
        ("a", [TextPrompt("a")]),
        (["a", "b"], [TextPrompt("a"), TextPrompt("b")]),
        ([1, 2], [TokenPrompt([1, 2])]),
        ([[1], [2, 3]], [TokenPrompt([1]), TokenPrompt([2, 3])]),
    ],
)
def test_every_kind_of_prompt_is_understood(prompt, prompts):
    requests = text(prompt=prompt).requests

    assert [request.prompt for request in requests] == prompts
    assert len({request.id for request in requests}) == len(requests)


async def test_echo_with_logprobs_is_not_offered(client):
    response = await client.post(TEXT, json={"prompt": "a", "echo": True, "logprobs": 1})

    assert response.json()["error"]["code"] == "unsupported_parameter"


async def test_dimensions_are_not_offered(client):
    response = await client.post(EMBEDDING, json={"input": "a", "dimensions": 2})

    assert response.json()["error"]["code"] == "unsupported_parameter"


scalars = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8"), max_size=8)
    | st.sampled_from(["user", "text", "json_object", "auto", "none", "float"])
)  # fmt: skip
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["role", "content", "type", "text", "1", "schema"]), inner, max_size=3
        )
    ),
    max_leaves=6,
)
NAMES = sorted(
    {
        name
        for fields, _ in WRONG_SHARED + WRONG_CHAT + WRONG_TEXT + UNSUPPORTED_CHAT
        for name in fields
    }
    | {"input", "user", "metadata", "encoding_format", "top_logprobs"}
)


def refused_properly(read, *arguments):
    """Whether reading went well or ended in a 400; anything else raises."""
    try:
        read(*arguments)
    except HomeAIError as error:
        return error.http_status == 400
    return True


@given(
    st.dictionaries(
        st.sampled_from(NAMES) | st.text(st.characters(codec="utf-8"), max_size=5), values
    )
)
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_no_body_breaks_the_decoder(body):
    decoded = decode_object(json.dumps(body).encode())
    filled = {"messages": [USER], "prompt": "a", "input": "a", **decoded}
    for read in (decode.chat, decode.completion, decode.embedding):
        assert refused_properly(read, decoded, CALLER)
        assert refused_properly(read, filled, CALLER)


@given(
    st.binary(max_size=60)
    | st.text(max_size=40).map(lambda text: text.encode("utf-8", "surrogatepass"))
)
def test_no_bytes_break_the_reader(body):
    assert refused_properly(decode_object, body)
