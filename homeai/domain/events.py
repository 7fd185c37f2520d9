"""Every fact worth telling, as typed events. One vocabulary for log, metrics, desktop and journal.

No event holds a prompt, an answer, a key or a path.
"""

from __future__ import annotations

import msgspec


class Event(msgspec.Struct, frozen=True, tag_field="type", tag=lambda name: name, kw_only=True):
    """Base of all events."""


class WorkerStateChanged(Event, frozen=True):
    """A worker went from one state to another."""

    worker: str
    old: str
    new: str
    reason: str | None = None
    pid: int | None = None


class WorkerEnded(Event, frozen=True):
    """A worker process ended, and nobody had asked it to; `reason` is one word."""

    worker: str
    reason: str


class ModelLoadProgressed(Event, frozen=True):
    """Loading went on; `fraction` 0..1."""

    worker: str
    fraction: float


class RequestReceived(Event, frozen=True):
    """A valid request arrived."""

    request_id: str
    client: str
    prompt_tokens: int | None = None


class RequestQueued(Event, frozen=True):
    """A request waits at `position` (0 = next)."""

    request_id: str
    position: int


class RequestDispatched(Event, frozen=True):
    """A worker has the request."""

    request_id: str
    worker: str
    attempt: int


class RequestFailingOver(Event, frozen=True):
    """The worker ended under the request; another attempt was decided on, or somebody is asked."""

    request_id: str
    worker: str
    reason: str
    delivered_tokens: int
    verdict: str
    """`retry` | `ask` | `wait`."""
    estimate_ms: dict[str, int] | None = None


class RequestFirstToken(Event, frozen=True):
    """The first token came out; `ttft_s` counts from arrival."""

    request_id: str
    ttft_s: float


class RequestAttemptEnded(Event, frozen=True):
    """A worker is done with the request, in one way or another.

    Attributes:
        outcome: `finished` | `failed` | `cancelled`, or why the worker ended.
        tokens: Those of this attempt that reached the reader.
        prompt_tokens: Length of the prompt; 0 = it was not known yet.
    """

    request_id: str
    worker: str
    attempt: int
    outcome: str
    tokens: int
    prompt_tokens: int


class RequestFinished(Event, frozen=True):
    """The request ended well.

    Attributes:
        estimate_ms: p50 and p90 as told before a CPU attempt; None = nothing was promised.
        actual_ms: What it took since then.
    """

    request_id: str
    reason: str
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int
    duration_s: float
    estimate_ms: dict[str, int] | None = None
    actual_ms: int | None = None


class RequestFailed(Event, frozen=True):
    """The request ended with an error; `code` as in the contract."""

    request_id: str
    code: str


class RequestCancelled(Event, frozen=True):
    """The client went away or asked to stop."""

    request_id: str


class ToolStepped(Event, frozen=True):
    """A tool of an agent run came one step further.

    `step`: asked | intended | acted | committed | reused.
    """

    request_id: str
    call_id: str
    tool: str
    step: str


class ServiceStateChanged(Event, frozen=True):
    """The service as a whole changed: starting, ready, degraded, stopped."""

    state: str


AnyEvent = (
    WorkerStateChanged
    | WorkerEnded
    | ModelLoadProgressed
    | RequestReceived
    | RequestQueued
    | RequestDispatched
    | RequestFailingOver
    | RequestFirstToken
    | RequestAttemptEnded
    | RequestFinished
    | RequestFailed
    | RequestCancelled
    | ToolStepped
    | ServiceStateChanged
)
