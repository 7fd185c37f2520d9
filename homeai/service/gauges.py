"""The present for Prometheus: drawn from the snapshot whenever somebody asks, kept nowhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from prometheus_client import Metric
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    InfoMetricFamily,
    StateSetMetricFamily,
)
from prometheus_client.registry import Collector

from homeai.domain.snapshot import Snapshot
from homeai.domain.states import WorkerState

SERVICE_STATES = ("starting", "ready", "degraded", "stopped")


class Gauges(Collector):
    """A collector of `prometheus_client` over the snapshot; figures that are unknown are left out.

    Args:
        snapshot: Draws the present.
    """

    def __init__(self, snapshot: Callable[[], Snapshot]) -> None:
        self._snapshot = snapshot

    def describe(self) -> list[Metric]:
        """Return nothing: the registry shall not draw a snapshot only to learn names."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Yield what can be seen now."""
        snapshot = self._snapshot()
        yield InfoMetricFamily("homeai", "This program.", {"version": snapshot.version})
        states = StateSetMetricFamily("homeai_state", "State of the service.")
        states.add_metric([], {state: state == snapshot.state for state in SERVICE_STATES})
        yield states
        yield GaugeMetricFamily(
            "homeai_fallback_armed",
            "Whether the CPU worker could take over now.",
            snapshot.fallback.armed,
        )
        yield from _queue(snapshot)
        yield from _workers(snapshot)
        yield _memory(snapshot)


def _queue(snapshot: Snapshot) -> Iterator[Metric]:
    queue = snapshot.queue
    yield GaugeMetricFamily("homeai_requests_running", "Requests being computed.", queue.running)
    yield GaugeMetricFamily("homeai_requests_waiting", "Requests in line.", queue.waiting)
    yield GaugeMetricFamily("homeai_queue_limit", "Requests that may wait.", queue.limit)


def _workers(snapshot: Snapshot) -> Iterator[Metric]:
    states = StateSetMetricFamily(
        "homeai_worker_state", "State of a worker process.", labels=["worker"]
    )
    restarts = CounterMetricFamily(
        "homeai_worker_restarts", "Starts after an end that nobody asked for.", labels=["worker"]
    )
    for worker in snapshot.workers:
        now = {state.value: state.value == worker.state for state in WorkerState}
        states.add_metric([worker.name], now)
        restarts.add_metric([worker.name], worker.restarts)
    yield states
    yield restarts


def _memory(snapshot: Snapshot) -> Metric:
    family = GaugeMetricFamily(
        "homeai_resident_memory_bytes", "Main memory of a process.", labels=["process"]
    )
    workers = {worker.name: worker.memory.rss_bytes for worker in snapshot.workers}
    held = {name: size for name, size in workers.items() if size is not None}
    if snapshot.ram.ours_bytes is not None:
        family.add_metric(["core"], snapshot.ram.ours_bytes - sum(held.values()))
    for name, size in held.items():
        family.add_metric([name], size)
    return family
