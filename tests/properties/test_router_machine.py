"""Whatever workers, clients and owners do, in whatever order: the promises of the router hold.

One terminal event for each request · at most two attempts · each token once and in order · nothing is
dispatched after the end · the GPU gets no work before its canaries.
"""

from __future__ import annotations

import asyncio

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from homeai.domain.errors import WorkerFailed
from homeai.domain.request import GenerationRequest, TextPrompt
from homeai.domain.stream import Delta, Failed, Finished
from homeai.protocol.messages import (
    Cancel,
    Done,
    Piece,
    Prepare,
    Prepared,
    Ready,
    Started,
    Step,
    Submit,
)
from homeai.protocol.tokens import ids_to_bytes
from homeai.router.events import EventRing
from homeai.router.lane import Lane
from homeai.router.parties import Policy
from homeai.router.router import Router
from homeai.supervisor.diagnosis import Ending

PROMPT = ids_to_bytes([1, 2, 3])
REASONS = ["out_of_memory", "compute_failed", "hung", "ended", "ram_short", "kernels_missing"]


class ScriptedWorker:
    """A worker of which the test decides what it says and when."""

    def __init__(self, name: str, machine: RouterMachine) -> None:
        self.name, self._machine = name, machine
        self.ready: Ready | None = None
        self.failure = None
        self.unprepared: list[int] = []
        self.running: dict[int, int] = {}  # ticket -> index of the next token
        self.canaries: list[int] = []
        self.good_canaries = 0

    def come_up(self) -> Ready:
        self.ready = Ready(context_tokens=64, train_context_tokens=64, sequences=2, vocab=99)
        self.failure, self.good_canaries = None, 0
        return self.ready

    def die(self) -> None:
        self.ready = None
        self.unprepared, self.canaries = [], []
        self.running.clear()

    def send(self, message) -> None:
        if isinstance(message, Cancel) and self.ready is None:
            return  # a real one loses it, too
        assert self.ready is not None, "a message to a worker that is not up"
        match message:
            case Prepare():
                self.unprepared.append(message.ticket)
            case Submit() if message.client == "canary":
                self.canaries.append(message.ticket)
            case Submit():
                self._machine.dispatched(self, message)
                if message.prompt is not None:
                    self.unprepared.append(message.ticket)
                self.running[message.ticket] = len(message.accepted_ids) // 4
            case Cancel():
                self.running.pop(message.ticket, None)


