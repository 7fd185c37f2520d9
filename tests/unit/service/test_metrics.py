"""Events and a snapshot go in; what Prometheus reads comes out."""

from __future__ import annotations

import pytest

from homeai.domain import events as happened
from homeai.domain.errors import BY_CODE
from homeai.domain.snapshot import (
    FallbackSnapshot,
    QueueSnapshot,
    RamSnapshot,
    Snapshot,
    WorkerMemory,
    WorkerSnapshot,
)
from homeai.router.events import EventRing
from homeai.service.metrics import ENDINGS, Metrics
from homeai.supervisor.diagnosis import Evidence, diagnose
from tests.fakes.figures import read

MIB = 2**20
ASKS_FOR_OPENMETRICS = (
    "application/openmetrics-text;version=1.0.0;q=0.6,text/plain;version=0.0.4;q=0.3,*/*;q=0.2"
)


def worker(name, state, rss, restarts=0):
    return WorkerSnapshot(
        name=name,
        pid=1,
        state=state,
        device=None,
        in_flight=0,
        restarts=restarts,
        since="2026-01-01T00:00:00Z",
        last_failure="The worker was ended by SIGABRT.",
        memory=WorkerMemory(rss_bytes=rss),
    )


def snapshot(workers=(), ours=None):
    return Snapshot(
        version="1.2.3",
        state="degraded",
        mode="auto",
        degraded=None,
        model=None,
        workers=list(workers),
        fallback=FallbackSnapshot(armed=True),
        queue=QueueSnapshot(2, 5, 32),
        devices=[],
        ram=RamSnapshot(None, None, ours, None),
    )


def finished(**more):
    facts = {
        "request_id": "r1",
        "reason": "stop",
        "prompt_tokens": 10,
        "completion_tokens": 5,
        "cached_tokens": 0,
        "duration_s": 2.0,
    }
    return happened.RequestFinished(**{**facts, **more})


def attempt(worker="cpu", outcome="finished", tokens=5, prompt_tokens=10):
    return happened.RequestAttemptEnded(
        request_id="r1",
        worker=worker,
        attempt=1,
        outcome=outcome,
        tokens=tokens,
        prompt_tokens=prompt_tokens,
    )


def failing_over(reason, verdict="retry"):
    return happened.RequestFailingOver(
        request_id="r1", worker="gpu", reason=reason, delivered_tokens=3, verdict=verdict
    )


def figures(*events, now=None):
    metrics = Metrics(lambda: now or snapshot())
    ring = EventRing(1, metrics.count)
    for event in events:
        ring.append(event)
    return read(metrics.text("")[1].decode())


def test_requests_are_counted_by_their_end():
    found = figures(
        finished(),
        finished(),
        happened.RequestFailed(request_id="r2", code="queue_full"),
        happened.RequestCancelled(request_id="r3"),
    )

    assert found['homeai_requests_total{code="ok",state="finished"}'] == 2
    assert found['homeai_requests_total{code="queue_full",state="failed"}'] == 1
    assert found['homeai_requests_total{code="cancelled",state="cancelled"}'] == 1


def test_what_is_always_there_begins_at_zero():
    found = figures()

    assert found['homeai_requests_total{code="ok",state="finished"}'] == 0
    assert found['homeai_estimate_within_p90_total{within="true"}'] == 0
    assert found['homeai_estimate_within_p90_total{within="false"}'] == 0
    assert found["homeai_estimate_ratio_count"] == 0


def test_attempts_and_tokens_are_counted_for_each_device():
    found = figures(attempt("gpu", "out_of_memory", 3), attempt("cpu", "finished", 7))

    assert found['homeai_attempts_total{device="gpu",outcome="out_of_memory"}'] == 1
    assert found['homeai_attempts_total{device="cpu",outcome="finished"}'] == 1
    assert found['homeai_generated_tokens_total{device="gpu"}'] == 3
    assert found['homeai_generated_tokens_total{device="cpu"}'] == 7
    assert found['homeai_prompt_tokens_total{device="cpu"}'] == 10
    assert 'homeai_prompt_tokens_total{device="gpu"}' not in found


def test_times_fall_into_buckets_of_seconds():
    found = figures(
        happened.RequestFirstToken(request_id="r1", ttft_s=0.3), finished(duration_s=2.0)
    )

    assert found['homeai_time_to_first_token_seconds_bucket{le="0.25"}'] == 0
    assert found['homeai_time_to_first_token_seconds_bucket{le="0.5"}'] == 1
    assert found['homeai_request_duration_seconds_bucket{le="1.0"}'] == 0
    assert found['homeai_request_duration_seconds_bucket{le="2.5"}'] == 1
    assert found["homeai_request_duration_seconds_sum"] == 2.0


def test_promises_are_graded():
    promised = {"p50": 1000, "p90": 1500}
    found = figures(
        finished(estimate_ms=promised, actual_ms=800),
        finished(estimate_ms=promised, actual_ms=1500),
        finished(estimate_ms=promised, actual_ms=1501),
        finished(),
    )

    assert found['homeai_estimate_within_p90_total{within="true"}'] == 2
    assert found['homeai_estimate_within_p90_total{within="false"}'] == 1
    assert found["homeai_estimate_ratio_count"] == 3
    assert found["homeai_estimate_ratio_sum"] == pytest.approx(0.8 + 1.5 + 1.501)
    assert found['homeai_estimate_ratio_bucket{le="0.9"}'] == 1


