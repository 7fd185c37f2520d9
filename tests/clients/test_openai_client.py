"""The official OpenAI client, unmodified, against a running core with the real model."""

import itertools
import json

import httpx
import openai
import pytest

from tests.fakes.running_core import RunningCore

ASK = [
    {"role": "system", "content": "You are a helpful assistant."},
    {"role": "user", "content": "What is the capital of France?"},
]


@pytest.fixture(scope="module")
def core(starter_model, tmp_path_factory):
    home = tmp_path_factory.mktemp("client")
    with RunningCore(home, starter_model, "limits.context_tokens=1024") as running:
        yield running


@pytest.fixture
def requests():
    """HTTP requests that the client really sent."""
    return []


@pytest.fixture
def client(core, requests):
    http = httpx.Client(event_hooks={"request": [requests.append]})
    with openai.OpenAI(
        base_url=f"{core.url}/v1", api_key="unused", http_client=http, timeout=60
    ) as client:
        yield client


@pytest.fixture
def chat(client):
    def ask(**fields):
        return client.chat.completions.create(
            **{
                "model": "",
                "messages": ASK,
                "temperature": 0,
                "max_tokens": 16,
                "seed": 1,
                **fields,
            }
        )

    return ask


def test_a_whole_answer_is_read(chat):
    answer = chat()

    assert "Paris" in answer.choices[0].message.content
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens
    assert answer.homeai["device"] == "cpu"


def test_a_stream_says_the_same_as_the_whole_answer(chat):
    whole = chat()
    chunks = list(chat(stream=True, stream_options={"include_usage": True}))

    text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
    assert text == whole.choices[0].message.content
    assert chunks[0].choices[0].delta.role == "assistant"
    assert [c.choices[0].finish_reason for c in chunks if c.choices][-1] is not None
    assert chunks[-1].usage.completion_tokens == whole.usage.completion_tokens


def test_a_loop_that_looks_at_the_first_choice_never_trips(chat):
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chat(stream=True))

    assert "Paris" in text


def test_several_choices_come_whole_and_streamed(chat):
    whole = chat(n=2, temperature=1.0)
    streamed = {0: "", 1: ""}
    for chunk in chat(n=2, temperature=1.0, stream=True):
        for choice in chunk.choices:
            streamed[choice.index] += choice.delta.content or ""

    assert [choice.index for choice in whole.choices] == [0, 1]
    assert all(streamed.values())


def test_logprobs_are_read(chat):
    entries = chat(logprobs=True, top_logprobs=3, max_tokens=3).choices[0].logprobs.content

    assert len(entries) == 3
    for entry in entries:
        assert len(entry.top_logprobs) == 3
        assert entry.logprob == pytest.approx(entry.top_logprobs[0].logprob)


def test_the_form_of_an_answer_can_be_laid_down(chat):
    schema = {
        "type": "object",
        "properties": {"city": {"type": "string", "maxLength": 20}},
        "required": ["city"],
        "additionalProperties": False,
    }
    form = {
        "type": "json_schema",
        "json_schema": {"name": "place", "schema": schema, "strict": True},
    }

    answer = chat(response_format=form, max_tokens=60)

    assert set(json.loads(answer.choices[0].message.content)) == {"city"}


def test_an_answer_can_be_sent_back_as_the_client_holds_it(chat):
    first = chat().choices[0].message

    again = chat(messages=[*ASK, first, {"role": "user", "content": "And of Italy?"}])

    assert again.choices[0].message.content


def test_text_completions_take_several_prompts(client):
    answer = client.completions.create(
        model="", prompt=["One, two,", "Monday, Tuesday,"], max_tokens=4, temperature=0, echo=True
    )

    assert [choice.index for choice in answer.choices] == [0, 1]
    assert answer.choices[0].text.startswith("One, two,")
    assert answer.choices[1].text.startswith("Monday, Tuesday,")


def test_models_are_listed(client):
    names = [model.id for model in client.models.list()]

    assert client.models.retrieve(names[0]).id == names[0]
    with pytest.raises(openai.NotFoundError) as caught:
        client.models.retrieve("no-such-model")
    assert caught.value.code == "model_not_found"


@pytest.mark.parametrize(
    ("fields", "kind", "code"),
    [
        ({"temperature": 5}, openai.BadRequestError, "invalid_request"),
        ({"messages": []}, openai.BadRequestError, "invalid_request"),
        ({"tools": [{"type": "function", "function": {"name": "f f"}}]}, openai.BadRequestError, "invalid_request"),
        ({"messages": [{"role": "user", "content": "a " * 3000}]}, openai.BadRequestError, "context_length_exceeded"),
        ({"max_tokens": 100_000}, openai.BadRequestError, "context_length_exceeded"),
        ({"model": "gpt-9"}, openai.NotFoundError, "model_not_found"),
    ],
    ids=["value", "empty", "tools", "long", "longer", "model"],
)  # fmt: skip
@pytest.mark.parametrize("stream", [False, True])
def test_a_refusal_is_the_clients_own_error_and_is_not_repeated(
    chat, requests, fields, kind, code, stream
):
    with pytest.raises(kind) as caught:
        chat(**fields, stream=stream)

    assert caught.value.code == code
    assert caught.value.request_id == caught.value.body["homeai"]["request_id"]
    assert len(requests) == 1


def test_the_deadline_of_the_client_is_kept_and_its_end_not_repeated(client, requests):
    asking = client.with_options(timeout=httpx.Timeout(60, read=60))
    with pytest.raises(openai.InternalServerError) as caught:
        asking.chat.completions.create(
            model="",
            messages=[{"role": "user", "content": "Tell a very long story."}],
            max_tokens=900,
            extra_body={"grammar": "root ::= [a-z ]+"},  # which has no reason to end early
            extra_headers={"HomeAI-Deadline-Ms": "300"},
        )

    assert caught.value.code == "latency_exceeds_deadline"
    assert len(requests) == 1


def test_a_stream_that_is_left_stops_the_work(core, client):
    stream = client.chat.completions.create(
        model="", messages=[{"role": "user", "content": "Tell a very long story."}],
        stream=True, max_tokens=900, extra_body={"grammar": "root ::= [a-z ]+"},
    )  # fmt: skip
    list(itertools.islice(stream, 3))
    stream.close()

    core.wait_status(lambda status: status["queue"]["running"] == 0)
    records = core.request("GET", "/homeai/v1/requests")[2]["requests"]
    assert records[0]["state"] == "cancelled"


async def test_the_async_client_streams_too(core):
    async with openai.AsyncOpenAI(base_url=f"{core.url}/v1", api_key="unused") as client:
        stream = await client.chat.completions.create(
            model="", messages=ASK, stream=True, max_tokens=16, temperature=0
        )
        text = "".join([chunk.choices[0].delta.content or "" async for chunk in stream])

    assert "Paris" in text


def test_embeddings_of_a_model_that_makes_text_are_refused(client):
    with pytest.raises(openai.BadRequestError, match="not embeddings"):
        client.embeddings.create(model="", input="a")
