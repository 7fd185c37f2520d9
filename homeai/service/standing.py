"""What the service can promise at the moment: limits in force, whether the CPU could take over, the picture."""

from __future__ import annotations

from typing import Any

from homeai import __version__
from homeai.domain.errors import GpuOnly, HomeAIError, from_code
from homeai.domain.snapshot import Snapshot
from homeai.hardware import ram
from homeai.router.dispatch import GPU, Fallback
from homeai.router.parties import Policy
from homeai.router.router import Router
from homeai.service import picture
from homeai.service.active_model import ActiveModel
from homeai.service.rehearsal import Rehearsal
from homeai.service.workers import Workers
from homeai.settings.schema import Settings

_FOR_EVER = ("cpu_kernels_missing", "model_invalid")
"""Failures of the rehearsal that no later try can mend; after others the CPU is tried when it is needed."""
_FALLBACKS = {"auto": Fallback.AUTO, "ask": Fallback.ASK, "gpu_only": Fallback.NEVER}


class Standing:
    """Derived from everything else, at the time of asking.

    Args:
        settings: Values in force.
        workers: Their processes.
        model: The active one.
        router: Who runs and waits.
        rehearsal: Whether the CPU worker was tried.

    Attributes:
        mode: `auto` | `ask` | `gpu_only` | `cpu`.
        since: Time of each worker's last change.
    """

    def __init__(
        self,
        settings: Settings,
        workers: Workers,
        model: ActiveModel,
        router: Router,
        rehearsal: Rehearsal,
    ) -> None:
        self._settings, self._workers, self._model = settings, workers, model
        self._router, self._rehearsal = router, rehearsal
        self.mode: str = settings.fallback.policy
        self.since: dict[str, str] = {}
        self._degraded_since: str | None = None

    def note(self) -> None:
        """Something changed: remember when a degradation began."""
        degraded = self.degraded() is not None
        if degraded and self._degraded_since is None:
            self._degraded_since = picture.now()
        elif not degraded:
            self._degraded_since = None

    def degraded(self) -> str | None:
        """Why the GPU does not serve, in one word; None = it does, there is none, or it is meant so."""
        if self._workers.gpu is None or self.mode == "cpu":
            return None
        return self._router.lanes[GPU].reason

    def policy(self) -> Policy:
        """Limits of the router."""
        settings = self._settings
        limits = settings.limits
        return Policy(
            limits.queue_total,
            limits.queue_per_client,
            limits.queue_wait_s,
            limits.deadline_s,
            fallback=_FALLBACKS.get(self.mode, Fallback.AUTO),
            resume=settings.fallback.resume,
            notice_s=settings.fallback.notice_s,
            canaries=settings.recovery.canary_decodes,
            cpu_error=self.cpu_error(),
        )

    def cpu_error(self) -> HomeAIError | None:
        """Why the CPU could not take over, as far as it is known without trying."""
        if self._workers.gpu is None:
            return None
        if self._settings.fallback.standby == "off":
            return GpuOnly("The CPU does not stand by (fallback.standby is off).")
        failure = self._rehearsal.failure
        if failure is not None and failure.code in _FOR_EVER:
            return from_code(failure.code, failure.message)
        return None if self._workers.cpu.pid is not None else self._workers.cpu_ram_problem()

    def provenance(self) -> dict[str, Any]:
        """Where an answer comes from, for its `homeai` object."""
        ready = self._workers.primary.ready or self._workers.cpu.ready
        return {
            "weights_sha256": self._model.weights_sha256,
            "kv_type": self._model.kv_type,
            "profile": self._settings.engine.profile,
            "engine": ready.fingerprint if ready else None,
        }

    def snapshot(self, problem: HomeAIError | None) -> Snapshot:
        """The current picture; `problem` is why nothing can be served."""
        memory = ram.probe()
        lanes = self._router.lanes
        return picture.draw(
            picture.Facts(
                version=__version__,
                mode=self.mode,
                model=self._model.entry,
                context_tokens=self._workers.context_tokens(self._workers.primary.name),
                workers=[
                    (worker, self.since.get(worker.name, picture.now()), lanes[worker.name])
                    for worker in self._workers.all
                ],
                problem=problem,
                degraded=self.degraded(),
                degraded_since=self._degraded_since,
                cpu_error=self.cpu_error(),
                rehearsed=self._rehearsal.done and self._rehearsal.failure is None,
                standby=self._settings.fallback.standby,
                running=self._router.running,
                waiting=self._router.waiting,
                queue_limit=self._settings.limits.queue_total,
                memory=memory,
                reserve=self._model.reserve_bytes(memory.total_bytes),
            )
        )
