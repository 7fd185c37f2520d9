"""What answers look like on the wire, whole and streamed."""

import base64
import json
from array import array

import pytest

from homeai.domain.errors import (
    BY_CODE,
    BadRequest,
    ContextLengthExceeded,
    ModelNotFound,
    QueueFull,
    WorkerFailed,
)
from homeai.domain.stream import (
    Delta,
    Failed,
    FinishReason,
    Queued,
    Started,
    TokenLogprob,
)
from homeai.server import streaming
from tests.fakes.scripted_core import MODEL, answer, finished

CHAT, TEXT, EMBEDDING = "/v1/chat/completions", "/v1/completions", "/v1/embeddings"


def events_of(response):
    """Data of all SSE events, the end mark as text."""
    lines = [line[6:] for line in response.text.split("\n") if line.startswith("data: ")]
    return [line if line == "[DONE]" else json.loads(line) for line in lines]


async def test_a_whole_chat_answer_has_openais_shape(client, chat):
    response = await client.post(CHAT, json=chat(model=MODEL))

    body = response.json()
    assert response.status_code == 200
    assert (body["object"], body["model"]) == ("chat.completion", MODEL)
    assert body["choices"] == [
        {
            "index": 0,
            "finish_reason": "stop",
            "logprobs": None,
            "message": {"role": "assistant", "content": "Hello there", "refusal": None},
        }
    ]
    assert body["usage"] == {
        "prompt_tokens": 3,
        "completion_tokens": 2,
        "total_tokens": 5,
        "prompt_tokens_details": {"cached_tokens": 0},
    }
    assert body["homeai"]["device"] == response.headers["homeai-device"] == "cpu"
    assert response.headers["homeai-attempts"] == "1"


async def test_the_answer_names_the_active_model_if_none_was_asked_for(client, chat):
    assert (await client.post(CHAT, json=chat())).json()["model"] == MODEL


async def test_an_answer_that_ran_out_of_tokens_says_length(client, core, chat):
    core.script = lambda request: answer("a", reason=FinishReason.LENGTH)

    assert (await client.post(CHAT, json=chat())).json()["choices"][0]["finish_reason"] == "length"


async def test_several_choices_are_kept_apart(client, core, chat):
    core.script = lambda request: [
        Started(0, "cpu", "cpu", 1, 3),
        Started(1, "cpu", "cpu", 1, 3),
        Delta(1, "B", 1),
        Delta(0, "A", 1),
        finished(1),
        finished(0),
    ]
    whole = (await client.post(CHAT, json=chat(n=2))).json()
    stream = events_of(await client.post(CHAT, json=chat(n=2, stream=True)))

    assert [c["message"]["content"] for c in whole["choices"]] == ["A", "B"]
    assert whole["usage"]["prompt_tokens"] == 3
    texts = {0: "", 1: ""}
    for chunk in stream[:-1]:
        choice = chunk["choices"][0]
        texts[choice["index"]] += choice["delta"].get("content", "")
    assert texts == {0: "A", 1: "B"}
    assert sum("homeai" in chunk for chunk in stream[:-1]) == 1


async def test_a_stream_begins_with_the_role_and_ends_with_the_reason_and_done(client, chat):
    response = await client.post(CHAT, json=chat(stream=True))

    chunks = events_of(response)
    assert response.headers["content-type"].startswith("text/event-stream")
    assert response.headers["homeai-device"] == "cpu"
    assert chunks[-1] == "[DONE]"
    assert chunks[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    deltas = [chunk["choices"][0]["delta"].get("content") for chunk in chunks[1:-2]]
    assert deltas == ["Hello", " there"]
    assert chunks[-2]["choices"][0]["finish_reason"] == "stop"
    assert chunks[-2]["homeai"]["request_id"] == response.headers["x-request-id"]
    assert all(chunk["choices"] for chunk in chunks[:-1])
    assert len({chunk["id"] for chunk in chunks[:-1]}) == 1


async def test_a_stream_tells_token_counts_only_if_asked(client, chat):
    body = chat(stream=True, stream_options={"include_usage": True})

    last, done = events_of(await client.post(CHAT, json=body))[-2:]

    assert (last["choices"], last["usage"]["total_tokens"], done) == ([], 5, "[DONE]")
    assert last["homeai"]["device"] == "cpu"


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (BadRequest("No template."), 400),
        (ContextLengthExceeded("The prompt has 900 tokens; 512 fit.", param="messages"), 400),
        (ModelNotFound("There is no such model."), 404),
        (QueueFull("All places are taken.", retry_after_s=3.2), 503),
        (WorkerFailed("The worker died."), 502),
        *((cls("Said."), cls.http_status) for code, cls in sorted(BY_CODE.items())
          if cls.http_status in (500, 503) and code not in ("internal_error", "queue_full")),
    ],
    ids=lambda value: getattr(value, "code", value),
)  # fmt: skip
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("before", [[], [Queued(0)], [Queued(1), Started(0, "cpu", "cpu", 1, 3)]])
async def test_an_early_error_is_a_status_even_for_streams(
    client, core, chat, error, status, stream, before
):
    core.script = lambda request: [*before, Failed(error)]

    response = await client.post(CHAT, json=chat(stream=stream))

    told = response.json()["error"]
    assert (response.status_code, told["code"], told["message"]) == (
        status, error.code, error.message,
    )  # fmt: skip
    assert told["param"] == error.param
    if error.retryable:
        assert int(response.headers["retry-after"]) >= 1
        assert response.headers.get("x-should-retry") != "false"
    else:
        assert response.headers["x-should-retry"] == "false"