def test_a_promise_of_nothing_is_graded_without_dividing_by_it():
    found = figures(finished(estimate_ms={"p50": 0, "p90": 0}, actual_ms=4))

    assert found["homeai_estimate_ratio_sum"] == 4
    assert found['homeai_estimate_within_p90_total{within="false"}'] == 1


def test_failovers_and_ends_of_workers_are_counted_by_reason():
    found = figures(
        failing_over("crashed"),
        failing_over("unavailable", "ask"),
        happened.WorkerEnded(worker="gpu", reason="crashed"),
        happened.WorkerStateChanged(worker="gpu", old="ready", new="backoff"),
    )

    assert found['homeai_failovers_total{reason="crashed",verdict="retry"}'] == 1
    assert found['homeai_failovers_total{reason="unavailable",verdict="ask"}'] == 1
    assert found['homeai_worker_failures_total{reason="crashed",worker="gpu"}'] == 1


def test_the_present_is_drawn_from_the_snapshot():
    workers = [worker("gpu", "backoff", None, restarts=2), worker("cpu", "ready", 30 * MIB)]
    found = figures(now=snapshot(workers, ours=80 * MIB))

    assert found['homeai_info{version="1.2.3"}'] == 1
    assert found['homeai_state{homeai_state="degraded"}'] == 1
    assert found['homeai_state{homeai_state="ready"}'] == 0
    assert found["homeai_fallback_armed"] == 1
    assert found["homeai_requests_running"] == 2
    assert found["homeai_requests_waiting"] == 5
    assert found["homeai_queue_limit"] == 32
    assert found['homeai_worker_state{homeai_worker_state="backoff",worker="gpu"}'] == 1
    assert found['homeai_worker_state{homeai_worker_state="ready",worker="gpu"}'] == 0
    assert found['homeai_worker_state{homeai_worker_state="ready",worker="cpu"}'] == 1
    assert found['homeai_worker_restarts_total{worker="gpu"}'] == 2
    assert found['homeai_resident_memory_bytes{process="core"}'] == 50 * MIB
    assert found['homeai_resident_memory_bytes{process="cpu"}'] == 30 * MIB
    assert 'homeai_resident_memory_bytes{process="gpu"}' not in found


def test_memory_that_is_unknown_is_left_out():
    assert not [name for name in figures() if name.startswith("homeai_resident_memory")]


@pytest.mark.parametrize(
    ("accept", "kind", "openmetrics"),
    [
        ("", "text/plain; version=0.0.4; charset=utf-8", False),
        ("*/*", "text/plain; version=0.0.4; charset=utf-8", False),
        (
            "text/html,text/plain;version=nonsense",
            "text/plain; version=0.0.4; charset=utf-8",
            False,
        ),
        (ASKS_FOR_OPENMETRICS, "application/openmetrics-text; version=1.0.0; charset=utf-8", True),
        (
            "Application/OpenMetrics-Text; version=nonsense",
            "application/openmetrics-text; version=1.0.0; charset=utf-8",
            True,
        ),
    ],
)
def test_the_form_is_the_one_that_was_asked_for(accept, kind, openmetrics):
    metrics = Metrics(lambda: snapshot([worker("cpu", "ready", MIB)], ours=2 * MIB))
    metrics.count(1, finished())

    told, body = metrics.text(accept)

    assert told == kind
    found = read(body.decode(), openmetrics=openmetrics)
    assert found['homeai_requests_total{code="ok",state="finished"}'] == 1
    assert found['homeai_worker_state{homeai_worker_state="ready",worker="cpu"}'] == 1


def test_each_service_counts_for_itself():
    one, other = Metrics(snapshot), Metrics(snapshot)
    one.count(1, finished())

    key = 'homeai_requests_total{code="ok",state="finished"}'
    assert read(one.text("")[1].decode())[key] == 1
    assert read(other.text("")[1].decode())[key] == 0


def test_labels_stay_few_and_name_nobody_whatever_events_say():
    odd = "/home/anna/secret.gguf"
    found = figures(
        happened.RequestReceived(request_id="id-of-anna", client="anna"),
        happened.RequestFailed(request_id="id-of-anna", code=odd),
        attempt(odd, odd),
        failing_over(odd, odd),
        happened.WorkerEnded(worker=odd, reason=odd),
    )

    assert found['homeai_requests_total{code="other",state="failed"}'] == 1
    assert found['homeai_attempts_total{device="other",outcome="other"}'] == 1
    assert found['homeai_failovers_total{reason="other",verdict="other"}'] == 1
    assert found['homeai_worker_failures_total{reason="other",worker="other"}'] == 1
    assert "anna" not in "".join(found)


@pytest.mark.parametrize("code", BY_CODE)
def test_every_error_code_is_a_label_of_its_own(code):
    found = figures(happened.RequestFailed(request_id="r1", code=code))

    assert found[f'homeai_requests_total{{code="{code}",state="failed"}}'] == 1


EVIDENCE = [
    *(Evidence(status=-number) for number in (4, 6, 9, 11)),
    Evidence(status=-9, oom_kills=1),
    Evidence(status=1),
    Evidence(status=None, stalled=True),
    Evidence(status=None, broken_channel=True),
    *(
        Evidence(status=1, reported=(code, "It failed."), during_load=during_load)
        for code in ("ram_insufficient", "worker_failed", "model_invalid")
        for during_load in (True, False)
    ),
]


def test_every_way_a_worker_ends_is_a_label_of_its_own():
    assert {diagnose(evidence).reason for evidence in EVIDENCE} == ENDINGS
