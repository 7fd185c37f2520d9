"""One snapshot of the service for status, desktop and metrics."""

from __future__ import annotations

from datetime import UTC, datetime

from homeai.domain.errors import HomeAIError
from homeai.domain.snapshot import (
    FallbackSnapshot,
    ModelSnapshot,
    QueueSnapshot,
    RamSnapshot,
    Snapshot,
    WorkerMemory,
    WorkerSnapshot,
)
from homeai.domain.states import WorkerState
from homeai.hardware.ram import Ram, rss_bytes
from homeai.models.catalogue import ModelEntry
from homeai.supervisor.process import WorkerProcess


def now() -> str:
    """The time as the status shows it: ISO 8601 UTC."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def draw(
    *,
    version: str,
    model: ModelEntry | None,
    context_tokens: int,
    worker: WorkerProcess,
    since: str,
    problem: HomeAIError | None,
    running: int,
    waiting: int,
    queue_limit: int,
    memory: Ram,
    reserve: int,
) -> Snapshot:
    """Return the picture; nothing of it is a path, a prompt or a key."""
    shown = _worker(worker, since, running)
    core_rss = rss_bytes()
    ours = None if core_rss is None else core_rss + (shown.memory.rss_bytes or 0)
    return Snapshot(
        version=version,
        state=_state(worker.state, problem),
        mode="auto",
        degraded=None,
        model=None if model is None else _model(model, worker, context_tokens),
        workers=[shown],
        fallback=FallbackSnapshot(
            armed=False, reason="The CPU is the primary worker; there is no other.", standby="off"
        ),
        queue=QueueSnapshot(running, waiting, queue_limit),
        devices=[],
        ram=RamSnapshot(memory.total_bytes, memory.available_bytes, ours, reserve),
        problem=None if problem is None else problem.message,
    )


def _state(worker: WorkerState, problem: HomeAIError | None) -> str:
    if problem is not None or worker is WorkerState.FAILED:
        return "stopped"
    return "ready" if worker is WorkerState.READY else "starting"


def _model(entry: ModelEntry, worker: WorkerProcess, context_tokens: int) -> ModelSnapshot:
    facts, ready = entry.facts, worker.ready
    return ModelSnapshot(
        name=entry.name,
        path_hash=entry.path_hash,
        context_tokens=ready.context_tokens if ready else context_tokens,
        architecture=facts.architecture if facts else None,
        parameters=facts.parameters if facts else None,
        size_bytes=facts.size_bytes if facts else None,
        tiny=entry.tiny,
    )


def _worker(worker: WorkerProcess, since: str, running: int) -> WorkerSnapshot:
    ready, beat = worker.ready, worker.heartbeat
    return WorkerSnapshot(
        name=worker.name,
        pid=worker.pid,
        state=worker.state,
        device=ready.device_name if ready else None,
        in_flight=running,
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