async def test_retry_after_is_the_computed_time_rounded_up(client, core, chat):
    core.script = lambda request: [Failed(QueueFull("Full.", retry_after_s=3.2))]

    assert (await client.post(CHAT, json=chat())).headers["retry-after"] == "4"


@pytest.mark.parametrize("address", [CHAT, TEXT])
async def test_a_late_error_is_told_in_the_stream_which_then_ends_without_done(
    client, core, address
):
    core.script = lambda request: [Started(0, "cpu", "cpu", 1, 3), Delta(0, "a", 1)]
    body = {"stream": True, "messages": [{"role": "user", "content": "Hi"}]}
    if address == TEXT:
        body = {"stream": True, "prompt": "a"}
    real = core.submit

    def submit(request):
        generation = real(request)
        first = generation.next_events

        async def then_fail(timeout_s=None):
            events = await first(timeout_s)
            if generation.read == 2:
                generation.push(Failed(WorkerFailed("The worker died.")))
            return events

        generation.next_events = then_fail
        return generation

    core.submit = submit
    response = await client.post(address, json=body)

    chunks = events_of(response)
    assert response.status_code == 200
    assert chunks[-1]["error"]["code"] == "worker_failed"
    assert "[DONE]" not in response.text


async def test_a_long_wait_is_told_in_comments_that_clients_ignore(client, core, chat, monkeypatch):
    monkeypatch.setattr(streaming, "COMMIT_AFTER_S", 0.0)
    monkeypatch.setattr(streaming, "KEEP_ALIVE_S", 0.0)
    core.script = lambda request: []
    real = core.submit
    steps = [[Queued(2, 4.0)], [], [Queued(0)], answer("Hi")]

    def submit(request):
        generation = real(request)
        first = generation.next_events

        async def step(timeout_s=None):
            if steps:
                generation.push(*steps.pop(0))
            return await first(timeout_s)

        generation.next_events = step
        return generation

    core.submit = submit
    response = await client.post(CHAT, json=chat(stream=True))

    comments = [line for line in response.text.split("\n") if line.startswith(":")]
    told = [json.loads(line.removeprefix(": homeai ")) for line in comments]
    assert [one.get("event") for one in told if one] == ["queued", "position"]
    assert {} in told
    assert events_of(response)[-1] == "[DONE]"


async def test_a_short_wait_is_not_told(client, core, chat):
    core.script = lambda request: [Queued(0)]
    real = core.submit

    def submit(request):
        generation = real(request)
        first = generation.next_events

        async def step(timeout_s=None):
            if generation.read == 1:
                generation.push(*answer("Hi"))
            return await first(timeout_s)

        generation.next_events = step
        return generation

    core.submit = submit
    response = await client.post(CHAT, json=chat(stream=True))

    assert response.headers["homeai-device"] == "cpu"
    assert not response.text.startswith(":")


async def test_chat_logprobs_have_bytes_and_alternatives(client, core, chat):
    entry = TokenLogprob(5, b"\xc3", -0.5, [(5, b"\xc3", -0.5), (6, b"b", float("-inf"))])
    core.script = lambda request: [
        Started(0, "cpu", "cpu", 1, 3), Delta(0, "", 1, [entry]), finished(),
    ]  # fmt: skip
    whole = (await client.post(CHAT, json=chat(logprobs=True, top_logprobs=2))).json()
    stream = events_of(await client.post(CHAT, json=chat(logprobs=True, stream=True)))

    (token,) = whole["choices"][0]["logprobs"]["content"]
    assert (token["bytes"], token["logprob"]) == ([0xC3], -0.5)
    assert token["top_logprobs"][1] == {"token": "b", "logprob": -9999.0, "bytes": [98]}
    assert stream[1]["choices"][0]["logprobs"]["content"][0]["bytes"] == [0xC3]