class RouterMachine(RuleBasedStateMachine):
    """The router between two scripted workers."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.gpu, self.cpu = ScriptedWorker("gpu", self), ScriptedWorker("cpu", self)
        self.workers = {"gpu": self.gpu, "cpu": self.cpu}
        self.asked: dict[str, object] = {}
        self.events: dict[str, list] = {}
        self.count = 0
        self.router = self._in_loop(self._build)

    def _build(self) -> Router:
        lanes = [
            Lane(self.gpu, proves=True, context_tokens=64),
            Lane(self.cpu, proves=False, context_tokens=64),
        ]
        return Router(lanes, lambda: Policy(canaries=2, queue_total=8), EventRing(), dict)

    def _in_loop(self, action):
        async def run():
            return action()

        return self.loop.run_until_complete(run())

    def teardown(self) -> None:
        self._in_loop(lambda: [self.router.cancel(name) for name in self.asked])
        self.loop.close()

    def dispatched(self, worker: ScriptedWorker, order: Submit) -> None:
        generation = next(g for g in self.asked.values() if order.ticket in g.tickets)
        assert not generation.ended, "dispatched after its end"
        assert worker is self.cpu or worker.good_canaries >= 2, "the GPU had not proved itself"
        accepted = len(order.accepted_ids) // 4
        assert accepted == generation.ledgers[0].delivered, "resumed at another token"

    def _say(self, worker: ScriptedWorker, *messages) -> None:
        self._in_loop(lambda: self.router.on_messages(worker.name, list(messages)))

    @initialize(well=st.sampled_from([True, True, True, False]))
    def begin(self, well):
        """Mostly with both workers up and requests on the GPU: what follows is the interesting part."""
        if not well:
            return
        self._say(self.cpu, self.cpu.come_up())
        self._say(self.gpu, self.gpu.come_up())
        while self.gpu.canaries:
            self.canary_sings()
        for client in ("a", "b"):
            self.arrive(client, None)
            self.worker_prepares("gpu")
            self.worker_draws("gpu", 0, again=False)

    # ---- what may happen --------------------------------------------------------------------------

    @rule(client=st.sampled_from("abc"), fallback=st.sampled_from([None, "auto", "ask", "never"]))
    def arrive(self, client, fallback):
        self.count += 1
        request = GenerationRequest(
            id=f"r{self.count}",
            client=client,
            prompt=TextPrompt("x"),
            max_tokens=6,
            fallback=fallback,
        )

        def submit():
            generation = self.router.submit(request)
            self.asked[request.id], self.events[request.id] = generation, []

        # known before it is dispatched, which may happen at once
        original = self.router.records.add

        def add(generation):
            self.asked[request.id], self.events[request.id] = generation, []
            original(generation)

        self.router.records.add = add
        self._in_loop(submit)
        self.router.records.add = original

    @rule(name=st.sampled_from(["gpu", "cpu"]))
    def worker_comes_up(self, name):
        worker = self.workers[name]
        if worker.ready is None:
            self._say(worker, worker.come_up())

    @rule(
        name=st.sampled_from(["gpu", "cpu"]), signal=st.booleans(), reason=st.sampled_from(REASONS)
    )
    def worker_dies(self, name, signal, reason):
        worker = self.workers[name]
        if worker.ready is None:
            return
        worker.die()
        reason = "crashed" if signal else reason
        ending = Ending("worker_failed", "It ended.", reason=reason, by_signal=signal)
        self._in_loop(lambda: self.router.health.on_ending(name, ending))

    @rule(name=st.sampled_from(["gpu", "cpu"]))
    def worker_gives_up(self, name):
        worker = self.workers[name]
        if worker.ready is None and worker.failure is None:
            worker.failure = WorkerFailed("It gave up.")
            ending = Ending("worker_failed", "It gave up.")
            self._in_loop(lambda: self.router.health.on_ending(name, ending))

    @rule(name=st.sampled_from(["gpu", "cpu"]))
    def worker_prepares(self, name):
        worker = self.workers[name]
        if worker.unprepared:
            self._say(worker, Prepared(ticket=worker.unprepared.pop(0), prompt_ids=PROMPT))

    @precondition(lambda self: self.gpu.canaries)
    @rule()
    def canary_sings(self):
        self.gpu.good_canaries += 1
        self._say(self.gpu, _done(self.gpu.canaries.pop(0), 4))

    @rule(name=st.sampled_from(["gpu", "cpu"]), which=st.integers(0, 5), again=st.booleans())
    def worker_draws(self, name, which, again):
        worker = self.workers[name]
        free = [t for t in worker.running if t not in worker.unprepared]
        if not free:
            return
        ticket = free[which % len(free)]
        index = worker.running[ticket]
        worker.running[ticket] += 1
        step = Step(pieces=[Piece(ticket, index, [index], f"{index} ")])
        self._say(worker, Started(ticket=ticket, cached_tokens=0), step)
        if again and worker.ready is not None:
            self._say(worker, step)  # a repeat must not be seen

    @rule(name=st.sampled_from(["gpu", "cpu"]), which=st.integers(0, 5))
    def worker_finishes(self, name, which):
        worker = self.workers[name]
        free = [t for t in worker.running if t not in worker.unprepared]
        if free:
            ticket = free[which % len(free)]
            tokens = worker.running.pop(ticket)
            self._say(worker, Started(ticket=ticket, cached_tokens=0), _done(ticket, tokens))

    @rule(which=st.integers(0, 20))
    def client_leaves(self, which):
        if self.asked:
            generation = list(self.asked.values())[which % len(self.asked)]
            self._in_loop(generation.cancel)

    @rule(which=st.integers(0, 20), choice=st.sampled_from(["retry_cpu", "wait_gpu", "cancel"]))
    def somebody_chooses(self, which, choice):
        if self.asked:
            name = list(self.asked)[which % len(self.asked)]
            self._in_loop(lambda: self.router.choose(name, choice))

    # ---- what always holds ------------------------------------------------------------------------

    @invariant()
    def the_promises_hold(self):
        for name, generation in self.asked.items():
            seen = self.events[name]
            seen += list(generation._events)
            generation._events.clear()
            ends = [event for event in seen if isinstance(event, Finished | Failed)]
            assert len(ends) <= 1, f"{name} ended {len(ends)} times"
            assert bool(ends) == generation.ended
            assert not ends or seen[-1] is ends[0], f"{name} went on after its end"
            text = "".join(event.text for event in seen if isinstance(event, Delta))
            assert text == "".join(f"{n} " for n in range(len(text.split()))), text
            assert len(generation.attempts) <= 2

    @invariant()
    def nobody_is_forgotten(self):
        router = self.router
        for name, generation in self.asked.items():
            assert generation.ended or router.find(name) is generation, f"{name} is nowhere"

    @invariant()
    def no_worker_has_more_than_it_can_hold(self):
        for lane in self.router.lanes.values():
            assert len(lane.open) <= 2


def _done(ticket: int, tokens: int) -> Done:
    return Done(
        ticket=ticket,
        reason="stop",
        prompt_tokens=3,
        completion_tokens=tokens,
        cached_tokens=0,
        prefill_s=0.01,
        decode_s=0.01,
    )


RouterMachine.TestCase.settings = settings(max_examples=150, stateful_step_count=50, deadline=None)
TestRouter = RouterMachine.TestCase
