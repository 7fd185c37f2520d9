"""The whole house, built once from settings: implements `server.ports.Core`."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from homeai import __version__
from homeai.domain import events as happened
from homeai.domain.errors import (
    BadRequest,
    GpuOnly,
    HomeAIError,
    ModelInvalid,
    ModelNotFound,
    from_code,
)
from homeai.domain.request import EmbeddingRequest, GenerationRequest
from homeai.domain.snapshot import Snapshot
from homeai.domain.states import WorkerState
from homeai.hardware import ram
from homeai.hardware.engine_backends import accelerator_backends
from homeai.models.catalogue import Catalogue, ModelEntry
from homeai.protocol.messages import FromWorker, Ready, ToWorker
from homeai.router.dispatch import CPU, GPU, Fallback
from homeai.router.embeddings import Embeddings
from homeai.router.events import EventRing
from homeai.router.generation import Generation
from homeai.router.lane import Lane
from homeai.router.parties import Policy
from homeai.router.router import Router
from homeai.service import need, picture
from homeai.service.rehearsal import Rehearsal
from homeai.service.workers import Ears, Workers
from homeai.settings.paths import Paths
from homeai.settings.schema import Settings
from homeai.supervisor.diagnosis import Ending
from homeai.supervisor.terms import Level

logger = logging.getLogger(__name__)

MODES = ("auto", "ask", "gpu_only", "cpu")
_FALLBACKS = {"auto": Fallback.AUTO, "ask": Fallback.ASK, "gpu_only": Fallback.NEVER}


class Service:
    """Everything behind the doors.

    Args:
        settings: Values in force.
        paths: Folders.
        environment: Of this process, for workers.
        model: Name or file that overrides `model.active`.
    """

    def __init__(
        self,
        settings: Settings,
        paths: Paths,
        environment: Mapping[str, str],
        *,
        model: str | None = None,
        first_event: int = 1,
    ) -> None:
        self._settings = settings
        self.events = EventRing(first_event)
        self.catalogue = Catalogue(paths.models, map(Path, settings.model.folders))
        self._wanted = settings.model.active if model is None else model
        self._model: ModelEntry | None = None
        self._weights_sha256: str | None = None
        self._problem: HomeAIError | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._since: dict[str, str] = {}
        self._degraded_since: str | None = None
        self._mode: str = settings.fallback.policy
        gpu = settings.gpu
        self.workers = Workers(
            settings,
            environment,
            lambda: self._model,
            Ears(self._on_messages, self._on_state, self._on_progress, self._on_ending),
            accelerated=gpu.enabled and bool(gpu.backends or accelerator_backends()),
        )
        lanes = [Lane(worker, proves=worker.name == GPU) for worker in self.workers.all]
        self._router = Router(
            lanes,
            self._policy,
            self.events,
            self._provenance,
            cpu_wanted=self._cpu_wanted,
        )
        self._rehearsal = Rehearsal(
            self.workers.cpu, self._router.lanes[CPU].latency, self._rehearsed
        )
        self._embeddings = Embeddings(_Primary(self.workers))

    @property
    def settings(self) -> Settings:
        """Values in force."""
        return self._settings

    # ---- life -----------------------------------------------------------------------------------

    def start(self, group: asyncio.TaskGroup) -> None:
        """Choose the model and start its workers; returns at once."""
        self._problem = self._choose()
        if self._problem is not None:
            logger.warning("no model to serve code=%s", self._problem.code)
            return
        for worker in self.workers.all:
            self._router.lanes[worker.name].context_tokens = self.workers.context_tokens(
                worker.name
            )
            self._tasks.append(group.create_task(worker.run(), name=f"worker {worker.name}"))

    def _choose(self) -> HomeAIError | None:
        entry = self.catalogue.choose(self._wanted)
        if entry is None:
            if self._wanted:
                name = Path(self._wanted).name
                return ModelNotFound(f"There is no model {name!r}. `homeai models list` shows all.")
            return ModelNotFound("There is no model yet. Add one with `homeai models add FILE`.")
        self._model = entry
        self._weights_sha256 = self.catalogue.recorded_hash(entry)
        if entry.facts is None:
            reason = entry.problem.message if entry.problem else "It cannot be read."
            return ModelInvalid(f"The model {entry.name} cannot be used. {reason}")
        return self._ram_problem() if self.workers.gpu is None else None

    def _ram_problem(self) -> HomeAIError | None:
        """Why the CPU worker, which is not loaded yet, does not fit the memory that is free now."""
        if self._model is None or self._model.facts is None:
            return None
        memory = ram.probe()
        return need.ram_problem(
            self._model.facts,
            tokens=self.workers.context_tokens(CPU) * self.workers.sequences(CPU),
            kv_type=self.workers.kv_type(),
            available=memory.available_bytes,
            reserve=self._reserve_bytes(memory.total_bytes),
        )

    async def drain(self, grace_s: float) -> None:
        """Take nothing new and let running requests finish for `grace_s` seconds."""
        await self._router.drain(grace_s)

    async def stop(self) -> None:
        """End the workers and wait for them."""
        async with asyncio.TaskGroup() as group:
            for worker in self.workers.all:
                group.create_task(worker.stop())
        for task in self._tasks:
            await task

    async def wait_until_settled(self) -> None:
        """Return once the model is ready, or it is certain that it cannot be without help."""
        if self._problem is not None:
            return
        while True:
            primary = self.workers.primary
            try:
                await primary.ensure_ready()
            except HomeAIError as error:
                if primary is not self.workers.primary:
                    continue  # there is no GPU after all
                logger.warning("model is not ready code=%s", error.code)
            return

    # ---- requests ---------------------------------------------------------------------------------

    def submit(self, request: GenerationRequest) -> Generation:
        """Take a request in; a refusal arrives as its `Failed` event."""
        error = self._problem or self._other_model(request.model)
        if error is not None:
            return self._router.refuse(request, error)
        return self._router.submit(request)

    async def embed(self, request: EmbeddingRequest) -> tuple[list[list[float]], int]:
        """Return one vector an input and the number of tokens; raises HomeAIError."""
        error = self._problem or self._other_model(request.model)
        if error is not None:
            raise error
        ready = await self.workers.primary.ensure_ready()
        if not ready.embeddings:
            raise BadRequest("The active model makes text, not embeddings.", param="model")
        async with asyncio.timeout(self._settings.limits.deadline_s):
            return await self._embeddings.embed(request.inputs)

    def _other_model(self, wanted: str) -> ModelNotFound | None:
        active = self._model.name if self._model else ""
        if wanted in ("", active, f"{active}.gguf"):
            return None
        text = f"The model {wanted[:100]!r} is not served; the active model is {active!r}."
        return ModelNotFound(text, param="model")

    def cancel(self, request_id: str) -> bool:
        """Cancel a request that is under way; False if there is none of that id."""
        return self._router.cancel(request_id)

    def choose(self, request_id: str, choice: str) -> bool:
        """Carry out `retry_cpu` | `wait_gpu` | `cancel`; False if the request waits for no choice."""
        return self._router.choose(request_id, choice)

    def requests(self) -> list[dict[str, Any]]:
        """Records of recent requests, newest first."""
        return self._router.records.list()

    def models(self) -> list[ModelEntry]:
        """The model that can be asked for."""
        return [self._model] if self._model is not None and self._model.facts is not None else []

    # ---- the way requests take -------------------------------------------------------------------

    @property
    def mode(self) -> str:
        """`auto` | `ask` | `gpu_only` | `cpu`."""
        return self._mode

    def set_mode(self, mode: str) -> None:
        """Change the way from now on; `cpu` drains the GPU worker and gives its memory back.

        Raises:
            BadRequest: Another word.
        """
        if mode not in MODES:
            raise BadRequest(
                f"mode: {mode[:40]!r} is unknown; allowed are {', '.join(MODES)}.", param="mode"
            )
        self._mode = mode
        self._router.cpu_only = mode == "cpu"
        self._router.work()
        self._balance_gpu()
        self.events.append(happened.ServiceStateChanged(state=self.snapshot().state))

    def _balance_gpu(self) -> None:
        gpu = self.workers.gpu
        if gpu is None:
            return
        if self._mode != "cpu":
            gpu.want(Level.READY)
        elif not self._router.lanes[GPU].open:
            gpu.want(Level.OFF)

    def _cpu_wanted(self, wanted: bool) -> None:  # noqa: FBT001 -- a callback
        self.workers.need_cpu(wanted or self._rehearsal.running)

    def _rehearsed(self) -> None:
        failure = self._rehearsal.failure
        if failure is not None:
            logger.warning("the CPU could not take over code=%s", failure.code)
        self._router.work()
        if not self._router.needs_cpu:
            self.workers.rest_cpu()

    # ---- what the workers tell ------------------------------------------------------------------

    def _on_messages(self, name: str, messages: list[FromWorker]) -> None:
        self._router.on_messages(name, messages)
        if name == self.workers.primary.name:
            self._embeddings.on_messages(messages)
        if name == CPU:
            self._rehearsal.on_messages(messages)
            if any(isinstance(message, Ready) for message in messages):
                self._rehearsal.cpu_is_ready()
        elif self._mode == "cpu":
            self._balance_gpu()
        elif not self._rehearsal.began and self._router.lanes[GPU].serving:
            self._rehearse()
        self._note_degradation()

    def _rehearse(self) -> None:
        if self._settings.fallback.standby != "off" and self._ram_problem() is None:
            self._rehearsal.begin()

    def _on_state(self, name: str, old: WorkerState, new: WorkerState, reason: str | None) -> None:
        self._since[name] = picture.now()
        pid = next((worker.pid for worker in self.workers.all if worker.name == name), None)
        self.events.append(
            happened.WorkerStateChanged(worker=name, old=old, new=new, reason=reason, pid=pid)
        )
        self._note_degradation()
        self.events.append(happened.ServiceStateChanged(state=self.snapshot().state))

    def _on_progress(self, name: str, fraction: float) -> None:
        self.events.append(happened.ModelLoadProgressed(worker=name, fraction=fraction))

    def _on_ending(self, name: str, ending: Ending) -> None:
        if name == GPU and ending.code == "no_device":
            self._go_without_gpu(ending)
            return
        if name == CPU:
            self._rehearsal.on_ending(ending)
        self._router.on_ending(name, ending)
        if name == self.workers.primary.name:
            self._embeddings.on_ending(ending)

    def _go_without_gpu(self, ending: Ending) -> None:
        """There is no GPU after all: the CPU is the primary worker, and nothing is degraded."""
        logger.info("no GPU is used why=%s", ending.sentence)
        self.workers.drop_gpu()
        self._problem = self._ram_problem()
        self._router.drop_gpu()
        self._router.lanes[CPU].context_tokens = self.workers.context_tokens(CPU)
        if self._problem is None:
            self.workers.need_cpu(True)  # noqa: FBT003 -- a callback elsewhere

    def _note_degradation(self) -> None:
        degraded = self._degraded_reason() is not None
        if degraded and self._degraded_since is None:
            self._degraded_since = picture.now()
        elif not degraded:
            self._degraded_since = None

    def _degraded_reason(self) -> str | None:
        if self.workers.gpu is None or self._mode == "cpu":
            return None
        return self._router.lanes[GPU].reason

    # ---- derived ------------------------------------------------------------------------------------

    def _reserve_bytes(self, total: int) -> int:
        memory = self._settings.memory
        return need.reserve_bytes(
            total, percent=memory.ram_reserve_percent, least_mib=memory.ram_reserve_min_mib
        )

    def _policy(self) -> Policy:
        settings = self._settings
        limits = settings.limits
        return Policy(
            limits.queue_total,
            limits.queue_per_client,
            limits.queue_wait_s,
            limits.deadline_s,
            fallback=_FALLBACKS.get(self._mode, Fallback.AUTO),
            resume=settings.fallback.resume,
            notice_s=settings.fallback.notice_s,
            canaries=settings.recovery.canary_decodes,
            cpu_error=self._cpu_error(),
        )

    def _cpu_error(self) -> HomeAIError | None:
        """Why the CPU could not take over, as far as it is known without trying."""
        if self.workers.gpu is None:
            return None
        if self._settings.fallback.standby == "off":
            return GpuOnly("The CPU does not stand by (fallback.standby is off).")
        failure = self._rehearsal.failure
        if failure is not None:
            return from_code(failure.code, failure.message)
        return None if self.workers.cpu.pid is not None else self._ram_problem()

    def _provenance(self) -> dict[str, Any]:
        ready = self.workers.primary.ready or self.workers.cpu.ready
        return {
            "weights_sha256": self._weights_sha256,
            "kv_type": self.workers.kv_type(),
            "profile": self._settings.engine.profile,
            "engine": ready.fingerprint if ready else None,
        }

    def snapshot(self) -> Snapshot:
        """The current picture."""
        memory = ram.probe()
        lanes = self._router.lanes
        return picture.draw(
            picture.Facts(
                version=__version__,
                mode=self._mode,
                model=self._model,
                context_tokens=self.workers.context_tokens(self.workers.primary.name),
                workers=[
                    (worker, self._since.get(worker.name, picture.now()), lanes[worker.name])
                    for worker in self.workers.all
                ],
                problem=self._problem,
                degraded=self._degraded_reason(),
                degraded_since=self._degraded_since,
                cpu_error=self._cpu_error(),
                rehearsed=self._rehearsal.done,
                standby=self._settings.fallback.standby,
                running=self._router.running,
                waiting=self._router.waiting,
                queue_limit=self._settings.limits.queue_total,
                memory=memory,
                reserve=self._reserve_bytes(memory.total_bytes),
            )
        )


class _Primary:
    """Sends to whichever worker is the primary one."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers

    def send(self, message: ToWorker) -> None:
        """Post a message."""
        self._workers.primary.send(message)
