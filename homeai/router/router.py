"""The one place where requests meet workers: feeds events to pure deciders and carries verdicts out.

Runs in the event loop and never blocks. Everything is driven by four inputs: a request arrives, a
worker says something, a worker's state changes, a reader gives up.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
from collections.abc import Callable, Iterable
from typing import Any

from homeai.domain import events as happened
from homeai.domain.errors import (
    Cancelled,
    HomeAIError,
    ShuttingDown,
    from_code,
)
from homeai.domain.request import GenerationRequest
from homeai.domain.states import RequestState
from homeai.domain.stream import Notice
from homeai.protocol.messages import (
    Cancel,
    Done,
    FromWorker,
    Piece,
    Prepared,
    Ready,
    Refused,
    Started,
    Step,
)
from homeai.router import admission, dispatch, orders
from homeai.router.answers import PLANNED_REASONS, Answers
from homeai.router.dispatch import CPU, GPU, Ask, Fallback, LaneState, Refuse, To
from homeai.router.events import EventRing
from homeai.router.failover import Failover
from homeai.router.generation import Generation
from homeai.router.lane import Lane
from homeai.router.ledger import LedgerError
from homeai.router.line import Line
from homeai.router.parties import NoRecorder, Policy, Recorder
from homeai.router.preparation import Preparation
from homeai.router.records import Records
from homeai.supervisor.diagnosis import Ending

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
        self._running: dict[str, Generation] = {}
        self._line = Line(self.lanes, log)
        self._tickets = itertools.count(1)
        self._preparation = Preparation(self.lanes, self._tickets, self._measured)
        self._failover = Failover(self, self.lanes, self._line, policy, log)
        self._answers = Answers(log, provenance, self._recorder)
        self._cpu_wanted, self._wants_cpu = cpu_wanted, False
        self.cpu_only = False
        self._stopping = False
        self._idle = asyncio.Event()
        self.records = Records()

    @property
    def running(self) -> int:
        """Requests a worker works for."""
        return len(self._running)

    @property
    def waiting(self) -> int:
        """Requests in line, or waiting for a choice."""
        return len(self._line) + len(self._failover.held)

    @property
    def needs_cpu(self) -> bool:
        """Whether somebody counts on the CPU worker."""
        return self._wants_cpu

    def drop_gpu(self) -> None:
        """There is no GPU: what waits for it goes to the CPU, which is the usual way now."""
        del self.lanes[GPU]
        for generation in [*self._line.order(), *self._failover.held]:
            generation.lane, generation.reason = CPU, None
        self._preparation.resume(self._line.order())
        self.work()

    # ---- a request arrives ------------------------------------------------------------------------

    def submit(self, request: GenerationRequest) -> Generation:
        """Take a request in; a refusal arrives as its `Failed` event."""
        now = self._now()
        generation = Generation(request, now, self._cancelled)
        self.records.add(generation)
        self._log.append(happened.RequestReceived(request_id=request.id, client=request.client))
        self._recorder.received(request.id, request.client)
        policy = self._policy()
        verdict = self._route(request, policy)
        if isinstance(verdict, Refuse):
            self.fail(generation, verdict.error)
            return generation
        generation.move(RequestState.WAITING)
        wait_s = min(policy.queue_wait_s, generation.deadline_s(policy.deadline_s))
        loop = asyncio.get_running_loop()
        generation.timer = loop.call_later(wait_s, self._waited_too_long, generation)
        if isinstance(verdict, Ask):
            self._failover.hold(generation, verdict.reason)
            self._preparation.ask(generation)
            self._balance()
            return generation
        generation.lane, generation.reason = verdict.lane, verdict.reason
        if self._may_start_at_once(generation):
            self._start(generation)
            return generation
        self._line.join(generation)
        self._preparation.ask(generation)
        self._line.tell_positions()
        self._balance()
        return generation

    def refuse(self, request: GenerationRequest, error: HomeAIError) -> Generation:
        """Record a request that ends with `error` before it comes in."""
        generation = Generation(request, self._now(), self._cancelled)
        self.records.add(generation)
        self._recorder.received(request.id, request.client)
        self.fail(generation, error)
        return generation

    def _route(self, request: GenerationRequest, policy: Policy) -> dispatch.Verdict:
        error = self._refusal(request)
        if error is not None:
            return Refuse(error)
        verdict = dispatch.route(
            cpu_only=self.cpu_only,
            fallback=self._failover.fallback(request),
            gpu=self.lanes[GPU].view() if GPU in self.lanes else None,
            cpu=self._failover.cpu_view(),
        )
        if isinstance(verdict, Refuse):
            return verdict
        lane = self.lanes[verdict.lane if isinstance(verdict, To) else CPU]
        failure = lane.worker.failure
        if isinstance(verdict, To) and verdict.lane == CPU and failure is not None:
            return Refuse(failure)
        error = self._line.refusal(request, policy, idle=lane.free > 0)
        return verdict if error is None else Refuse(error)

    def _refusal(self, request: GenerationRequest) -> HomeAIError | None:
        if self._stopping:
            return ShuttingDown("The service is stopping.", retry_after_s=5)
        if self._find(request.id) is not None:
            return from_code("invalid_request", f"A request with the id {request.id} is under way.")
        return self._failover.quarantined(request)

    def _find(self, request_id: str) -> Generation | None:
        return (
            self._line.get(request_id)
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
            and not len(self._line)
            and lane.free > 0
            and lane.alone is None
        )

    def _measured(self, generation: Generation) -> None:
        """The length of a prompt is known: is there room, and time?"""
        if generation.ended or (
            generation.attempts and generation.state is RequestState.FAILING_OVER
        ):
            return
        length = self._length(generation, self.lanes[generation.lane])
        if isinstance(length, admission.Refuse) and self._may_go_to_cpu(generation):
            generation.lane, generation.reason = CPU, "exceeds_gpu_profile"
            length = self._length(generation, self.lanes[CPU])
            self._line.tell_positions()
            self._balance()
        if isinstance(length, admission.Refuse):
            self.fail(generation, length.error)
            return
        generation.answer_tokens = length
        if generation.lane == CPU and generation.reason and generation.estimate is None:
            self._promise(generation)

    def _length(self, generation: Generation, lane: Lane) -> int | admission.Refuse:
        return admission.answer_length(
            prompt_tokens=generation.prompt_tokens,
            max_tokens=generation.request.max_tokens,
            context_tokens=lane.context,
        )

    def _may_go_to_cpu(self, generation: Generation) -> bool:
        return (
            generation.lane == GPU
            and not generation.attempts
            and self._failover.fallback(generation.request) is not Fallback.NEVER
            and self._failover.cpu_view().error is None
        )

    def _promise(self, generation: Generation) -> None:
        """Tell how long the CPU will take, before it begins, or refuse what would be too late."""
        estimate = self._failover.estimate(generation)
        if estimate is None:
            return
        generation.estimate, generation.promised_at = estimate, self._now()
        left_s = generation.deadline_s(self._policy().deadline_s) - self._now() + generation.arrived
        ahead = generation.position or 0
        gpu = self.lanes[GPU].view() if GPU in self.lanes else None
        late = dispatch.too_late(estimate, left_s=left_s, ahead=ahead)
        if late is not None and generation.reason not in PLANNED_REASONS:
            if gpu is not None and gpu.state is LaneState.COMING:
                generation.lane, generation.reason, generation.estimate = GPU, None, None
                generation.emit(Notice("waiting", {"device": GPU}))
                return
            self.fail(generation, late)
            return
        facts = {"reason": generation.reason, "device": CPU, "estimate_ms": estimate.body()}
        generation.emit(Notice("degraded", facts))

    # ---- a worker says something ------------------------------------------------------------------

    def on_messages(self, lane_name: str, messages: list[FromWorker]) -> None:
        """Take in what a worker sent."""
        lane = self.lanes[lane_name]
        for message in messages:
            match message:
                case Step():
                    for piece in message.pieces:
                        self._on_piece(lane, piece)
                case Prepared():
                    self._preparation.done(message)
                case Started():
                    if (generation := lane.open.get(message.ticket)) is not None:
                        self._answers.started(generation, message)
                case Done():
                    self._on_done(lane, message)
                case Refused():
                    self._on_refused(lane, message)
                case Ready():
                    lane.became_ready(self._policy().canaries, next(self._tickets))
                    self._serves(lane)
                case _:
                    pass
        self.work()

    def _serves(self, lane: Lane) -> None:
        self._preparation.resume([*self._line.order(), *self._failover.held])
        if lane.serving and lane.name == GPU and not self.cpu_only:
            self._failover.gpu_is_back()

    def _on_piece(self, lane: Lane, piece: Piece) -> None:
        generation = lane.open.get(piece.ticket)
        if generation is None:
            return
        try:
            self._answers.piece(generation, piece, self._now())
        except LedgerError as error:
            logger.error("answer out of order request=%s what=%s", generation.request_id, error)  # noqa: TRY400
            self.fail(generation, from_code("worker_failed", "The worker lost part of the answer."))

    def _on_done(self, lane: Lane, message: Done) -> None:
        if lane.is_canary(message.ticket):
            if lane.canary_done(message.ticket, next(self._tickets)):
                self._serves(lane)
            return
        generation = lane.open.pop(message.ticket, None)
        if generation is None:
            return
        now = self._now()
        self._learn(lane, generation, message)
        if self._answers.finished(generation, message, now):
            self._line.times.observe(now - (generation.dispatched_at or now))
            if generation.estimate is not None and generation.promised_at is not None:
                lane.latency.grade(generation.estimate, 1000 * (now - generation.promised_at))
            self._forget(generation)

    def _learn(self, lane: Lane, generation: Generation, message: Done) -> None:
        if message.reason == "cancelled":
            return
        first = generation.resumed_at or 0
        lane.latency.observe(
            prompt_tokens=message.prompt_tokens - message.cached_tokens + first,
            prefill_s=message.prefill_s,
            new_tokens=message.completion_tokens - first - 1,
            decode_s=message.decode_s,
        )
        for other in self.lanes.values():
            other.latency.observe_length(
                new_tokens=message.completion_tokens, allowed=generation.request.max_tokens
            )

    def _on_refused(self, lane: Lane, message: Refused) -> None:
        ticket = message.ticket
        if lane.is_canary(ticket):
            logger.error("canary refused worker=%s code=%s", lane.name, message.code)
            return
        asked, running = self._preparation.take(ticket), lane.open.pop(ticket, None)
        generation = asked or running
        if generation is not None and not generation.ended:
            self.fail(generation, from_code(message.code, message.message, message.param))

    def on_ending(self, lane_name: str, ending: Ending) -> None:
        """A worker ended: what it held is tried elsewhere or told why not; what waits keeps its place."""
        lane = self.lanes[lane_name]
        lane.suspend(ending.reason)
        held = list({g.request_id: g for g in lane.open.values() if not g.ended}.values())
        lane.open.clear()
        for generation in held:
            generation.tickets.clear()
            self._answers.close_attempt(generation, ending.reason)
            self._running.pop(generation.request_id, None)
        self._failover.interrupted(held, lane, ending)
        self._preparation.clear(lane_name)
        for generation in self._line.order(lane_name):
            self._again(generation)
        if not self._running:
            self._idle.set()
        self.work()

    def _again(self, generation: Generation) -> None:
        """Route a request that waits for a worker that has ended."""
        if generation.attempts and generation.lane == CPU:
            failure = self.lanes[CPU].worker.failure
            if failure is not None:
                self.fail(generation, failure)
            return
        gpu = self.lanes[GPU].view() if GPU in self.lanes else None
        verdict = dispatch.route(
            cpu_only=self.cpu_only,
            fallback=self._failover.fallback(generation.request),
            gpu=gpu,
            cpu=self._failover.cpu_view(),
        )
        match verdict:
            case Refuse(error):
                self.fail(generation, error)
            case Ask(reason):
                self._line.leave(generation)
                self._failover.hold(generation, reason)
            case To(lane, reason):
                generation.lane, generation.reason = lane, reason
                failure = self.lanes[lane].worker.failure
                if failure is not None:
                    self.fail(generation, failure)
                else:
                    self._preparation.resume([generation])

    # ---- work -------------------------------------------------------------------------------------

    def work(self) -> None:
        """Give every free sequence to whose turn it is."""
        moved = False
        for lane in self.lanes.values():
            while lane.free > 0:
                generation = self._line.first(lane.name)
                if generation is None or generation.prompt_ids is None:
                    break  # its prompt is being prepared: the turn stays its own
                if not generation.answer_tokens:
                    self._measured(generation)
                    if generation.ended or generation.lane != lane.name:
                        continue
                if lane.alone is not None or (generation.suspect and lane.open):
                    break  # a suspect runs by itself, so that it harms nobody else
                self._start(self._line.take(lane.name))
                moved = True
        if moved:
            self._line.tell_positions()
        self._balance()

    def _balance(self) -> None:
        """Say whether the CPU worker is needed: somebody counts on it, or the GPU is away."""
        gpu = self.lanes.get(GPU)
        wanted = (
            gpu is None
            or self.cpu_only
            or (gpu.reason is not None and self._failover.cpu_view().error is None)
            or bool(self.lanes[CPU].open)
            or bool(self._line.order(CPU))
        )
        if wanted is not self._wants_cpu:
            self._wants_cpu = wanted
            self._cpu_wanted(wanted)

    def _start(self, generation: Generation) -> None:
        request, now, lane = generation.request, self._now(), self.lanes[generation.lane]
        generation.move(RequestState.DISPATCHED)
        generation.dispatched_at = now
        self._running[request.id] = generation
        self._idle.clear()
        if generation.timer is not None:
            generation.timer.cancel()
        due_s = generation.deadline_s(self._policy().deadline_s)
        loop = asyncio.get_running_loop()
        left_s = max(due_s - (now - generation.arrived), 0)
        generation.timer = loop.call_later(left_s, self._past_deadline, generation, due_s)
        number = self._answers.dispatched(generation, lane.name)
        tickets = {}
        for choice in generation.open_choices:
            ticket = next(self._tickets)
            tickets[ticket] = generation.tickets[ticket] = choice
            lane.open[ticket] = generation
            if generation.prompt_ids is None:
                self._preparation.expect(ticket, generation)

        def send() -> None:
            for ticket, choice in tickets.items():
                if lane.open.get(ticket) is generation:  # else it ended while it was written down
                    lane.worker.send(orders.submit(ticket, generation, choice))

        self._recorder.attempt(request.id, number, lane.name, lane.name, send)

    # ---- endings ----------------------------------------------------------------------------------

    def choose(self, request_id: str, choice: str) -> bool:
        """Carry out somebody's choice for a held request; see `Failover.choose`."""
        return self._failover.choose(request_id, choice)

    def _cancelled(self, generation: Generation) -> None:
        self.fail(generation, Cancelled("The client went away."), RequestState.CANCELLED)

    def cancel(self, request_id: str) -> bool:
        """Cancel by id; False if no such request is under way."""
        generation = self._find(request_id)
        if generation is None:
            return False
        text = "The request was cancelled."
        self.fail(generation, Cancelled(text), RequestState.CANCELLED)
        return True

    def _waited_too_long(self, generation: Generation) -> None:
        if generation.ended:
            return
        waited_s = self._now() - generation.arrived
        again_s = self._line.ahead_s(generation.lane or CPU, generation.position or 0)
        ready = any(lane.worker.ready is not None for lane in self.lanes.values())
        self.fail(generation, admission.waited_too_long(waited_s, again_s, ready=ready))

    def _past_deadline(self, generation: Generation, due_s: float) -> None:
        if not generation.ended:
            self.fail(generation, admission.past_deadline(due_s))

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
        self._answers.failed(generation, error, state, self._now())
        self._failover.leave(generation)
        if self._line.leave(generation):
            self._line.tell_positions()
        self._forget(generation)
        self.work()

    def _forget(self, generation: Generation) -> None:
        if self._running.get(generation.request_id) is generation:
            del self._running[generation.request_id]
            if not self._running:
                self._idle.set()
        if generation.timer is not None:
            generation.timer.cancel()
            generation.timer = None

    # ---- stopping -----------------------------------------------------------------------------------

    async def drain(self, grace_s: float) -> None:
        """Take nothing new, refuse what waits, let what runs finish for `grace_s`, then cancel it."""
        self._stopping = True
        for generation in [*self._line.order(), *self._failover.held]:
            self.fail(generation, ShuttingDown("The service is stopping.", retry_after_s=5))
        self._idle.clear()
        if self._running:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(grace_s):
                    await self._idle.wait()
        for generation in list(self._running.values()):
            self.fail(generation, ShuttingDown("The service is stopping.", retry_after_s=5))

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()