async def test_text_logprobs_count_characters(client, core):
    one, two = (TokenLogprob(5, piece, -1.0, [(5, piece, -1.0)]) for piece in (b"ab", b"c"))
    core.script = lambda request: [
        Started(0, "cpu", "cpu", 1, 3), Delta(0, "ab", 1, [one]), Delta(0, "c", 1, [two]), finished(),
    ]  # fmt: skip
    body = (await client.post(TEXT, json={"prompt": "a", "logprobs": 1})).json()

    assert body["choices"][0]["logprobs"] == {
        "tokens": ["ab", "c"],
        "token_logprobs": [-1.0, -1.0],
        "top_logprobs": [{"ab": -1.0}, {"c": -1.0}],
        "text_offset": [0, 2],
    }


@pytest.mark.parametrize("stream", [False, True])
async def test_several_prompts_are_answered_in_order(client, core, stream):
    core.script = lambda request: [
        event
        for choice in range(request.n)
        for event in answer(f"{request.prompt.text}{choice}", choice=choice)
    ]
    body = {"prompt": ["a", "b"], "n": 2, "echo": True, "stream": stream}
    response = await client.post(TEXT, json=body)

    texts = ["", "", "", ""]
    if stream:
        for chunk in events_of(response)[:-1]:
            texts[chunk["choices"][0]["index"]] += chunk["choices"][0]["text"]
    else:
        for choice in response.json()["choices"]:
            texts[choice["index"]] = choice["text"]
        assert response.json()["usage"]["prompt_tokens"] == 6
    assert texts == ["aa0", "aa1", "bb0", "bb1"]


async def test_the_failure_of_one_prompt_ends_the_others(client, core):
    core.script = lambda request: (
        [Failed(WorkerFailed("Died."))] if request.prompt.text == "a" else []
    )
    response = await client.post(TEXT, json={"prompt": ["a", "b"]})

    assert response.status_code == 502
    assert core.generations[1].cancelled.is_set()


async def test_vectors_come_as_numbers_or_packed(client, core):
    core.vectors = lambda request: ([[1.0, -0.5]] * len(request.inputs), 4)

    plain = (await client.post(EMBEDDING, json={"input": ["a", "b"]})).json()
    packed = (await client.post(EMBEDDING, json={"input": "a", "encoding_format": "base64"})).json()

    assert [(d["index"], d["embedding"]) for d in plain["data"]] == [
        (0, [1.0, -0.5]),
        (1, [1.0, -0.5]),
    ]
    assert plain["usage"] == {"prompt_tokens": 4, "total_tokens": 4}
    assert list(array("f", base64.b64decode(packed["data"][0]["embedding"]))) == [1.0, -0.5]


@pytest.mark.parametrize(
    ("outcome", "status", "code"),
    [
        (BadRequest("The model makes text."), 400, "invalid_request"),
        (TimeoutError(), 503, "latency_exceeds_deadline"),
    ],
)
async def test_an_embedding_that_fails_says_why(client, core, outcome, status, code):
    def fail(request):
        raise outcome

    core.vectors = fail
    response = await client.post(EMBEDDING, json={"input": "a"})

    assert (response.status_code, response.json()["error"]["code"]) == (status, code)


async def test_models_are_listed_and_found_by_name(client):
    listed = (await client.get("/v1/models")).json()
    one = await client.get(f"/v1/models/{MODEL}")
    none = await client.get("/v1/models/some/other%2Fname")

    assert listed["data"] == [one.json()]
    assert one.json() == {
        "id": MODEL,
        "object": "model",
        "created": 1_700_000_000,
        "owned_by": "homeai",
    }
    assert (none.status_code, none.json()["error"]["code"]) == (404, "model_not_found")


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"homeai-deadline-ms": "1500"}, 1.5),
        ({"x-stainless-read-timeout": "600"}, 600.0),
        ({"x-stainless-read-timeout": "nan"}, None),
        ({"homeai-deadline-ms": "1500", "x-stainless-read-timeout": "600"}, 1.5),
    ],
    ids=str,
)
async def test_the_clients_deadline_is_taken_from_its_headers(client, core, chat, headers, seconds):
    await client.post(CHAT, json=chat(), headers=headers)

    assert core.generations[0].request.deadline_s == seconds


@pytest.mark.parametrize("value", ["0", "-5", "soon", "1e3", ""])
async def test_a_deadline_that_is_no_number_is_refused(client, chat, value):
    response = await client.post(CHAT, json=chat(), headers={"homeai-deadline-ms": value})

    assert response.status_code == 400
