"""Why a worker process ended, from what was seen of it. Pure."""

from __future__ import annotations

import signal
from dataclasses import dataclass

_SIGNALS = {
    getattr(signal, name).value: name
    for name in ("SIGABRT", "SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL", "SIGKILL", "SIGTERM")
    if hasattr(signal, name)
}


@dataclass(frozen=True, slots=True)
class Ending:
    """What a worker's end means.

    Attributes:
        code: Code of `domain.errors` for the requests it held.
        sentence: For the user.
        restart: Whether another start can help.
        reason: Why service is degraded, in one word: `out_of_memory` | `compute_failed` | `load_failed` |
            `crashed` | `hung` | `ram_short` | `kernels_missing` | `ended`.
        by_signal: It died by a signal that a request may have caused.
    """

    code: str
    sentence: str
    restart: bool = True
    reason: str = "ended"
    by_signal: bool = False


@dataclass(frozen=True, slots=True)
class Evidence:
    """What was seen.

    Attributes:
        status: Exit status; negative = killed by that signal; None = unknown.
        reported: (code, sentence) the worker sent before it ended.
        during_load: It ended before it was ready.
        stalled: We ended it, because it made no progress.
        broken_channel: We ended it, because it sent no valid messages.
        oom_kills: Processes the kernel ended in our memory group meanwhile.
    """

    status: int | None
    reported: tuple[str, str] | None = None
    during_load: bool = False
    stalled: bool = False
    broken_channel: bool = False
    oom_kills: int = 0


def diagnose(evidence: Evidence) -> Ending:
    """Return what happened. What the worker said itself counts before how it ended."""
    if evidence.reported is not None:
        return _by_report(*evidence.reported, during_load=evidence.during_load)
    if evidence.stalled:
        return Ending("worker_failed", "The worker hung and was ended.", reason="hung")
    if evidence.broken_channel:
        return Ending("worker_failed", "The worker sent what is no message and was ended.")
    if evidence.status is not None and evidence.status < 0:
        return _by_signal(-evidence.status, evidence)
    when = "while it loaded the model" if evidence.during_load else "while it worked"
    return Ending("worker_failed", f"The worker ended with status {evidence.status} {when}.")


def _by_report(code: str, sentence: str, *, during_load: bool) -> Ending:
    if code == "ram_insufficient":
        return Ending(code, sentence, reason="out_of_memory")
    # a bad file stays bad, and so does a machine without the device; memory may come back
    final = code in ("model_invalid", "no_device")
    reason = "load_failed" if during_load else "compute_failed"
    return Ending(code, sentence, restart=not final, reason=reason)


def _by_signal(number: int, evidence: Evidence) -> Ending:
    name = _SIGNALS.get(number, f"signal {number}")
    if name == "SIGILL":
        return Ending(
            "cpu_kernels_missing",
            "The engine was built for another processor; build it on this machine.",
            restart=False,
            reason="kernels_missing",
        )
    if name == "SIGKILL" and evidence.oom_kills:
        text = "The system ended the worker because memory ran out."
        return Ending("ram_insufficient", text, reason="ram_short")
    return Ending(
        "worker_failed", f"The worker was ended by {name}.", reason="crashed", by_signal=True
    )
