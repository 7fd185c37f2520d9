"""Which worker a request goes to, and what happens to it when a worker fails. Pure.

Each verdict says why. Nobody else decides whether a request may be tried again.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from homeai.domain.errors import (
    CpuKernelsMissing,
    EffectCommitted,
    GpuOnly,
    HomeAIError,
    LatencyExceedsDeadline,
    PoisonRequest,
    RamInsufficient,
    WorkerFailed,
)
from homeai.planning.latency import Estimate
from homeai.supervisor.diagnosis import Ending

MOST_ATTEMPTS = 2

GPU, CPU = "gpu", "cpu"


class Fallback(StrEnum):
    """What the owner, or a request for itself, wants when the GPU cannot answer."""

    AUTO = "auto"
    ASK = "ask"
    NEVER = "never"


class LaneState(StrEnum):
    """How far a worker can be counted on."""

    SERVING = "serving"
    COMING = "coming"
    """It starts, pauses before a restart, or proves itself with canaries."""
    BROKEN = "broken"
    """It will not come back soon."""


@dataclass(frozen=True, slots=True)
class LaneView:
    """A worker as a decision sees it.

    Attributes:
        state: How far it can be counted on.
        reason: Why it does not serve, in one word; None while it never failed.
        error: Why it cannot be used at all, if that is certain.
    """

    state: LaneState
    reason: str | None = None
    error: HomeAIError | None = None


@dataclass(frozen=True, slots=True)
class To:
    """Wait for this worker; `reason` says why it is not the usual one."""

    lane: str
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Ask:
    """Wait for somebody's choice."""

    reason: str


@dataclass(frozen=True, slots=True)
class Refuse:
    """End with this error."""

    error: HomeAIError


Verdict = To | Ask | Refuse


def route(*, cpu_only: bool, fallback: Fallback, gpu: LaneView | None, cpu: LaneView) -> Verdict:
    """Decide where a new request goes.

    Args:
        cpu_only: The owner switched to the CPU.
        fallback: What is wanted when the GPU cannot answer.
        gpu: None = there is none, or it is switched off.
        cpu: The CPU worker; `error` says why it could not take over.
    """
    if gpu is None:
        return To(CPU)
    if cpu_only:
        return To(CPU, "by_choice") if cpu.error is None else Refuse(cpu.error)
    if gpu.state is LaneState.SERVING or (gpu.state is LaneState.COMING and gpu.reason is None):
        return To(GPU)
    reason = gpu.reason or "unavailable"
    comes_back = gpu.state is LaneState.COMING
    if fallback is Fallback.NEVER:
        return To(GPU) if comes_back else Refuse(_gpu_only(reason))
    if cpu.error is not None:
        return To(GPU) if comes_back else Refuse(cpu.error)
    return To(CPU, reason) if fallback is Fallback.AUTO else Ask(reason)


@dataclass(frozen=True, slots=True)
class Interrupted:
    """A request whose worker ended under it.

    Attributes:
        lane: Which worker that was.
        attempts: Attempts made, this one included.
        delivered: Tokens that reached the client.
        suspect: It was running when a worker died by signal before.
        effects: Effects of tools that must not happen twice.
        left_s: Seconds until its deadline.
        ahead: Requests before it in line for the CPU.
    """

    lane: str
    attempts: int
    delivered: int = 0
    suspect: bool = False
    effects: tuple[str, ...] = ()
    left_s: float = 0.0
    ahead: int = 0


def after_failure(
    job: Interrupted,
    ending: Ending,
    *,
    fallback: Fallback,
    may_resume: bool,
    cpu: LaneView,
    estimate: Estimate | None,
) -> Verdict:
    """Decide what becomes of a request when its worker ends under it.

    Args:
        job: The request.
        ending: How the worker ended.
        fallback: What is wanted when the GPU cannot answer.
        may_resume: Whether an answer that began may go on elsewhere.
        cpu: The CPU worker.
        estimate: How long the CPU would take; None = unknown.
    """
    hopeless = _hopeless(job, ending, may_resume=may_resume)
    if hopeless is not None:
        return Refuse(hopeless)
    if job.lane == GPU and fallback is Fallback.NEVER:
        return Refuse(_gpu_only(ending.reason))
    if cpu.error is not None:
        return Refuse(cpu.error)
    if (late := too_late(estimate, left_s=job.left_s, ahead=job.ahead)) is not None:
        return Refuse(late)
    if job.lane == GPU and fallback is Fallback.ASK:
        return Ask(ending.reason)
    return To(CPU, ending.reason)


def _hopeless(job: Interrupted, ending: Ending, *, may_resume: bool) -> HomeAIError | None:
    """Why no worker may try again, whichever it is."""
    if job.attempts >= MOST_ATTEMPTS:
        if ending.by_signal and job.suspect:
            return _poison()
        return WorkerFailed(f"The second attempt failed as well. {ending.sentence}")
    if ending.reason == "ram_short":
        return RamInsufficient(f"{ending.sentence} There is no memory for another try.")
    if ending.reason == "kernels_missing":
        return CpuKernelsMissing(ending.sentence)
    if job.effects:
        text = "A tool had acted already when the worker failed, so the request is not repeated."
        return EffectCommitted(text, details={"effects": list(job.effects)})
    if job.delivered and not may_resume:
        return WorkerFailed(f"{ending.sentence} The answer had begun (fallback.resume).")
    return None


def too_late(
    estimate: Estimate | None, *, left_s: float, ahead: int
) -> LatencyExceedsDeadline | None:
    """Return the error for an answer that the CPU would not complete in time, or None.

    Args:
        estimate: How long it would take; nothing is refused on a guess.
        left_s: Seconds until the deadline.
        ahead: Requests before it in line.
    """
    if estimate is None or estimate.p50_ms <= left_s * 1000:
        return None
    text = (
        f"The CPU would take about {estimate.p50_ms / 1000:.1f} s for this answer, "
        f"but it is due in {left_s:.1f} s."
    )
    details: dict[str, object] = {
        "estimate_ms": estimate.body(),
        "deadline_ms": round(left_s * 1000),
        "queue_ahead": ahead,
    }
    return LatencyExceedsDeadline(text, details=details)


def _gpu_only(reason: str) -> GpuOnly:
    return GpuOnly(
        "The GPU cannot answer now, and the CPU must not take over.", details={"reason": reason}
    )


def _poison() -> PoisonRequest:
    return PoisonRequest("This request ended two workers; it is not tried again.")
