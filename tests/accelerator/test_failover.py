"""Real workers, a simulated GPU that really fails, the real CPU worker that takes over."""

from __future__ import annotations

import threading

import pytest

from tests.fakes.figures import read

ASK = {"prompt": "Once upon a time there was", "max_tokens": 24, "temperature": 0}
DEATHS = ["status_alloc", "status_failed", "abort", "segv", "kill", "exit"]
REASONS = {
    "status_alloc": "out_of_memory",
    "status_failed": "compute_failed",
    "abort": "crashed",
    "segv": "crashed",
    "kill": "crashed",
    "exit": "ended",
}


@pytest.fixture(scope="module")
def undisturbed(house) -> str:
    answer = house.core.stream("/v1/completions", ASK)
    assert answer.homeai["device"] == "gpu"
    assert answer.homeai["attempts"][0]["outcome"] == "finished"
    return answer.text


def test_the_gpu_answers_and_the_cpu_stands_ready_to_take_over(house, undisturbed):
    status = house.core.status()

    assert status["workers"][0]["device"] == "SIMGPU0"
    assert status["fallback"]["armed"] is True
    assert status["fallback"]["decode_tokens_s"] > 0
    assert status["degraded"] is None
    assert undisturbed


@pytest.mark.parametrize("kind", DEATHS)
@pytest.mark.parametrize("after", [1, 12])
def test_whatever_kills_the_gpu_the_answer_is_complete_and_the_same(
    house, undisturbed, kind, after
):
    house.wait_gpu()
    house.gpu.fault(kind, after_graphs=after)

    answer = house.core.stream("/v1/completions", ASK, {"X-Request-Id": f"{kind}-{after}"})

    assert answer.text == undisturbed
    assert answer.done
    facts = answer.homeai
    assert facts["request_id"] == f"{kind}-{after}"
    assert [a["device"] for a in facts["attempts"]] == ["gpu", "cpu"]
    assert facts["attempts"][0]["outcome"] == REASONS[kind]
    assert facts["device"] == "cpu"
    assert facts["degraded"] is True
    assert facts["reason"] == REASONS[kind]
    degraded = [n for n in answer.notices if n.get("event") == "degraded"]
    assert len(degraded) == 1
    assert degraded[0]["estimate_ms"]["p50"] > 0
    assert degraded[0]["failed"] == "gpu"
    assert sum(a["tokens"] for a in facts["attempts"]) == 24


def test_the_figures_tell_of_the_failover_and_whether_the_promise_held(house, undisturbed):
    house.wait_gpu()
    before = read(house.core.request("GET", "/metrics")[2])
    house.gpu.fault("status_alloc", after_graphs=8)
    answer = house.core.stream("/v1/completions", ASK)
    after = read(house.core.request("GET", "/metrics")[2])

    def more(name: str) -> float:
        return after.get(name, 0) - before.get(name, 0)

    tokens = {a["device"]: a["tokens"] for a in answer.homeai["attempts"]}
    assert more('homeai_failovers_total{reason="out_of_memory",verdict="retry"}') == 1
    assert more('homeai_worker_failures_total{reason="out_of_memory",worker="gpu"}') == 1
    assert more('homeai_attempts_total{device="gpu",outcome="out_of_memory"}') == 1
    assert more('homeai_attempts_total{device="cpu",outcome="finished"}') == 1
    assert more('homeai_generated_tokens_total{device="gpu"}') == tokens["gpu"] > 0
    assert more('homeai_generated_tokens_total{device="cpu"}') == tokens["cpu"] > 0
    assert more("homeai_estimate_ratio_count") == 1


TOOL = {
    "type": "function",
    "function": {
        "name": "weather",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string", "maxLength": 30},
                "days": {"type": "integer"},
            },
            "required": ["city", "days"],
            "additionalProperties": False,
        },
    },
}


