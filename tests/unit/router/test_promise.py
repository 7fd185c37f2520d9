"""What was promised before a CPU attempt, and what is told of it when the answer is there."""

from __future__ import annotations

import pytest

from homeai.domain.events import RequestAttemptEnded, RequestFinished
from homeai.domain.request import GenerationRequest, TextPrompt
from homeai.protocol.messages import Done, Piece, Prepare, Prepared, Ready, Step, Submit
from homeai.protocol.tokens import ids_to_bytes
from homeai.router import failover, hearing, router, routing
from homeai.router.events import EventRing
from homeai.router.lane import Lane
from homeai.router.parties import Policy
from homeai.router.router import Router
from homeai.service.metrics import Metrics
from homeai.supervisor.diagnosis import Ending
from tests.fakes.figures import read
from tests.fakes.scripted_core import ScriptedCore

CRASH = Ending("worker_failed", "The worker was ended.", reason="crashed")
PROMPT = ids_to_bytes(range(20))


class Silent:
    """A worker that is up and keeps what it is sent."""

    def __init__(self, name: str) -> None:
        self.name, self.failure, self.sent = name, None, []
        self.ready = Ready(context_tokens=500, train_context_tokens=500, sequences=1, vocab=99)

    def send(self, message) -> None:
        self.sent.append(message)

    def orders(self, kind) -> list:
        return [message for message in self.sent if isinstance(message, kind)]


class House:
    """A router between two workers of known speed, under a clock that stands still."""

    def __init__(self, monkeypatch) -> None:
        self.clock, self.log = 1000.0, []
        for module in (failover, hearing, router, routing):
            monkeypatch.setattr(module, "now", lambda: self.clock)
        self.gpu, self.cpu = Silent("gpu"), Silent("cpu")
        lanes = [Lane(self.gpu, proves=True), Lane(self.cpu, proves=False)]
        lanes[1].latency.observe(prompt_tokens=100, prefill_s=1, new_tokens=100, decode_s=10)
        self.metrics = Metrics(ScriptedCore().snapshot)
        ring = EventRing(1, lambda _number, event: self.log.append(event), self.metrics.count)
        self.router = Router(lanes, lambda: Policy(canaries=0), ring, dict)
        for worker in (self.gpu, self.cpu):
            self.router.on_messages(worker.name, [worker.ready])

    def ask(self, **more):
        """A request that the GPU answers with two tokens before it crashes."""
        request = GenerationRequest(
            id="r1", client="anna", prompt=TextPrompt("hello"), max_tokens=10, **more
        )
        generation = self.router.submit(request)
        order = self._order(self.gpu)
        self.router.on_messages("gpu", [Step(pieces=[Piece(order.ticket, 0, [7, 7], "ab")])])
        self.router.health.on_ending("gpu", CRASH)
        return generation

    def _order(self, worker: Silent) -> Submit:
        for wanted in worker.orders(Prepare):
            self.router.on_messages(
                worker.name, [Prepared(ticket=wanted.ticket, prompt_ids=PROMPT)]
            )
        order = worker.orders(Submit)[-1]
        if order.prompt is not None:
            self.router.on_messages(worker.name, [Prepared(ticket=order.ticket, prompt_ids=PROMPT)])
        return order

    def finish(self, worker: Silent, *, after_s: float) -> RequestFinished:
        """The worker completes what it was asked for; returns what is told of that."""
        order = self._order(worker)
        self.clock += after_s
        done = Done(
            ticket=order.ticket,
            reason="stop",
            prompt_tokens=20,
            completion_tokens=5,
            cached_tokens=0,
            prefill_s=0.0,
            decode_s=0.0,
        )
        piece = Piece(order.ticket, 2, [7, 7, 7], "cde")
        self.router.on_messages(worker.name, [Step(pieces=[piece]), done])
        return next(event for event in self.log if isinstance(event, RequestFinished))

    def figures(self) -> dict[str, float]:
        return read(self.metrics.text("")[1].decode())


@pytest.fixture
async def house(monkeypatch):
    return House(monkeypatch)


async def test_a_failover_is_told_with_its_promise_and_the_tokens_of_each_attempt(house):
    house.ask()

    end = house.finish(house.cpu, after_s=0.8)

    attempts = [event for event in house.log if isinstance(event, RequestAttemptEnded)]
    assert [(a.worker, a.outcome, a.tokens) for a in attempts] == [
        ("gpu", "crashed", 2),
        ("cpu", "finished", 3),
    ]
    assert end.actual_ms == 800
    assert 0 < end.estimate_ms["p50"] < end.estimate_ms["p90"]
    figures = house.figures()
    assert figures['homeai_failovers_total{reason="crashed",verdict="retry"}'] == 1
    assert figures["homeai_estimate_ratio_sum"] == pytest.approx(800 / end.estimate_ms["p50"])
    assert figures['homeai_estimate_within_p90_total{within="true"}'] == 1


async def test_an_answer_after_the_promised_time_is_graded_as_late(house):
    house.ask()

    house.finish(house.cpu, after_s=60)

    assert house.figures()['homeai_estimate_within_p90_total{within="false"}'] == 1


async def test_the_time_somebody_takes_to_choose_is_not_held_against_the_promise(house):
    house.ask(fallback="ask")
    house.clock += 60

    house.router.choose("r1", "retry_cpu")

    assert house.finish(house.cpu, after_s=0.5).actual_ms == 500


async def test_a_promise_of_the_cpu_is_not_graded_by_an_answer_of_the_gpu(house):
    house.ask(fallback="ask")
    house.router.choose("r1", "wait_gpu")
    house.router.on_messages("gpu", [house.gpu.ready])

    end = house.finish(house.gpu, after_s=0.1)

    assert (end.estimate_ms, end.actual_ms) == (None, None)
    assert house.figures()["homeai_estimate_ratio_count"] == 0


async def test_an_undisturbed_answer_was_promised_nothing(house):
    request = GenerationRequest(id="r1", client="anna", prompt=TextPrompt("hello"), max_tokens=10)
    house.router.submit(request)
    order = house._order(house.gpu)
    house.router.on_messages("gpu", [Step(pieces=[Piece(order.ticket, 0, [7, 7], "ab")])])

    end = house.finish(house.gpu, after_s=0.1)

    assert end.estimate_ms is None
    assert house.figures()["homeai_estimate_ratio_count"] == 0
    assert house.figures()['homeai_prompt_tokens_total{device="gpu"}'] == 20
