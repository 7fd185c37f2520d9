"""One immutable picture of the whole service: `GET /homeai/v1/status`, the desktop, and metrics.

Unknown figures are None, never 0 or -1. Sizes are bytes, times are ISO 8601 UTC.
"""

from __future__ import annotations

import msgspec


class WorkerMemory(msgspec.Struct, frozen=True):
    """What a worker holds, in bytes."""

    weights_bytes: int | None = None
    kv_bytes: int | None = None
    compute_bytes: int | None = None
    rss_bytes: int | None = None


class WorkerSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """One worker process."""

    name: str
    pid: int | None
    state: str
    device: str | None
    in_flight: int
    restarts: int
    since: str
    last_failure: str | None = None
    load_progress: float | None = None
    """0..1 while the model loads."""
    memory: WorkerMemory = WorkerMemory()


class ModelSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """The active model. `path_hash` names the file without showing where it lies."""

    name: str
    path_hash: str
    context_tokens: int
    architecture: str | None = None
    parameters: int | None = None
    size_bytes: int | None = None
    tiny: bool = False


class FallbackSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a failover would work now."""

    armed: bool
    reason: str | None = None
    standby: str = "off"
    prefill_tokens_s: float | None = None
    decode_tokens_s: float | None = None


class QueueSnapshot(msgspec.Struct, frozen=True):
    """Requests running and waiting, and the most that may wait."""

    running: int
    waiting: int
    limit: int


class DeviceSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """Memory of one accelerator, in bytes."""

    name: str
    kind: str
    total_bytes: int | None = None
    used_bytes: int | None = None
    ours_bytes: int | None = None
    others_bytes: int | None = None
    reserve_bytes: int | None = None
    free_bytes: int | None = None
    source: str | None = None


class RamSnapshot(msgspec.Struct, frozen=True):
    """Main memory, in bytes."""

    total_bytes: int | None
    available_bytes: int | None
    ours_bytes: int | None
    reserve_bytes: int | None


class Degraded(msgspec.Struct, frozen=True, kw_only=True):
    """Why and since when the service runs on less than planned."""

    reason: str
    device: str
    since: str
    estimate_ms: dict[str, float] | None = None
    next_probe_at: str | None = None


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """The whole service at one time."""

    version: str
    state: str
    """starting | ready | degraded | stopped."""
    mode: str
    degraded: Degraded | None
    model: ModelSnapshot | None
    workers: list[WorkerSnapshot]
    fallback: FallbackSnapshot
    queue: QueueSnapshot
    devices: list[DeviceSnapshot]
    ram: RamSnapshot
    problem: str | None = None
    """One sentence for the user when the service cannot serve, else None."""
