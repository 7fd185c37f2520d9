"""Figures for Prometheus: what happened is counted from the typed events, the present is drawn when asked.

Labels are words of closed sets: devices, outcomes, reasons and error codes. Never a prompt, a key, a
path, or the name of a client.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from typing import Any

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Histogram,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.openmetrics import exposition as openmetrics

from homeai.domain import events as happened
from homeai.domain.errors import BY_CODE
from homeai.domain.events import Event
from homeai.domain.snapshot import Snapshot
from homeai.domain.states import TERMINAL
from homeai.router.dispatch import CPU, GPU
from homeai.service.gauges import Gauges

OPENMETRICS = "application/openmetrics-text"
ENDINGS = frozenset(
    {"out_of_memory", "compute_failed", "load_failed", "crashed", "hung", "ram_short"}
    | {"kernels_missing", "ended"}
)
"""Why a worker process ends, see `supervisor.diagnosis.Ending`."""
_REASONS = ENDINGS | {"unavailable", "woke_up", "canary_refused"} | BY_CODE.keys()
_OUTCOMES = ENDINGS | {state.value for state in TERMINAL}
_VERDICTS = frozenset({"retry", "ask", "wait"})
_DEVICES = frozenset({CPU, GPU})
_OTHER = "other"

_FIRST_TOKEN_S = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)
_DURATION_S = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)
_RATIO = (0.25, 0.5, 0.75, 0.9, 1, 1.1, 1.25, 1.5, 2, 3, 5)


class Metrics:
    """All figures of one service, in a registry of its own; implements `server.ports.Figures`.

    Args:
        snapshot: Draws the present.
    """

    def __init__(self, snapshot: Callable[[], Snapshot]) -> None:
        # those would double the number of lines, and nobody here needs the times
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self._registry = CollectorRegistry()
        self._registry.register(Gauges(snapshot))
        self._requests = self._counter(
            "requests", "Requests that ended; code is ok or an error code.", "state", "code"
        )
        self._attempts = self._counter(
            "attempts", "Attempts that ended, by how.", "device", "outcome"
        )
        self._generated = self._counter(
            "generated_tokens", "Tokens that reached readers.", "device"
        )
        self._prompt = self._counter(
            "prompt_tokens", "Prompt tokens of attempts that finished.", "device"
        )
        self._failovers = self._counter(
            "failovers",
            "Requests whose worker could not answer; they were retried, or somebody was asked.",
            "reason",
            "verdict",
        )
        self._failures = self._counter(
            "worker_failures", "Worker processes that ended unasked.", "worker", "reason"
        )
        self._within = self._counter(
            "estimate_within_p90", "Answers that came within their promised p90, or not.", "within"
        )
        self._duration = self._histogram(
            "request_duration_seconds",
            "From arrival to the end, of finished requests.",
            _DURATION_S,
        )
        self._first_token = self._histogram(
            "time_to_first_token_seconds", "From arrival to the first token.", _FIRST_TOKEN_S
        )
        self._ratio = self._histogram(
            "estimate_ratio", "What an answer took, divided by its promised p50.", _RATIO
        )
        self._begin_at_zero()
        self._by_type: dict[type[Event], Callable[[Any], None]] = {
            happened.RequestFirstToken: self._first_token_came,
            happened.RequestAttemptEnded: self._attempt_ended,
            happened.RequestFinished: self._finished,
            happened.RequestFailed: self._failed,
            happened.RequestCancelled: self._cancelled,
            happened.RequestFailingOver: self._failing_over,
            happened.WorkerEnded: self._worker_ended,
        }

    def count(self, _number: int, event: Event) -> None:
        """Take an event in; those that count nothing are ignored. A sink of `EventRing`."""
        by_type = self._by_type.get(type(event))
        if by_type is not None:
            by_type(event)

    def text(self, accept: str) -> tuple[str, bytes]:
        """Return content type and body.

        Args:
            accept: The client's Accept header: OpenMetrics 1.0 if it names that, else Prometheus 0.0.4.
        """
        kinds = [part.partition(";")[0].strip().lower() for part in accept.split(",")]
        if OPENMETRICS in kinds:
            body = openmetrics.generate_latest(self._registry)  # type: ignore[no-untyped-call]
            return openmetrics.CONTENT_TYPE_LATEST, body
        return CONTENT_TYPE_PLAIN_0_0_4, generate_latest(self._registry)

    # ---- what counts what -------------------------------------------------------------------------

    def _first_token_came(self, event: happened.RequestFirstToken) -> None:
        self._first_token.observe(event.ttft_s)

    def _attempt_ended(self, event: happened.RequestAttemptEnded) -> None:
        device = _one_of(_DEVICES, event.worker)
        self._attempts.labels(device, _one_of(_OUTCOMES, event.outcome)).inc()
        self._generated.labels(device).inc(event.tokens)
        if event.outcome == "finished":  # how far another one came with its prompt, nobody knows
            self._prompt.labels(device).inc(event.prompt_tokens)

    def _finished(self, event: happened.RequestFinished) -> None:
        self._requests.labels("finished", "ok").inc()
        self._duration.observe(event.duration_s)
        if event.estimate_ms is not None and event.actual_ms is not None:
            self._grade(event.estimate_ms, event.actual_ms)

    def _grade(self, estimate_ms: dict[str, int], actual_ms: int) -> None:
        """Hold what was promised against what came of it."""
        self._within.labels("true" if actual_ms <= estimate_ms["p90"] else "false").inc()
        self._ratio.observe(actual_ms / max(estimate_ms["p50"], 1))

    def _failed(self, event: happened.RequestFailed) -> None:
        self._requests.labels("failed", _one_of(BY_CODE.keys(), event.code)).inc()

    def _cancelled(self, _event: happened.RequestCancelled) -> None:
        self._requests.labels("cancelled", "cancelled").inc()

    def _failing_over(self, event: happened.RequestFailingOver) -> None:
        reason, verdict = _one_of(_REASONS, event.reason), _one_of(_VERDICTS, event.verdict)
        self._failovers.labels(reason, verdict).inc()

    def _worker_ended(self, event: happened.WorkerEnded) -> None:
        worker, reason = _one_of(_DEVICES, event.worker), _one_of(ENDINGS, event.reason)
        self._failures.labels(worker, reason).inc()

    # ---- making -----------------------------------------------------------------------------------

    def _begin_at_zero(self) -> None:
        """Show what is always there before it first happens, so that a rate can be computed of it."""
        self._requests.labels("finished", "ok")
        self._requests.labels("cancelled", "cancelled")
        for within in ("true", "false"):
            self._within.labels(within)

    def _counter(self, name: str, what: str, *labels: str) -> Counter:
        return Counter(name, what, labels, namespace="homeai", registry=self._registry)

    def _histogram(self, name: str, what: str, buckets: tuple[float, ...]) -> Histogram:
        return Histogram(name, what, namespace="homeai", registry=self._registry, buckets=buckets)


def _one_of(words: Set[str], word: str) -> str:
    """Keep the number of label values bounded, whatever an event says."""
    return word if word in words else _OTHER
