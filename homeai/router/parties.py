"""Whom the router deals with: a worker, and the limits that its owner set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from homeai.domain.errors import HomeAIError
from homeai.protocol.messages import Ready, ToWorker


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
        """Why it will not come up by itself."""
        ...

    def send(self, message: ToWorker) -> None:
        """Post a message."""
        ...


@dataclass(frozen=True, slots=True)
class Policy:
    """Limits of the router, see `limits.*` in the settings; times in seconds."""

    queue_total: int = 32
    queue_per_client: int = 8
    queue_wait_s: float = 120.0
    deadline_s: float = 300.0