@pytest.mark.parametrize("after", [4, 20, 30])
def test_a_tool_call_comes_once_and_whole_though_the_gpu_died_within_it(house, undisturbed, after):
    house.wait_gpu()
    ask = {"messages": [{"role": "user", "content": "How is the weather in Bonn?"}], "seed": 2}
    ask |= {"tools": [TOOL], "tool_choice": "required", "parallel_tool_calls": False}
    ask["max_tokens"] = 120
    headers = {"X-Request-Id": f"tool-{after}"}

    def calls(answer) -> list:
        deltas = [chunk["choices"][0]["delta"] for chunk in answer.chunks]
        return [call for delta in deltas for call in delta.get("tool_calls", ())]

    calm = house.core.stream("/v1/chat/completions", ask, headers)
    house.gpu.fault("abort", after_graphs=after)
    answer = house.core.stream("/v1/chat/completions", ask, headers)

    assert len(calls(calm)) == 1
    assert calls(answer) == calls(calm)
    assert [a["device"] for a in answer.homeai["attempts"]] == ["gpu", "cpu"]
    assert answer.chunks[-1]["choices"][0]["finish_reason"] == "tool_calls"


def test_the_gpu_comes_back_by_itself(house, undisturbed):
    house.wait_gpu()
    house.gpu.fault("abort")
    house.core.stream("/v1/completions", ASK)

    house.wait_gpu()

    again = house.core.stream("/v1/completions", ASK)
    assert again.homeai["device"] == "gpu"
    assert again.text == undisturbed


@pytest.fixture
def broken(house):
    """The GPU fails at every graph until the test is over."""
    house.wait_gpu()
    house.gpu.fault("abort", always=True)
    yield
    house.gpu.heal()
    house.wait_gpu()


def ask_in_background(house, **more):
    """A streamed request whose answer is read by a thread."""
    found = {}

    def read() -> None:
        found["answer"] = house.core.stream("/v1/completions", {**ASK}, more.pop("headers", {}))

    thread = threading.Thread(target=read)
    thread.start()
    return thread, found


def test_a_client_that_forbids_the_cpu_hears_so_and_is_not_repeated(house, undisturbed):
    house.wait_gpu()
    house.gpu.fault("abort")

    status, headers, body = house.core.request(
        "POST", "/v1/completions", ASK, {"HomeAI-Fallback": "never"}
    )

    assert status == 503
    assert body["error"]["code"] == "gpu_only"
    assert headers["x-should-retry"] == "false"


def test_a_deadline_that_the_cpu_would_miss_ends_it_before_any_cpu_token(house, undisturbed):
    house.wait_gpu()
    house.gpu.fault("abort")
    ask = {**ASK, "max_tokens": 900}

    status, _, body = house.core.request(
        "POST", "/v1/completions", ask, {"HomeAI-Deadline-Ms": "1500", "X-Request-Id": "too-late"}
    )

    assert status == 503
    assert body["error"]["code"] == "latency_exceeds_deadline"
    assert body["error"]["homeai"]["estimate_ms"]["p50"] > 1500
    record = house.core.request("GET", "/homeai/v1/requests/too-late")[2]
    assert len(record["attempts"]) == 1


@pytest.mark.parametrize("choice", ["retry_cpu", "wait_gpu", "cancel"])
def test_in_ask_mode_the_request_waits_for_a_choice(house, undisturbed, choice):
    house.wait_gpu()
    house.gpu.fault("abort", after_graphs=8)
    name = f"asked-{choice}"
    headers = {"HomeAI-Fallback": "ask", "X-Request-Id": name}
    thread, found = ask_in_background(house, headers=headers)

    def record() -> dict:
        return house.core.request("GET", f"/homeai/v1/requests/{name}")[2]

    house.core.wait_status(lambda _: record().get("state") == "failing_over")
    status, _, _ = house.core.request(
        "POST", f"/homeai/v1/requests/{name}/choice", {"choice": choice}
    )
    assert status == 200
    house.gpu.heal()
    thread.join(60)

    answer = found["answer"]
    asked = next(n for n in answer.notices if n.get("event") == "degraded")
    assert asked["choices"] == ["retry_cpu", "wait_gpu", "cancel"]
    if choice == "cancel":
        assert answer.error["code"] == "cancelled"
    else:
        assert answer.text == undisturbed
        last = answer.homeai["attempts"][-1]["device"]
        assert last == ("cpu" if choice == "retry_cpu" else "gpu")


