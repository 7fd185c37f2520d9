"""Whom the router deals with: workers, the limits that their owner set, and who keeps records."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from homeai.domain.errors import HomeAIError
from homeai.domain.request import GenerationRequest
from homeai.domain.stream import Promise
from homeai.protocol.messages import Ready, ToWorker
from homeai.router.dispatch import Fallback


class Worker(Protocol):
    """What the router needs of a worker process."""

    @property
    def name(self) -> str:
        """`cpu` | `gpu`."""
        ...

    @property
    def ready(self) -> Ready | None:
        """What it can do; None while it cannot work."""
        ...

    @property
    def failure(self) -> HomeAIError | None:
        """Why it will not come up soon."""
        ...

    def send(self, message: ToWorker) -> None:
        """Post a message."""
        ...


@dataclass(frozen=True, slots=True)
class Policy:
    """Limits of the router, see the settings; times in seconds.

    Attributes:
        fallback: What happens when the GPU cannot answer.
        resume: Whether an answer that began may go on elsewhere.
        notice_s: How long the desktop's user sees the estimate before its request is retried.
        canaries: Good decodes before a GPU worker gets requests.
        cpu_error: Why the CPU worker could not take over; None = it could.
    """

    queue_total: int = 32
    queue_per_client: int = 8
    queue_wait_s: float = 120.0
    deadline_s: float = 300.0
    fallback: Fallback = Fallback.AUTO
    resume: bool = True
    notice_s: float = 0.0
    canaries: int = 2
    cpu_error: HomeAIError | None = None


class Recorder(Protocol):
    """Who writes down what happens to requests."""

    def received(self, request: GenerationRequest) -> None:
        """A request came in."""
        ...

    def attempt(
        self, request_id: str, number: int, worker: str, device: str, then: Callable[[], None]
    ) -> None:
        """An attempt is about to begin; `then` is called in the event loop once that is written."""
        ...

    def attempt_ended(self, request_id: str, number: int, outcome: str, tokens: int) -> None:
        """An attempt ended."""
        ...

    def ended(self, request_id: str, state: str, code: str | None, promise: Promise | None) -> None:
        """The request ended; `promise` grades what was told before."""
        ...


class NoRecorder:
    """Keeps nothing."""

    def received(self, request: GenerationRequest) -> None:
        """Do nothing."""

    def attempt(
        self, request_id: str, number: int, worker: str, device: str, then: Callable[[], None]
    ) -> None:
        """Go on at once."""
        then()

    def attempt_ended(self, request_id: str, number: int, outcome: str, tokens: int) -> None:
        """Do nothing."""

    def ended(self, request_id: str, state: str, code: str | None, promise: Promise | None) -> None:
        """Do nothing."""
