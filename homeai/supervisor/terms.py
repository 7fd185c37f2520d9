"""What the owner of a worker process wants of it, and what it wants to hear."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

from homeai.domain.states import WorkerState
from homeai.protocol.messages import FromWorker
from homeai.supervisor.diagnosis import Ending


class Level(IntEnum):
    """How much of a worker is wanted."""

    OFF = 0
    """No process."""
    STANDBY = 1
    """Process and weights, without the memory of a context."""
    READY = 2
    """Ready to compute."""


@dataclass(frozen=True, slots=True)
class Policy:
    """Limits of a worker's life; see `recovery.*` in the settings."""

    max_restarts: int = 3
    window_s: float = 600.0
    stall_s: float = 60.0


@dataclass(slots=True)
class Listener:
    """What the owner of a worker wants to hear; called in the event loop, must not block."""

    on_messages: Callable[[list[FromWorker]], None] = lambda _messages: None
    on_state: Callable[[WorkerState, WorkerState, str | None], None] = lambda *_: None
    on_progress: Callable[[float], None] = lambda _fraction: None
    on_ending: Callable[[Ending], None] = lambda _ending: None
