"""One snapshot of the service for status, desktop and metrics."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from homeai.domain.errors import HomeAIError
from homeai.domain.snapshot import (
    Degraded,
    FallbackSnapshot,
    ModelSnapshot,
    QueueSnapshot,
    RamSnapshot,
    Snapshot,
    WorkerMemory,
    WorkerSnapshot,
)
from homeai.hardware.ram import Ram, rss_bytes
from homeai.models.catalogue import ModelEntry
from homeai.router.lane import Lane
from homeai.supervisor.process import WorkerProcess


def now() -> str:
    """The time as the status shows it: ISO 8601 UTC."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What the picture is drawn from.

    Attributes:
        workers: Each with the time of its last change, and what the router knows of it.
        degraded: Why the GPU does not serve, in one word; None = it does, or there is none.
        cpu_error: Why the CPU could not take over.
        rehearsed: Whether it was tried with success.
    """

    version: str
    mode: str
    model: ModelEntry | None
    context_tokens: int
    workers: list[tuple[WorkerProcess, str, Lane]]
    problem: HomeAIError | None
    degraded: str | None
    degraded_since: str | None
    cpu_error: HomeAIError | None
    rehearsed: bool
    standby: str
    running: int
    waiting: int
    queue_limit: int
    memory: Ram
    reserve: int


def draw(facts: Facts) -> Snapshot:
    """Return the picture; nothing of it is a path, a prompt or a key."""
    shown = [_worker(worker, since, lane) for worker, since, lane in facts.workers]
    core_rss = rss_bytes()
    ours = None
    if core_rss is not None:
        ours = core_rss + sum(worker.memory.rss_bytes or 0 for worker in shown)
    problem = facts.problem or _failure(facts)
    return Snapshot(
        version=facts.version,
        state=_state(facts, problem),
        mode=facts.mode,
        degraded=_degraded(facts),
        model=None if facts.model is None else _model(facts.model, facts),
        workers=shown,
        fallback=_fallback(facts),
        queue=QueueSnapshot(facts.running, facts.waiting, facts.queue_limit),
        devices=[],
        ram=RamSnapshot(
            facts.memory.total_bytes, facts.memory.available_bytes, ours, facts.reserve
        ),
        problem=None if problem is None else problem.message,
    )


def _failure(facts: Facts) -> HomeAIError | None:
    """Why nobody can serve: every worker that could gave up."""
    failures = [worker.failure for worker, _, _ in facts.workers]
    if all(failure is not None for failure in failures):
        return failures[0]
    gpu_failed = len(failures) > 1 and failures[0] is not None
    return facts.cpu_error if gpu_failed else None


def _state(facts: Facts, problem: HomeAIError | None) -> str:
    if problem is not None:
        return "stopped"
    serving = [lane for worker, _, lane in facts.workers if worker.ready and lane.serving]
    if not serving:
        # somebody comes up on demand while the GPU is away
        return "degraded" if facts.degraded and facts.cpu_error is None else "starting"
    return "degraded" if facts.degraded else "ready"


def _degraded(facts: Facts) -> Degraded | None:
    if facts.degraded is None:
        return None
    gpu = facts.workers[0][0]
    return Degraded(
        reason=facts.degraded,
        device="cpu",
        since=facts.degraded_since or now(),
        next_probe_at=None if gpu.probe_at is None else _in(gpu.probe_at),
    )


def _in(loop_time: float) -> str:
    left_s = loop_time - asyncio.get_running_loop().time()
    at = datetime.now(UTC) + timedelta(seconds=max(left_s, 0))
    return at.isoformat(timespec="seconds")


def _fallback(facts: Facts) -> FallbackSnapshot:
    if len(facts.workers) == 1:
        return FallbackSnapshot(
            armed=False, reason="The CPU is the primary worker; there is no other.", standby="off"
        )
    worker, _, lane = facts.workers[-1]
    error = facts.cpu_error or worker.failure
    reason = None if error is None else error.message
    if error is None and not facts.rehearsed:
        reason = "The CPU worker has not answered a first question yet."
    return FallbackSnapshot(
        armed=reason is None,
        reason=reason,
        standby=facts.standby,
        prefill_tokens_s=lane.latency.prefill_tokens_s,
        decode_tokens_s=lane.latency.decode_tokens_s,
    )


def _model(entry: ModelEntry, told: Facts) -> ModelSnapshot:
    facts, ready = entry.facts, told.workers[0][0].ready
    return ModelSnapshot(
        name=entry.name,
        path_hash=entry.path_hash,
        context_tokens=ready.context_tokens if ready else told.context_tokens,
        architecture=facts.architecture if facts else None,
        parameters=facts.parameters if facts else None,
        size_bytes=facts.size_bytes if facts else None,
        tiny=entry.tiny,
    )


def _worker(worker: WorkerProcess, since: str, lane: Lane) -> WorkerSnapshot:
    ready, beat = worker.ready, worker.heartbeat
    return WorkerSnapshot(
        name=worker.name,
        pid=worker.pid,
        state=worker.state,
        device=ready.device_name if ready else None,
        in_flight=len(lane.open),
        restarts=worker.restarts,
        since=since,
        last_failure=worker.last_failure,
        load_progress=worker.load_progress,
        memory=WorkerMemory(
            weights_bytes=ready.weights_bytes if ready else None,
            kv_bytes=ready.kv_bytes if ready else None,
            compute_bytes=ready.compute_bytes if ready else None,
            rss_bytes=beat.rss_bytes if beat else rss_bytes(worker.pid) if worker.pid else None,
        ),
    )
