"""Figures of a running core: real process, real model, a worker that is really killed."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from tests.fakes.figures import read
from tests.fakes.running_core import RunningCore


@pytest.fixture(scope="module")
def core(starter_model, tmp_path_factory):
    home = tmp_path_factory.mktemp("metrics")
    with RunningCore(home, starter_model, "limits.context_tokens=1024") as running:
        yield running


def figures(core, accept: str = "*/*") -> dict[str, float]:
    status, headers, text = core.request("GET", "/metrics", headers={"Accept": accept})
    assert status == 200
    return read(text, openmetrics=headers["content-type"].startswith("application/openmetrics"))


def test_an_answer_is_counted_with_its_tokens_and_times(core):
    before = figures(core)
    _, _, body = core.chat("Say hello to Rumpelstiltskin.", max_tokens=8)
    after = figures(core, "application/openmetrics-text; version=1.0.0")

    def more(name: str) -> float:
        return after[name] - before.get(name, 0)

    usage = body["usage"]
    assert more('homeai_requests_total{code="ok",state="finished"}') == 1
    assert more('homeai_attempts_total{device="cpu",outcome="finished"}') == 1
    assert more('homeai_generated_tokens_total{device="cpu"}') == usage["completion_tokens"]
    assert more('homeai_prompt_tokens_total{device="cpu"}') == usage["prompt_tokens"]
    assert more("homeai_request_duration_seconds_count") == 1
    assert more("homeai_time_to_first_token_seconds_count") == 1
    assert after['homeai_worker_state{homeai_worker_state="ready",worker="cpu"}'] == 1
    assert after['homeai_resident_memory_bytes{process="core"}'] > 0
    assert after['homeai_resident_memory_bytes{process="cpu"}'] > 0
    assert "Rumpelstiltskin" not in "".join(after)


def test_after_a_failover_the_promise_is_graded(core):
    core.chat("Count to a hundred.", max_tokens=40)  # so that the speed is known
    before = figures(core)
    found = {}

    def ask() -> None:
        body = {"prompt": "Once upon a time there was", "max_tokens": 300, "temperature": 0}
        head = {"X-Request-Id": "story"}
        found["answer"] = core.request("POST", "/v1/completions", body, head)

    def has_begun(_status: dict) -> bool:
        record = core.request("GET", "/homeai/v1/requests/story")[2]
        return (record.get("completion_tokens") or 0) > 0

    thread = threading.Thread(target=ask)
    thread.start()
    status = core.wait_status(has_begun)
    os.kill(status["workers"][0]["pid"], signal.SIGKILL)
    thread.join(60)
    after = figures(core)

    def more(name: str) -> float:
        return after.get(name, 0) - before.get(name, 0)

    code, _, body = found["answer"]
    assert code == 200
    assert body["homeai"]["estimate_ms"] is not None
    assert more('homeai_failovers_total{reason="crashed",verdict="retry"}') == 1
    assert more('homeai_worker_failures_total{reason="crashed",worker="cpu"}') == 1
    assert more('homeai_worker_restarts_total{worker="cpu"}') == 1
    assert more('homeai_attempts_total{device="cpu",outcome="crashed"}') == 1
    assert more('homeai_attempts_total{device="cpu",outcome="finished"}') == 1
    assert more("homeai_estimate_ratio_count") == 1
    within = [more(f'homeai_estimate_within_p90_total{{within="{w}"}}') for w in ("true", "false")]
    assert sorted(within) == [0, 1]
