"""The worker processes of the service: what each loads, and how much of it is wanted when."""

from __future__ import annotations

import asyncio
import logging
import os
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from homeai.domain.errors import HomeAIError, ModelLoading
from homeai.domain.states import WorkerState
from homeai.protocol.messages import FromWorker, Load, ToWorker
from homeai.router.dispatch import CPU, GPU
from homeai.service.active_model import ActiveModel
from homeai.settings.schema import Settings
from homeai.supervisor.diagnosis import Ending
from homeai.supervisor.launch import worker_launch
from homeai.supervisor.process import WorkerProcess
from homeai.supervisor.terms import Level, Listener, Policy

logger = logging.getLogger(__name__)

IDLE_S = 30.0
"""A CPU worker that is not needed any more is kept for so long: failures come in groups."""


@dataclass(frozen=True, slots=True)
class Ears:
    """Who hears what workers say; the first argument is the worker's name."""

    messages: Callable[[str, list[FromWorker]], None]
    state: Callable[[str, WorkerState, WorkerState, str | None], None]
    progress: Callable[[str, float], None]
    ending: Callable[[str, Ending], None]


class Workers:
    """The CPU worker, and a GPU worker if one is wanted.

    Args:
        settings: Values in force.
        environment: Of this process.
        model: The model to load.
        ears: Who hears them.
        accelerated: Whether a GPU worker is wanted.
    """

    def __init__(
        self,
        settings: Settings,
        environment: Mapping[str, str],
        model: ActiveModel,
        ears: Ears,
        *,
        accelerated: bool,
    ) -> None:
        self._settings, self._environment = settings, environment
        self._model, self._ears = model, ears
        self.gpu = self._process(GPU, alone=False) if accelerated else None
        self.cpu = self._process(CPU, alone=not accelerated)
        self._made = self.all
        if accelerated:
            self.cpu.level = Level.OFF
        self._rest_timer: asyncio.TimerHandle | None = None

    @property
    def all(self) -> list[WorkerProcess]:
        """Every worker, the primary one first."""
        return [self.cpu] if self.gpu is None else [self.gpu, self.cpu]

    @property
    def primary(self) -> WorkerProcess:
        """Who answers when all is well."""
        return self.gpu or self.cpu

    @property
    def resting(self) -> Level:
        """How much of the CPU worker is kept while nobody needs it."""
        if self.gpu is None:
            return Level.READY
        return Level.STANDBY if self._settings.fallback.standby == "warm" else Level.OFF

    async def settled(self) -> None:
        """Return once the primary worker is ready, or will not be without help."""
        while True:
            primary = self.primary
            try:
                await primary.ensure_ready()
            except HomeAIError as error:
                if primary is not self.primary:
                    continue  # there is no GPU after all
                logger.warning("model is not ready code=%s", error.code)
            return

    def send(self, message: ToWorker) -> str:
        """Post a message to the first worker that is ready, the primary one if it is; returns its name.

        Raises:
            ModelLoading: None is ready.
        """
        ready = next((worker for worker in self.all if worker.ready is not None), None)
        if ready is None:
            raise ModelLoading("The model is not loaded yet.", retry_after_s=5)
        ready.send(message)
        return ready.name

    async def stop(self) -> None:
        """End every process that was made, also of a GPU worker that is not used any more."""
        async with asyncio.TaskGroup() as group:
            for worker in self._made:
                group.create_task(worker.stop())

    def failed(self, name: str) -> bool:
        """Whether the worker pauses or gave up, because its process ended unasked."""
        states = (WorkerState.BACKOFF, WorkerState.FAILED)
        return any(worker.name == name and worker.state in states for worker in self.all)

    def drop_gpu(self) -> None:
        """There is no GPU: the CPU worker is the primary one."""
        self.gpu = None

    def need_cpu(self, wanted: bool) -> None:  # noqa: FBT001 -- a callback
        """Raise the CPU worker at once, or let it rest after a while."""
        if self._rest_timer is not None:
            self._rest_timer.cancel()
            self._rest_timer = None
        if wanted:
            self.cpu.want(Level.READY)
        elif self.gpu is not None:
            loop = asyncio.get_running_loop()
            pause_s = 0.0 if self.cpu.state is WorkerState.STOPPED else IDLE_S
            self._rest_timer = loop.call_later(pause_s, self.rest_cpu)

    def rest_cpu(self) -> None:
        """Nobody needs the CPU worker now."""
        self._rest_timer = None
        self.cpu.want(self.resting)

    def context_tokens(self, name: str) -> int:
        """What a sequence of a worker holds: as set, at most what the model was trained for."""
        settings = self._settings
        asked = settings.limits.context_tokens
        if name == CPU and self.gpu is not None:
            asked = settings.fallback.context_tokens
        return self._model.context_tokens(asked)

    def cpu_ram_problem(self) -> HomeAIError | None:
        """Why the CPU worker does not fit the memory that is free now, or None."""
        return self._model.ram_problem(self.context_tokens(CPU) * self.sequences(CPU))

    def sequences(self, name: str) -> int:
        """How many answers a worker computes in parallel."""
        if name == CPU and self.gpu is not None:
            return self._settings.fallback.concurrency
        return self._settings.limits.concurrency

    def _process(self, name: str, *, alone: bool) -> WorkerProcess:
        settings, ears = self._settings, self._ears
        recovery = settings.recovery
        return WorkerProcess(
            name=name,
            launch=lambda: worker_launch(
                self._environment, device=name, profile=settings.engine.profile, alone=alone
            ),
            load=lambda: self._load(name),
            policy=Policy(recovery.max_restarts, recovery.window_s, recovery.stall_s),
            listener=Listener(
                lambda messages: ears.messages(name, messages),
                lambda old, new, reason: ears.state(name, old, new, reason),
                lambda fraction: ears.progress(name, fraction),
                lambda ending: ears.ending(name, ending),
            ),
            chance=random.random,
        )

    def _load(self, name: str) -> Load:
        settings, model = self._settings, self._model.entry
        if model is None:
            raise RuntimeError("a worker is started for a model only")
        threads = settings.fallback.threads
        return Load(
            path=os.fspath(model.path),
            profile=settings.engine.profile,
            context_tokens=self.context_tokens(name),
            sequences=self.sequences(name),
            threads=0 if threads == "auto" else threads,
            threads_batch=0 if threads == "auto" else threads,
            device=name,
            kv_type=self._model.kv_type,
            backends=list(settings.gpu.backends) if name == GPU else [],
            gpu_layers=-1 if settings.gpu.layers == "auto" else settings.gpu.layers,
        )
