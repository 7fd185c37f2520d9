"""The one place where requests meet workers: feeds events to pure deciders and carries verdicts out.

Runs in the event loop and never blocks. Everything is driven by four inputs: a request arrives, a
worker says something, a worker's state changes, a reader gives up.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Iterable
from typing import Any

from homeai.domain import events as happened
from homeai.domain.errors import Cancelled, HomeAIError, ShuttingDown, from_code
from homeai.domain.request import GenerationRequest
from homeai.domain.states import RequestState
from homeai.protocol.messages import (
    Cancel,
    Done,
    FromWorker,
    Prepared,
    Ready,
    Refused,
    Started,
    Step,
)
from homeai.router.answers import Answers
from homeai.router.clock import now
from homeai.router.dispatch import Ask, Refuse
from homeai.router.events import EventRing
from homeai.router.failover import Failover
from homeai.router.generation import Generation
from homeai.router.health import Health
from homeai.router.hearing import Hearing
from homeai.router.lane import Lane
from homeai.router.line import Line
from homeai.router.parties import NoRecorder, Policy, Recorder
from homeai.router.preparation import Preparation
from homeai.router.records import Records
from homeai.router.routing import Routing
from homeai.router.running import Running
from homeai.router.starter import Starter
from homeai.router.timers import Timers

logger = logging.getLogger(__name__)


class Router:
    """Owns all requests.

    Args:
        lanes: The workers: `cpu`, and `gpu` if there is one.
        policy: Read at each arrival, so that changed settings count at once.
        log: Typed events go there.
        provenance: Facts for the `homeai` object of answers.
        recorder: Keeps what happens to requests.
        cpu_wanted: Told whenever it changes whether the CPU worker is needed.

    Attributes:
        cpu_only: The owner switched to the CPU.
        stopping: Nothing new is taken.
        health: Hears when workers come and go.
        line: Who waits.
    """

    def __init__(
        self,
        lanes: Iterable[Lane],
        policy: Callable[[], Policy],
        log: EventRing,
        provenance: Callable[[], dict[str, Any]],
        recorder: Recorder | None = None,
        cpu_wanted: Callable[[bool], None] = lambda _wanted: None,
    ) -> None:
        self.lanes = {lane.name: lane for lane in lanes}
        self._policy, self._log = policy, log
        self._recorder = recorder or NoRecorder()
        self._running = Running()
        self.line = Line(self.lanes, log)
        self._tickets = itertools.count(1)
        self._preparation = Preparation(self.lanes, self._tickets, self._when_measured)
        self._failover = Failover(self, self.lanes, self.line, policy, log)
        self._timers = Timers(self.lanes, self.line, policy, self.fail)
        self._answers = Answers(log, provenance, self._recorder)
        self._hearing = Hearing(self, self.lanes, self.line, self._answers)
        self._routing = Routing(self, self.lanes, self.line, self._failover, policy)
        self._starter = Starter(
            self._tickets, self._preparation, self._answers, self._recorder, self._hearing
        )
        self.health = Health(
            self,
            self.lanes,
            self.line,
            self._preparation,
            self._routing,
            self._failover,
            self._answers,
            self._tickets,
            cpu_wanted,
        )
        self.cpu_only = False
        self.stopping = False
        self.records = Records()

    @property
    def running(self) -> int:
        """Requests a worker works for."""
        return len(self._running)

    @property
    def waiting(self) -> int:
        """Requests in line, or waiting for a choice."""
        return len(self.line) + len(self._failover.held)

    def submit(self, request: GenerationRequest) -> Generation:
        """Take a request in; a refusal arrives as its `Failed` event."""
        generation = Generation(request, now(), self._cancelled)
        self.records.add(generation)
        self._log.append(happened.RequestReceived(request_id=request.id, client=request.client))
        self._recorder.received(request)
        verdict = self._routing.on_arrival(request)
        if isinstance(verdict, Refuse):
            self.fail(generation, verdict.error)
            return generation
        generation.move(RequestState.WAITING)
        self._timers.waits(generation)
        if isinstance(verdict, Ask):
            self._failover.hold(generation, verdict.reason)
            self._preparation.ask(generation)
            self.health.balance()
            return generation
        generation.lane, generation.reason = verdict.lane, verdict.reason
        if self._may_start_at_once(generation):
            self._start(generation)
            return generation
        self.line.join(generation)
        self._preparation.ask(generation)
        self.line.tell_positions()
        self.health.balance()
        return generation

    def refuse(self, request: GenerationRequest, error: HomeAIError) -> Generation:
        """Record a request that ends with `error` before it comes in."""
        generation = Generation(request, now(), self._cancelled)
        self.records.add(generation)
        self._recorder.received(request)
        self.fail(generation, error)
        return generation

    def _when_measured(self, generation: Generation) -> None:
        self._routing.measured(generation)
        self.health.balance()

    def prepare(self, generation: Generation) -> None:
        """Ask for the token ids of a prompt, or look at their number again for another worker."""
        self._preparation.resume([generation])

    def find(self, request_id: str) -> Generation | None:
        """The request of that id that is under way."""
        return (
            self.line.get(request_id)
            or self._running.get(request_id)
            or self._failover.get(request_id)
        )

    def _may_start_at_once(self, generation: Generation) -> bool:
        """Whether its prompt can be prepared and computed in one go: nobody waits, a sequence is free.

        Several answers share one prompt, which is then better prepared once; and where another worker
        could hold more, the length has to be known first.
        """
        lane = self.lanes[generation.lane]
        roomier = any(other.context > lane.context for other in self.lanes.values())
        return (
            generation.request.n == 1
            and not roomier
            and not len(self.line)
            and lane.free > 0
            and lane.alone is None
        )

    def on_messages(self, lane_name: str, messages: list[FromWorker]) -> None:
        """Take in what a worker sent."""
        lane = self.lanes[lane_name]
        for message in messages:
            match message:
                case Prepared():
                    self._preparation.done(message)
                case Refused():
                    self._on_refused(lane, message)
                case Ready():
                    self.health.on_ready(lane, self._policy().canaries)
                case Done() if lane.is_canary(message.ticket):
                    self.health.on_canary(lane, message.ticket)
                case Step() | Started() | Done():
                    self._hearing.on_message(lane, message)
                case _:
                    pass
        self.work()

    def _on_refused(self, lane: Lane, message: Refused) -> None:
        ticket = message.ticket
        if lane.is_canary(ticket):
            logger.error("canary refused worker=%s code=%s", lane.name, message.code)
            lane.suspend("canary_refused")
            return
        asked, running = self._preparation.take(ticket), lane.open.pop(ticket, None)
        generation = asked or running
        if generation is not None and not generation.ended:
            self.fail(generation, from_code(message.code, message.message, message.param))

    def work(self) -> None:
        """Give every free sequence to whose turn it is."""
        moved = False
        for lane in self.lanes.values():
            while lane.free > 0:
                generation = self.line.first(lane.name)
                if generation is None or generation.prompt_ids is None:
                    break  # its prompt is being prepared: the turn stays its own
                if not generation.answer_tokens:
                    self._routing.measured(generation)
                    if generation.ended or generation.lane != lane.name:
                        continue
                if lane.alone is not None or (generation.suspect and lane.open):
                    break  # a suspect runs by itself, so that it harms nobody else
                self._start(self.line.take(lane.name))
                moved = True
        if moved:
            self.line.tell_positions()
        self.health.balance()

    def _start(self, generation: Generation) -> None:
        generation.move(RequestState.DISPATCHED)
        generation.dispatched_at = now()
        self._running.add(generation)
        self._timers.runs(generation)
        self._starter.start(generation, self.lanes[generation.lane])

    def use_cpu_only(self, wanted: bool) -> None:  # noqa: FBT001 -- the word says it
        """Send everything to the CPU from now on, those who wait for a choice included, or no longer."""
        self.cpu_only = wanted
        if wanted:
            self._failover.gpu_is_gone("by_choice")
        self.work()

    def choose(self, request_id: str, choice: str) -> bool:
        """Carry out somebody's choice for a held request; see `Failover.choose`."""
        return self._failover.choose(request_id, choice)

    def _cancelled(self, generation: Generation) -> None:
        self.fail(generation, Cancelled("The client went away."), RequestState.CANCELLED)

    def cancel(self, request_id: str) -> bool:
        """Cancel by id; False if no such request is under way."""
        generation = self.find(request_id)
        if generation is None:
            return False
        text = "The request was cancelled."
        self.fail(generation, Cancelled(text), RequestState.CANCELLED)
        return True

    def fail(
        self,
        generation: Generation,
        error: HomeAIError,
        state: RequestState = RequestState.FAILED,
    ) -> None:
        """End a request with an error; nothing happens if it has ended."""
        if generation.ended:
            return
        for lane in self.lanes.values():
            for ticket in generation.tickets:
                if lane.open.pop(ticket, None) is not None:
                    lane.worker.send(Cancel(ticket=ticket))
        self._answers.failed(generation, error, state, now())
        self._failover.leave(generation)
        if self.line.leave(generation):
            self.line.tell_positions()
        self.forget(generation)
        self.work()

    def interrupt(self, generation: Generation) -> None:
        """Its worker ended; what becomes of it is being decided."""
        self._running.remove(generation)

    def forget(self, generation: Generation) -> None:
        """The request has ended."""
        self._running.remove(generation)
        self._timers.stop(generation)

    async def drain(self, grace_s: float) -> None:
        """Take nothing new, refuse what waits, let what runs finish for `grace_s`, then cancel it."""
        self.stopping = True
        for generation in [*self.line.order(), *self._failover.held]:
            self.fail(generation, ShuttingDown("The service is stopping.", retry_after_s=5))
        for generation in await self._running.wait_until_idle(grace_s):
            self.fail(generation, ShuttingDown("The service is stopping.", retry_after_s=5))
