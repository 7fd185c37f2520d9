"""Real workers, a simulated GPU that really fails, the real CPU worker that takes over."""

from __future__ import annotations

import pytest

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
    assert sum(a["tokens"] for a in facts["attempts"]) == 24


def test_the_gpu_comes_back_by_itself(house, undisturbed):
    house.wait_gpu()
    house.gpu.fault("abort")
    house.core.stream("/v1/completions", ASK)

    house.wait_gpu()

    again = house.core.stream("/v1/completions", ASK)
    assert again.homeai["device"] == "gpu"
    assert again.text == undisturbed
