"""Where requests go, and what becomes of them when a worker fails: each verdict says why."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeai.domain.errors import RamInsufficient, WorkerFailed
from homeai.planning.latency import Estimate
from homeai.router.dispatch import (
    Ask,
    Fallback,
    Interrupted,
    LaneState,
    LaneView,
    Refuse,
    To,
    after_failure,
    route,
)
from homeai.supervisor.diagnosis import Ending

SERVING, FIRST_START = LaneView(LaneState.SERVING), LaneView(LaneState.COMING)
AWAY = LaneView(LaneState.COMING, "crashed")
BROKEN = LaneView(LaneState.BROKEN, "crashed", WorkerFailed("It gave up."))
CPU_OK = LaneView(LaneState.COMING)
CPU_NOT = LaneView(LaneState.COMING, None, RamInsufficient("Too little memory."))
CRASH = Ending("worker_failed", "It crashed.", reason="crashed", by_signal=True)
OOM = Ending("ram_insufficient", "The device is full.", reason="out_of_memory")
JOB = Interrupted(lane="gpu", attempts=1, left_s=100)


def code(verdict) -> str:
    return verdict.error.code if isinstance(verdict, Refuse) else ""


@pytest.mark.parametrize(
    ("fallback", "gpu", "cpu", "expected"),
    [
        (Fallback.AUTO, None, CPU_OK, To("cpu")),
        (Fallback.AUTO, SERVING, CPU_OK, To("gpu")),
        (Fallback.AUTO, FIRST_START, CPU_OK, To("gpu")),
        (Fallback.AUTO, AWAY, CPU_OK, To("cpu", "crashed")),
        (Fallback.AUTO, AWAY, CPU_NOT, To("gpu")),
        (Fallback.ASK, AWAY, CPU_OK, Ask("crashed")),
        (Fallback.NEVER, AWAY, CPU_OK, To("gpu")),
        (Fallback.AUTO, BROKEN, CPU_OK, To("cpu", "crashed")),
    ],
)
def test_a_new_request_goes_where_it_is_served_soonest(fallback, gpu, cpu, expected):
    assert route(cpu_only=False, fallback=fallback, gpu=gpu, cpu=cpu) == expected


def test_without_any_way_the_reason_is_told():
    broken_both = route(cpu_only=False, fallback=Fallback.AUTO, gpu=BROKEN, cpu=CPU_NOT)
    forbidden = route(cpu_only=False, fallback=Fallback.NEVER, gpu=BROKEN, cpu=CPU_OK)

    assert code(broken_both) == "ram_insufficient"
    assert code(forbidden) == "gpu_only"


def test_the_owners_switch_to_the_cpu_is_no_degradation():
    verdict = route(cpu_only=True, fallback=Fallback.AUTO, gpu=SERVING, cpu=CPU_OK)

    assert verdict == To("cpu", "by_choice")


def decide(job=JOB, ending=CRASH, fallback=Fallback.AUTO, cpu=CPU_OK, estimate=None, resume=True):
    return after_failure(
        job, ending, fallback=fallback, may_resume=resume, cpu=cpu, estimate=estimate
    )


@pytest.mark.parametrize(
    ("given_", "expected"),
    [
        ({}, To("cpu", "crashed")),
        ({"ending": OOM}, To("cpu", "out_of_memory")),
        ({"fallback": Fallback.ASK}, Ask("crashed")),
        (
            {"job": dataclasses.replace(JOB, lane="cpu"), "fallback": Fallback.ASK},
            To("cpu", "crashed"),
        ),
        ({"job": dataclasses.replace(JOB, delivered=5)}, To("cpu", "crashed")),
    ],
)
def test_a_first_failure_leads_to_the_cpu(given_, expected):
    assert decide(**given_) == expected


@pytest.mark.parametrize(
    ("given_", "expected"),
    [
        ({"job": dataclasses.replace(JOB, attempts=2)}, "worker_failed"),
        ({"job": dataclasses.replace(JOB, attempts=2, suspect=True)}, "poison_request"),
        (
            {"job": dataclasses.replace(JOB, attempts=2, suspect=True), "ending": OOM},
            "worker_failed",
        ),
        ({"ending": Ending("ram_insufficient", "x", reason="ram_short")}, "ram_insufficient"),
        ({"ending": Ending("x", "x", reason="kernels_missing")}, "cpu_kernels_missing"),
        ({"job": dataclasses.replace(JOB, effects=("mail sent",))}, "effect_committed"),
        ({"job": dataclasses.replace(JOB, delivered=5), "resume": False}, "worker_failed"),
        ({"fallback": Fallback.NEVER}, "gpu_only"),
        ({"cpu": CPU_NOT}, "ram_insufficient"),
        ({"estimate": Estimate(200_000, 250_000)}, "latency_exceeds_deadline"),
    ],
)
def test_what_cannot_be_kept_is_refused_in_its_own_words(given_, expected):
    assert code(decide(**given_)) == expected


def test_a_refusal_for_lateness_names_estimate_deadline_and_queue():
    verdict = decide(dataclasses.replace(JOB, ahead=3), estimate=Estimate(200_000, 250_000))

    assert verdict.error.details == {
        "estimate_ms": {"p50": 200_000, "p90": 250_000},
        "deadline_ms": 100_000,
        "queue_ahead": 3,
    }


def test_effects_are_listed():
    verdict = decide(dataclasses.replace(JOB, effects=("mail sent",)))

    assert verdict.error.details == {"effects": ["mail sent"]}


@given(
    st.builds(
        Interrupted,
        lane=st.sampled_from(["gpu", "cpu"]),
        attempts=st.integers(1, 5),
        delivered=st.integers(0, 9),
        suspect=st.booleans(),
        effects=st.sampled_from([(), ("e",)]),
        left_s=st.floats(-10, 1000),
        ahead=st.integers(0, 9),
    ),
    st.sampled_from(
        ["out_of_memory", "compute_failed", "crashed", "hung", "ram_short", "kernels_missing"]
    ),
    st.booleans(),
    st.sampled_from(list(Fallback)),
    st.booleans(),
    st.sampled_from([CPU_OK, CPU_NOT]),
    st.none() | st.builds(Estimate, st.floats(0, 1e6), st.floats(0, 1e6)),
)
def test_never_a_third_attempt_never_past_an_effect_never_late(
    job, reason, signal, fallback, resume, cpu, estimate
):
    ending = Ending("worker_failed", "x", reason=reason, by_signal=signal)
    verdict = decide(job, ending, fallback, cpu, estimate, resume)

    if not isinstance(verdict, Refuse):
        assert job.attempts < 2
        assert not job.effects
        assert cpu.error is None
        assert resume or not job.delivered
        assert estimate is None or estimate.p50_ms <= 1000 * job.left_s
        assert not (job.lane == "gpu" and fallback is Fallback.NEVER)
