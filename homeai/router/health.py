"""What changes when a worker comes up, proves itself, or ends; and whether the CPU worker is needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

from homeai.domain.errors import HomeAIError
from homeai.router.answers import Answers
from homeai.router.dispatch import CPU, GPU
from homeai.router.failover import Failover
from homeai.router.generation import Generation
from homeai.router.lane import Lane
from homeai.router.line import Line
from homeai.router.preparation import Preparation
from homeai.router.routing import Routing
from homeai.supervisor.diagnosis import Ending


class _House(Protocol):
    """What the router does for us."""

    cpu_only: bool

    def work(self) -> None: ...
    def interrupt(self, generation: Generation) -> None: ...
    def fail(self, generation: Generation, error: HomeAIError) -> None: ...


class Health:
    """The comings and goings of workers.

    Args:
        house: The router.
        lanes: The workers.
        line: Who waits.
        preparation: Whose prompts are being tokenised.
        routing: Sends those who wait elsewhere.
        failover: Decides about those who ran.
        answers: Closes attempts.
        tickets: Fresh tickets.
        cpu_wanted: Told whenever it changes whether the CPU worker is needed.

    Attributes:
        needs_cpu: Whether somebody counts on the CPU worker.
    """

    def __init__(
        self,
        house: _House,
        lanes: dict[str, Lane],
        line: Line,
        preparation: Preparation,
        routing: Routing,
        failover: Failover,
        answers: Answers,
        tickets: Iterator[int],
        cpu_wanted: Callable[[bool], None],
    ) -> None:
        self._house, self._lanes, self._line = house, lanes, line
        self._preparation, self._routing = preparation, routing
        self._failover, self._answers, self._tickets = failover, answers, tickets
        self._cpu_wanted = cpu_wanted
        self.needs_cpu = False

    def on_ready(self, lane: Lane, canaries: int) -> None:
        """A worker is up."""
        lane.became_ready(canaries, next(self._tickets))
        self._serves(lane)

    def doubt(self, reason: str, canaries: int) -> None:
        """The GPU may not be well (the machine slept): no new work until it proves itself again."""
        lane = self._lanes.get(GPU)
        if lane is not None and lane.serving and lane.worker.ready is not None:
            lane.suspend(reason)
            self.on_ready(lane, canaries)

    def on_canary(self, lane: Lane, ticket: int) -> None:
        """A canary decode was good."""
        if lane.canary_done(ticket, next(self._tickets)):
            self._serves(lane)

    def _serves(self, lane: Lane) -> None:
        self._preparation.resume([*self._line.order(), *self._failover.held])
        if lane.serving and lane.name == GPU and not self._house.cpu_only:
            self._failover.gpu_is_back()

    def on_ending(self, name: str, ending: Ending) -> None:
        """A worker ended: what it held is tried elsewhere or told why not; what waits keeps its place."""
        lane = self._lanes[name]
        lane.suspend(ending.reason)
        held = list({g.request_id: g for g in lane.open.values() if not g.ended}.values())
        lane.open.clear()
        for generation in held:
            generation.tickets.clear()
            self._answers.close_attempt(generation, ending.reason)
            self._house.interrupt(generation)
        self._failover.interrupted(held, lane, ending)
        self._preparation.clear(name)
        for generation in self._line.order(name):
            self._routing.again(generation)
        self._house.work()

    def drop_gpu(self) -> None:
        """There is no GPU: what waits for it goes to the CPU, which is the usual way now."""
        del self._lanes[GPU]
        for generation in self._line.order():
            generation.lane, generation.reason = CPU, None
        self._failover.gpu_is_gone(None)
        self._preparation.resume(self._line.order())
        self._house.work()

    def balance(self) -> None:
        """Say whether the CPU worker is needed: somebody counts on it, or the GPU is away."""
        gpu = self._lanes.get(GPU)
        wanted = (
            gpu is None
            or self._house.cpu_only
            or (gpu.reason is not None and self._failover.cpu_view().error is None)
            or bool(self._lanes[CPU].open)
            or bool(self._line.order(CPU))
        )
        if wanted is not self.needs_cpu:
            self.needs_cpu = wanted
            self._cpu_wanted(wanted)
