"""States of workers and requests, their transition tables, and the one door between states."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, TypeVar


class WorkerState(StrEnum):
    """Where a worker process is in its life. "Busy" is not a state: it is in_flight > 0."""

    STOPPED = "stopped"
    STARTING = "starting"
    STANDBY = "standby"
    READY = "ready"
    DRAINING = "draining"
    BACKOFF = "backoff"
    FAILED = "failed"


class RequestState(StrEnum):
    """Where a request is in its life."""

    RECEIVED = "received"
    WAITING = "waiting"
    DISPATCHED = "dispatched"
    STREAMING = "streaming"
    FAILING_OVER = "failing_over"
    FINISHED = "finished"
    FAILED = "failed"
    CANCELLED = "cancelled"


_W, _R = WorkerState, RequestState

WORKER_TRANSITIONS: dict[WorkerState, frozenset[WorkerState]] = {
    _W.STOPPED: frozenset({_W.STARTING}),
    _W.STARTING: frozenset({_W.STANDBY, _W.READY, _W.BACKOFF, _W.FAILED, _W.DRAINING, _W.STOPPED}),
    _W.STANDBY: frozenset({_W.READY, _W.BACKOFF, _W.FAILED, _W.DRAINING, _W.STOPPED}),
    _W.READY: frozenset({_W.STANDBY, _W.DRAINING, _W.BACKOFF, _W.FAILED, _W.STOPPED}),
    _W.DRAINING: frozenset({_W.STOPPED}),
    _W.BACKOFF: frozenset({_W.STARTING, _W.STOPPED}),
    _W.FAILED: frozenset({_W.STARTING, _W.STOPPED}),
}

REQUEST_TRANSITIONS: dict[RequestState, frozenset[RequestState]] = {
    _R.RECEIVED: frozenset({_R.WAITING, _R.DISPATCHED, _R.FAILED, _R.CANCELLED}),
    _R.WAITING: frozenset({_R.DISPATCHED, _R.FAILED, _R.CANCELLED}),
    _R.DISPATCHED: frozenset({_R.STREAMING, _R.FAILING_OVER, _R.FINISHED, _R.FAILED, _R.CANCELLED}),
    _R.STREAMING: frozenset({_R.FAILING_OVER, _R.FINISHED, _R.FAILED, _R.CANCELLED}),
    _R.FAILING_OVER: frozenset({_R.DISPATCHED, _R.FAILED, _R.CANCELLED}),
    _R.FINISHED: frozenset(),
    _R.FAILED: frozenset(),
    _R.CANCELLED: frozenset(),
}

TERMINAL = frozenset(state for state, after in REQUEST_TRANSITIONS.items() if not after)

S = TypeVar("S", WorkerState, RequestState)


# Any: members of different enums with equal text are equal, so each enum keeps its own table
_TABLES: Mapping[type[StrEnum], Mapping[Any, frozenset[Any]]] = {
    WorkerState: WORKER_TRANSITIONS,
    RequestState: REQUEST_TRANSITIONS,
}


def advance(old: S, new: S) -> S:
    """Return `new` if the table allows `old` → `new`.

    Raises:
        ValueError: The move is not in the table; always a bug of ours.
    """
    if new not in _TABLES[type(old)][old]:
        msg = f"{type(old).__name__} cannot go from {old} to {new}"
        raise ValueError(msg)
    return new
