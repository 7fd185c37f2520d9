"""What the tray and the window say of the service, derived from its status. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Look(StrEnum):
    """States that a user tells apart."""

    STOPPED = "stopped"
    LOADING = "loading"
    IDLE = "idle"
    WORKING = "working"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Summary:
    """A status in short.

    Attributes:
        model: Name of the model, or "".
        progress: 0..1 while it loads; None = unknown.
        problem: A sentence when something is wrong, or "".
        tiny: Whether the model is too small for real work.
        degraded: Whether the CPU answers because the GPU failed.
    """

    look: Look
    model: str = ""
    progress: float | None = None
    problem: str = ""
    tiny: bool = False
    degraded: bool = False


def summarise(snapshot: dict[str, Any] | None) -> Summary:
    """Return the short form of `GET /homeai/v1/status`; None = no core answers."""
    if snapshot is None:
        return Summary(Look.STOPPED)
    model = snapshot.get("model") or {}
    name, tiny = str(model.get("name", "")), bool(model.get("tiny"))
    problem = snapshot.get("problem") or ""
    if problem:
        return Summary(Look.ERROR, name, None, problem, tiny)
    if snapshot.get("state") not in ("ready", "degraded"):
        workers = snapshot.get("workers") or [{}]
        return Summary(Look.LOADING, name, workers[0].get("load_progress"), "", tiny)
    running = (snapshot.get("queue") or {}).get("running", 0)
    look = Look.WORKING if running else Look.IDLE
    return Summary(look, name, None, "", tiny, bool(snapshot.get("degraded")))
