"""The whole house, built once from settings: implements `server.ports.Core`."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from homeai.domain import events as happened
from homeai.domain.errors import BadRequest, HomeAIError
from homeai.domain.request import EmbeddingRequest, GenerationRequest
from homeai.domain.snapshot import Snapshot
from homeai.domain.states import WorkerState
from homeai.hardware.engine_backends import accelerator_backends
from homeai.journal.journal import Journal, KeptAnswer
from homeai.models.catalogue import Catalogue, ModelEntry
from homeai.protocol.messages import FromWorker, Ready
from homeai.router.dispatch import CPU, GPU
from homeai.router.embeddings import Embeddings
from homeai.router.events import EventRing
from homeai.router.generation import Generation
from homeai.router.lane import Lane
from homeai.router.router import Router
from homeai.service import picture, sleep
from homeai.service.active_model import ActiveModel
from homeai.service.agents import agent_of_house
from homeai.service.bookkeeping import Bookkeeping
from homeai.service.metrics import Metrics
from homeai.service.rehearsal import Rehearsal
from homeai.service.standing import Standing
from homeai.service.workers import Ears, Workers
from homeai.settings.paths import Paths
from homeai.settings.schema import Settings
from homeai.supervisor.diagnosis import Ending
from homeai.supervisor.terms import Level

logger = logging.getLogger(__name__)
MODES = ("auto", "ask", "gpu_only", "cpu")


class Service:
    """Everything behind the doors.

    Args:
        settings: Values in force.
        paths: Folders.
        environment: Of this process, for workers.
        model: Name or file that overrides `model.active`.
        first_event: Number of the first event.
        journal: Keeps what happens; None = nothing is kept.
    """

    def __init__(
        self,
        settings: Settings,
        paths: Paths,
        environment: Mapping[str, str],
        *,
        model: str | None = None,
        first_event: int = 1,
        journal: Journal | None = None,
    ) -> None:
        self._settings, self._books = settings, Bookkeeping(journal)
        self.metrics = Metrics(self.snapshot)
        self.events = EventRing(first_event, self._books.write_down, self.metrics.count)
        self.catalogue = Catalogue(paths.models, map(Path, settings.model.folders))
        wanted = settings.model.active if model is None else model
        self._model = ActiveModel(settings, self.catalogue, wanted)
        self._problem: HomeAIError | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._sleep_watch: asyncio.Task[None] | None = None
        gpu = settings.gpu
        self.workers = Workers(
            settings,
            environment,
            self._model,
            Ears(self._on_messages, self._on_state, self._on_progress, self._on_ending),
            accelerated=gpu.enabled and bool(gpu.backends or accelerator_backends()),
        )
        lanes = [Lane(worker, proves=worker.name == GPU) for worker in self.workers.all]
        self._router = Router(
            lanes,
            lambda: self._standing.policy(),  # noqa: PLW0108 -- made later
            self.events,
            lambda: self._standing.provenance(),  # noqa: PLW0108
            journal,
            cpu_wanted=self._cpu_wanted,
        )
        self._rehearsal = Rehearsal(
            self.workers.cpu, self._router.lanes[CPU].latency, self._rehearsed
        )
        self._standing = Standing(
            settings, self.workers, self._model, self._router, self._rehearsal
        )
        self._embeddings = Embeddings(self.workers)
        book = None if journal is None else journal.effects
        self.agent = agent_of_house(self.submit, book, self.events, paths.data / "notes")

    @property
    def settings(self) -> Settings:
        """Values in force."""
        return self._settings

    def start(self, group: asyncio.TaskGroup) -> None:
        """Choose the model and start its workers; returns at once."""
        self._problem = self._model.choose()
        if self._problem is None and self.workers.gpu is None:
            self._problem = self.workers.cpu_ram_problem()
        if self._problem is not None:
            logger.warning("no model to serve code=%s", self._problem.code)
            return
        for worker in self.workers.all:
            self._router.lanes[worker.name].context_tokens = self.workers.context_tokens(
                worker.name
            )
            self._tasks.append(group.create_task(worker.run(), name=f"worker {worker.name}"))
        self._sleep_watch = group.create_task(sleep.watch(self._on_wake), name="sleep watch")

    async def keep_answer(self, answer: KeptAnswer) -> None:
        """Keep a complete answer for repeats of its request."""
        await self._books.keep_answer(answer)

    async def kept_answer(self, client: str, key: str) -> KeptAnswer | None:
        """The answer kept under a client's key, or None."""
        return await self._books.kept_answer(client, key)

    async def recall(self) -> None:
        """Take in what an earlier core wrote down."""
        await self._books.recall(self._router.records, self._settings.privacy.journal_days)

    async def drain(self, grace_s: float) -> None:
        """Take nothing new and let running requests finish for `grace_s` seconds."""
        await self._router.drain(grace_s)

    async def stop(self) -> None:
        """End the workers and wait for them."""
        if self._sleep_watch is not None:
            self._sleep_watch.cancel()
        await self.agent.settle()
        await self.workers.stop()
        for task in self._tasks:
            await task

    async def wait_until_settled(self) -> None:
        """Return once the model is ready, or it is certain that it cannot be without help."""
        if self._problem is None:
            await self.workers.settled()

    def submit(self, request: GenerationRequest) -> Generation:
        """Take a request in; a refusal arrives as its `Failed` event."""
        error = self._problem or self._model.is_not(request.model)
        if error is not None:
            return self._router.refuse(request, error)
        return self._router.submit(request)

    async def embed(self, request: EmbeddingRequest) -> tuple[list[list[float]], int]:
        """Return one vector an input and the number of tokens; raises HomeAIError."""
        error = self._problem or self._model.is_not(request.model)
        if error is not None:
            raise error
        ready = await self.workers.primary.ensure_ready()
        if not ready.embeddings:
            raise BadRequest("The active model makes text, not embeddings.", param="model")
        async with asyncio.timeout(self._settings.limits.deadline_s):
            return await self._embeddings.embed(request.inputs)

    async def estimate(self, request: GenerationRequest) -> dict[str, Any]:
        """Return how long an answer would take on each worker, in milliseconds; raises HomeAIError."""
        error = self._problem or self._model.is_not(request.model)
        if error is not None:
            raise error
        async with asyncio.timeout(self._settings.limits.queue_wait_s):
            tokens = await self._embeddings.count(request.prompt)
        devices = {}
        for name in self._router.lanes:
            found = self._router.line.estimate(name, tokens, request.max_tokens)
            devices[name] = None if found is None else found.body()
        return {"prompt_tokens": tokens, "estimate_ms": devices}

    def cancel(self, request_id: str) -> bool:
        """Cancel a request; False if none of that id is under way."""
        return self._router.cancel(request_id)

    def choose(self, request_id: str, choice: str) -> bool:
        """Carry out a choice, see `Failover.choose`; False if the request waits for none."""
        return self._router.choose(request_id, choice)

    def requests(self) -> list[dict[str, Any]]:
        """Records of recent requests, newest first."""
        return self._router.records.list()

    def models(self) -> list[ModelEntry]:
        """The model that can be asked for."""
        return self._model.usable()

    @property
    def mode(self) -> str:
        """`auto` | `ask` | `gpu_only` | `cpu`."""
        return self._standing.mode

    def set_mode(self, mode: str) -> None:
        """Change the way from now on; `cpu` drains the GPU worker and gives its memory back.

        Raises:
            BadRequest: Another word.
        """
        if mode not in MODES:
            raise BadRequest(
                f"mode: {mode[:40]!r} is unknown; allowed are {', '.join(MODES)}.", param="mode"
            )
        self._standing.mode = mode
        self._router.use_cpu_only(mode == "cpu")
        self._balance_gpu()
        self.events.append(happened.ServiceStateChanged(state=self.snapshot().state))

    def _balance_gpu(self) -> None:
        gpu = self.workers.gpu
        if gpu is None:
            return
        if self._standing.mode != "cpu":
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
        if not self._router.health.needs_cpu:
            self.workers.rest_cpu()

    def _on_messages(self, name: str, messages: list[FromWorker]) -> None:
        self._router.on_messages(name, messages)
        self._embeddings.on_messages(messages)
        if name == CPU:
            self._rehearsal.on_messages(messages)
            if any(isinstance(message, Ready) for message in messages):
                self._rehearsal.cpu_is_ready()
        elif self._standing.mode == "cpu":
            self._balance_gpu()
        elif not self._rehearsal.began and self._router.lanes[GPU].serving:
            self._rehearse()
        self._standing.note()

    def _on_wake(self, seconds: float) -> None:
        logger.info("the machine slept seconds=%.0f", seconds)
        self._router.health.doubt("woke_up", self._settings.recovery.canary_decodes)

    def _rehearse(self) -> None:
        if self._settings.fallback.standby != "off" and self.workers.cpu_ram_problem() is None:
            self._rehearsal.begin()

    def _on_state(self, name: str, old: WorkerState, new: WorkerState, reason: str | None) -> None:
        self._standing.since[name] = picture.now()
        pid = next((worker.pid for worker in self.workers.all if worker.name == name), None)
        self.events.append(
            happened.WorkerStateChanged(worker=name, old=old, new=new, reason=reason, pid=pid)
        )
        self._standing.note()
        self.events.append(happened.ServiceStateChanged(state=self.snapshot().state))

    def _on_progress(self, name: str, fraction: float) -> None:
        self.events.append(happened.ModelLoadProgressed(worker=name, fraction=fraction))

    def _on_ending(self, name: str, ending: Ending) -> None:
        if name == GPU and ending.code == "no_device":
            self._go_without_gpu(ending)
            return
        if self.workers.failed(name):
            self.events.append(happened.WorkerEnded(worker=name, reason=ending.reason))
        if name == CPU:
            self._rehearsal.on_ending(ending)
        self._router.health.on_ending(name, ending)
        self._embeddings.on_ending(name, ending)

    def _go_without_gpu(self, ending: Ending) -> None:
        """There is no GPU after all: the CPU is the primary worker, and nothing is degraded."""
        logger.info("no GPU is used why=%s", ending.sentence)
        self.workers.drop_gpu()
        self._problem = self.workers.cpu_ram_problem()
        self._router.health.drop_gpu()
        self._router.lanes[CPU].context_tokens = self.workers.context_tokens(CPU)
        if self._problem is None:
            self.workers.need_cpu(True)  # noqa: FBT003 -- a callback elsewhere

    def snapshot(self) -> Snapshot:
        """The current picture."""
        return self._standing.snapshot(self._problem)