def test_who_waits_for_a_choice_goes_on_when_the_gpu_is_back(house, undisturbed):
    house.wait_gpu()
    house.gpu.fault("status_failed", after_graphs=8)  # a refusal, so the request is no suspect

    answer = house.core.stream("/v1/completions", ASK, {"HomeAI-Fallback": "ask"})

    assert answer.text == undisturbed
    assert [a["device"] for a in answer.homeai["attempts"]] == ["gpu", "gpu"]


def test_while_the_gpu_is_away_new_requests_go_to_the_cpu_and_say_so(house, broken, undisturbed):
    house.core.stream("/v1/completions", ASK)
    house.core.wait_status(lambda s: s["degraded"])

    answer = house.core.stream("/v1/completions", ASK)

    assert answer.text == undisturbed
    assert answer.homeai["device"] == "cpu"
    assert answer.homeai["degraded"] is True
    assert len(answer.homeai["attempts"]) == 1


def test_who_waits_for_a_choice_goes_to_the_cpu_when_its_owner_chooses_that_for_all(
    house, undisturbed
):
    house.wait_gpu()
    house.gpu.fault("abort", after_graphs=8, always=True)
    headers = {"HomeAI-Fallback": "ask", "X-Request-Id": "held"}
    thread, found = ask_in_background(house, headers=headers)

    def held(_status) -> bool:
        record = house.core.request("GET", "/homeai/v1/requests/held")[2]
        return record.get("state") == "failing_over"

    house.core.wait_status(held)
    house.core.request("PUT", "/homeai/v1/route", {"mode": "cpu"})
    thread.join(60)
    house.gpu.heal()
    house.core.request("PUT", "/homeai/v1/route", {"mode": "auto"})

    assert found["answer"].text == undisturbed
    assert [a["device"] for a in found["answer"].homeai["attempts"]] == ["gpu", "cpu"]
    house.wait_gpu()


def test_the_toggle_moves_to_the_cpu_frees_the_gpu_and_back(house, undisturbed):
    house.wait_gpu()
    assert house.core.request("PUT", "/homeai/v1/route", {"mode": "cpu"})[0] == 200
    house.core.wait_status(lambda s: s["workers"][0]["state"] == "stopped")

    answer = house.core.stream("/v1/completions", ASK)
    status = house.core.status()

    assert answer.text == undisturbed
    assert answer.homeai["device"] == "cpu"
    assert answer.homeai["degraded"] is False
    assert answer.homeai["reason"] == "by_choice"
    assert status["degraded"] is None
    assert house.gpu.used_bytes() == {}
    house.core.request("PUT", "/homeai/v1/route", {"mode": "auto"})
    house.wait_gpu()
    house.core.wait_status(lambda s: s["workers"][0]["state"] == "ready")
    assert house.core.stream("/v1/completions", ASK).homeai["device"] == "gpu"


def test_the_estimate_names_each_device(house, undisturbed):
    body = {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 20}

    status, _, found = house.core.request("POST", "/homeai/v1/estimate", body)

    assert status == 200
    assert found["prompt_tokens"] > 3
    assert found["estimate_ms"]["cpu"]["p90"] >= found["estimate_ms"]["cpu"]["p50"] > 0


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PUT", "/homeai/v1/route", {"mode": "fast"}),
        ("PUT", "/homeai/v1/route", {}),
        ("PUT", "/homeai/v1/route", {"mode": 3}),
    ],
)
def test_a_route_that_does_not_exist_is_refused_in_words(house, method, path, body):
    status, _, answer = house.core.request(method, path, body)

    assert status == 400
    assert answer["error"]["code"] == "invalid_request"
