"""The whole house, built once from settings: implements `server.ports.Core`."""

from __future__ import annotations

import asyncio
import logging
import os
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from homeai import __version__
from homeai.domain import events as happened
from homeai.domain.errors import (
    BadRequest,
    HomeAIError,
    ModelInvalid,
    ModelNotFound,
)
from homeai.domain.request import EmbeddingRequest, GenerationRequest
from homeai.domain.snapshot import Snapshot
from homeai.domain.states import WorkerState
from homeai.hardware import ram
from homeai.models.catalogue import Catalogue, ModelEntry
from homeai.protocol.messages import FromWorker, Load
from homeai.router.embeddings import Embeddings
from homeai.router.events import EventRing
from homeai.router.generation import Generation
from homeai.router.parties import Policy
from homeai.router.router import Router
from homeai.service import need, picture
from homeai.settings.paths import Paths
from homeai.settings.schema import Settings
from homeai.supervisor.diagnosis import Ending
from homeai.supervisor.launch import worker_launch
from homeai.supervisor.process import WorkerProcess
from homeai.supervisor.terms import Listener
from homeai.supervisor.terms import Policy as WorkerPolicy

logger = logging.getLogger(__name__)

DEVICE = "cpu"
"""The only worker until accelerators are served: the CPU is the primary, nothing is degraded."""


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
        self._settings, self._environment = settings, environment
        self.events = EventRing(first_event)
        self.catalogue = Catalogue(paths.models, map(Path, settings.model.folders))
        self._wanted = settings.model.active if model is None else model
        self._model: ModelEntry | None = None
        self._weights_sha256: str | None = None
        self._problem: HomeAIError | None = None
        self._task: asyncio.Task[None] | None = None
        self._since = picture.now()
        self._changes = asyncio.Event()
        self._worker = WorkerProcess(
            name=DEVICE,
            launch=lambda: worker_launch(
                environment, device=DEVICE, profile=settings.engine.profile
            ),
            load=self._load_order,
            policy=WorkerPolicy(
                settings.recovery.max_restarts,
                settings.recovery.window_s,
                settings.recovery.stall_s,
            ),
            listener=Listener(
                self._on_messages, self._on_state, self._on_progress, self._on_ending
            ),
            chance=random.random,
        )
        self._router = Router(self._worker, self._policy, self.events, self._provenance)
        self._embeddings = Embeddings(self._worker)

    @property
    def settings(self) -> Settings:
        """Values in force."""
        return self._settings

    # ---- life -----------------------------------------------------------------------------------

    def start(self, group: asyncio.TaskGroup) -> None:
        """Choose the model and start its worker; returns at once."""
        self._problem = self._choose()
        if self._problem is None:
            self._task = group.create_task(self._worker.run(), name="worker")
        else:
            logger.warning("no model to serve code=%s", self._problem.code)

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
        memory, limits = ram.probe(), self._settings.limits
        return need.ram_problem(
            entry.facts,
            tokens=self._context_tokens() * limits.concurrency,
            kv_type=self._kv_type(),
            available=memory.available_bytes,
            reserve=self._reserve_bytes(memory.total_bytes),
        )

    async def drain(self, grace_s: float) -> None:
        """Take nothing new and let running requests finish for `grace_s` seconds."""
        await self._router.drain(grace_s)

    async def stop(self) -> None:
        """End the worker and wait for it."""
        await self._worker.stop()
        if self._task is not None:
            await self._task

    async def wait_until_settled(self) -> None:
        """Return once the model is ready, or it is certain that it cannot be without help."""
        if self._problem is not None:
            return
        try:
            await self._worker.ensure_ready()
        except HomeAIError as error:
            logger.warning("model is not ready code=%s", error.code)

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
        ready = await self._worker.ensure_ready()
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

    def requests(self) -> list[dict[str, Any]]:
        """Records of recent requests, newest first."""
        return self._router.records.list()

    def models(self) -> list[ModelEntry]:
        """The model that can be asked for."""
        return [self._model] if self._model is not None and self._model.facts is not None else []

    # ---- what the worker tells ------------------------------------------------------------------

    def _on_messages(self, messages: list[FromWorker]) -> None:
        self._router.on_messages(messages)
        self._embeddings.on_messages(messages)

    def _on_state(self, old: WorkerState, new: WorkerState, reason: str | None) -> None:
        self._since = picture.now()
        self.events.append(
            happened.WorkerStateChanged(
                worker=DEVICE, old=old, new=new, reason=reason, pid=self._worker.pid
            )
        )
        self.events.append(happened.ServiceStateChanged(state=self.snapshot().state))

    def _on_progress(self, fraction: float) -> None:
        self.events.append(happened.ModelLoadProgressed(worker=DEVICE, fraction=fraction))

    def _on_ending(self, ending: Ending) -> None:
        self._router.on_ending(ending)
        self._embeddings.on_ending(ending)

    # ---- derived ------------------------------------------------------------------------------------

    def _load_order(self) -> Load:
        if self._model is None:
            raise RuntimeError("a worker is started for a model only")
        threads = self._settings.fallback.threads
        return Load(
            path=os.fspath(self._model.path),
            profile=self._settings.engine.profile,
            context_tokens=self._context_tokens(),
            sequences=self._settings.limits.concurrency,
            threads=0 if threads == "auto" else threads,
            threads_batch=0 if threads == "auto" else threads,
            device=DEVICE,
            kv_type=self._kv_type(),
        )

    def _context_tokens(self) -> int:
        facts = self._model.facts if self._model else None
        trained = facts.context_tokens if facts else None
        asked = self._settings.limits.context_tokens
        return asked if trained is None else min(asked, trained)

    def _kv_type(self) -> str:
        exact = self._settings.engine.profile == "exact"
        return "q8_0" if exact else self._settings.memory.kv_type

    def _reserve_bytes(self, total: int) -> int:
        memory = self._settings.memory
        return need.reserve_bytes(
            total, percent=memory.ram_reserve_percent, least_mib=memory.ram_reserve_min_mib
        )

    def _policy(self) -> Policy:
        limits = self._settings.limits
        return Policy(
            limits.queue_total, limits.queue_per_client, limits.queue_wait_s, limits.deadline_s
        )

    def _provenance(self) -> dict[str, Any]:
        ready = self._worker.ready
        return {
            "weights_sha256": self._weights_sha256,
            "kv_type": self._kv_type(),
            "profile": self._settings.engine.profile,
            "engine": ready.fingerprint if ready else None,
        }

    def snapshot(self) -> Snapshot:
        """The current picture."""
        memory = ram.probe()
        return picture.draw(
            version=__version__,
            model=self._model,
            context_tokens=self._context_tokens(),
            worker=self._worker,
            since=self._since,
            problem=self._problem or self._worker.failure,
            running=self._router.running,
            waiting=self._router.waiting,
            queue_limit=self._settings.limits.queue_total,
            memory=memory,
            reserve=self._reserve_bytes(memory.total_bytes),
        )
