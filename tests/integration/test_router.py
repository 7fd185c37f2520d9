"""Router and supervisor over a worker process that misbehaves on cue."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import psutil
import pytest

from homeai.domain.errors import HomeAIError
from homeai.domain.request import GenerationRequest, TextPrompt
from homeai.domain.states import WorkerState
from homeai.domain.stream import Delta, Failed, Finished, Notice, Queued
from homeai.protocol.messages import Load
from homeai.router.events import EventRing
from homeai.router.lane import Lane
from homeai.router.parties import Policy
from homeai.router.router import Router
from homeai.supervisor.process import WorkerProcess
from homeai.supervisor.terms import Listener
from homeai.supervisor.terms import Policy as WorkerPolicy
from homeai.supervisor.transport import Launch

SCRIPT = Path(__file__).parents[1] / "fakes" / "scripted_worker.py"
ROOT = Path(__file__).parents[2]


class House:
    """A router over one scripted worker, whose script can be changed between lives."""

    def __init__(self, script: dict, policy: Policy, worker_policy: WorkerPolicy) -> None:
        self.script = script
        self.endings: list = []
        self.worker = WorkerProcess(
            name="cpu",
            launch=self._launch,
            load=lambda: Load(path="none"),
            policy=worker_policy,
            listener=Listener(on_messages=self._on_messages, on_ending=self._on_ending),
            chance=lambda: 0.0,
        )
        self.router = Router([Lane(self.worker, proves=False)], lambda: policy, EventRing(), dict)
        self._count = 0

    def _launch(self) -> Launch:
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        return Launch([sys.executable, str(SCRIPT), json.dumps(self.script)], environment)

    def _on_messages(self, messages) -> None:
        self.router.on_messages("cpu", messages)

    def _on_ending(self, ending) -> None:
        self.endings.append(ending)
        self.router.health.on_ending("cpu", ending)

    def ask(self, client: str = "anna", **more):
        self._count += 1
        request = GenerationRequest(
            id=f"r{self._count}", client=client, prompt=TextPrompt("hello"), **more
        )
        return self.router.submit(request)


@asynccontextmanager
async def house(mode: str = "answer", *, policy: Policy | None = None, **script):
    worker_policy = script.pop("worker_policy", WorkerPolicy(stall_s=30))
    made = House({"mode": mode, **script}, policy or Policy(), worker_policy)
    async with asyncio.timeout(40), asyncio.TaskGroup() as group:
        group.create_task(made.worker.run())
        try:
            yield made
        finally:
            await made.worker.stop()


async def read(generation) -> list:
    """All events to the end."""
    events: list = []
    while not any(isinstance(e, Finished | Failed) for e in events):
        events += await generation.next_events()
    return events


async def error_of(generation) -> HomeAIError:
    return (await read(generation))[-1].error


def text(events) -> str:
    return "".join(e.text for e in events if isinstance(e, Delta))


async def until(condition) -> None:
    while not condition():  # noqa: ASYNC110 -- the state of another process has no event
        await asyncio.sleep(0.01)


async def test_an_answer_comes_in_order_and_ends_once():
    async with house(tokens=4) as home:
        events = await read(home.ask())

    assert text(events) == "aaaa"
    assert sum(isinstance(e, Finished) for e in events) == 1


async def test_a_request_waits_for_a_worker_that_still_starts():
    async with house() as home:
        generation = home.ask()
        assert home.worker.ready is None

        assert text(await read(generation)) == "aaa"


async def test_a_repeated_token_is_delivered_once():
    async with house("repeat") as home:
        assert text(await read(home.ask())) == "aaa"


async def test_several_choices_each_end_once():
    async with house() as home:
        generation = home.ask(n=3)
        events = []
        while sum(isinstance(e, Finished) for e in events) < 3:
            events += await generation.next_events()

    assert sorted(e.choice for e in events if isinstance(e, Finished)) == [0, 1, 2]


async def test_after_a_crash_what_ran_runs_again_before_what_waited():
    async with house("hold") as home:
        running = [home.ask(), home.ask()]
        await until(lambda: home.router.running == 2)
        waiting = [home.ask(), home.ask()]
        home.script = {"mode": "answer"}

        os.kill(home.worker.pid, signal.SIGKILL)

        again = [await read(g) for g in running]
        answers = [text(await read(g)) for g in waiting]

    assert [text(events) for events in again] == ["aaa", "aaa"]
    assert all(any(isinstance(e, Notice) for e in events) for events in again)
    assert answers == ["aaa", "aaa"]
    assert home.worker.restarts == 1


async def test_an_answer_that_a_crash_cut_goes_on_at_the_next_token():
    async with house("crash", tokens=4) as home:
        generation, events = home.ask(), []
        while not text(events):
            events += await generation.next_events()
        home.script = {"mode": "answer", "tokens": 4}
        events += await read(generation)

    assert text(events) == "aaaa"
    assert [a["outcome"] for a in generation.attempts] == ["crashed", "finished"]
    assert [a["tokens"] for a in generation.attempts] == [1, 3]
    assert "SIGABRT" in home.endings[0].sentence


async def test_without_resume_an_answer_that_had_begun_ends_with_an_error():
    async with house("crash", policy=Policy(resume=False)) as home:
        events = await read(home.ask())

    assert text(events) == "a"
    assert events[-1].error.code == "worker_failed"


async def test_a_request_that_ends_two_workers_is_poison_and_not_taken_again():
    async with house("crash_at_once") as home:
        first = await error_of(home.ask())
        again = await error_of(home.ask())

    assert first.code == again.code == "poison_request"
    assert len(home.endings) == 2


async def test_suspects_run_alone_and_the_innocent_finishes():
    async with house("hold") as home:
        poison, innocent = home.ask(stop=("poison",)), home.ask()
        await until(lambda: home.router.running == 2)
        home.script = {"mode": "answer", "deadly_stop": "poison"}
        os.kill(home.worker.pid, signal.SIGSEGV)

        error = await error_of(poison)
        answer = text(await read(innocent))

    assert error.code == "poison_request"
    assert answer == "aaa"


async def test_a_hung_worker_is_ended_and_its_request_goes_on():
    async with house("hang", worker_policy=WorkerPolicy(stall_s=1)) as home:
        generation = home.ask()
        await until(lambda: home.router.running == 1)
        home.script = {"mode": "answer"}

        again = text(await read(generation))

    assert "hung" in home.endings[0].sentence
    assert again == "aaa"


async def test_garbage_on_the_channel_ends_the_worker_not_the_core():
    async with house("garbage") as home:
        generation = home.ask()
        await until(lambda: home.worker.pid is not None)
        home.script = {"mode": "answer"}  # for the next life

        assert text(await read(generation)) == "aaa"


async def test_a_bad_model_is_not_tried_again_and_its_sentence_reaches_clients():
    async with house("bad_model") as home:
        waiting = home.ask()
        error = await error_of(waiting)
        with pytest.raises(HomeAIError, match="The file is bad"):
            await home.worker.ensure_ready()
        later = await error_of(home.ask())

    assert error.code == later.code == "model_invalid"
    assert home.worker.restarts == 0


async def test_a_worker_of_another_protocol_gives_up_after_some_tries():
    policy = WorkerPolicy(max_restarts=1, stall_s=30)
    async with house("old_protocol", worker_policy=policy) as home:
        await until(lambda: home.worker.state is WorkerState.FAILED)
        error = await error_of(home.ask())

    assert error.code == "circuit_open"
    assert home.worker.restarts == 1


async def test_a_deaf_worker_is_killed_when_the_core_stops(monkeypatch):
    monkeypatch.setattr("homeai.supervisor.process._STOP_GRACE_S", 0.3)
    async with house("deaf") as home:
        await home.worker.ensure_ready()
        process = psutil.Process(home.worker.pid)

    assert not process.is_running()


async def test_a_client_that_goes_away_frees_its_place_in_line_and_its_sequence():
    async with house("hold") as home:
        running = [home.ask(), home.ask()]
        await until(lambda: home.router.running == 2)
        waiting, last = home.ask(), home.ask()
        home.script = {"mode": "answer"}

        waiting.cancel()
        waiting.cancel()
        assert home.router.waiting == 1
        running[0].cancel()
        await until(lambda: home.router.running == 2)

        assert last.state == "dispatched"
        last.cancel()
        running[1].cancel()
        assert home.router.running == 0


async def test_a_cancel_before_the_prompt_is_prepared_ends_the_request():
    async with house() as home:
        generation = home.ask()
        generation.cancel()

        assert (await error_of(generation)).code == "cancelled"
        assert text(await read(home.ask())) == "aaa"


async def test_clients_take_turns_in_line():
    async with house("hold", ready={"sequences": 1}) as home:
        first = home.ask("anna")
        await until(lambda: home.router.running == 1)
        flood = [home.ask("anna") for _ in range(3)]
        newcomer = home.ask("bert")

        assert newcomer.position == 1
        assert [g.position for g in flood] == [0, 2, 3]
        events = await newcomer.next_events()
        assert isinstance(events[-1], Queued)
        for generation in (first, *flood, newcomer):
            generation.cancel()


async def test_the_line_is_bounded_and_says_when_to_come_back():
    policy = Policy(queue_total=1, queue_per_client=1)
    async with house("hold", ready={"sequences": 1}, policy=policy) as home:
        running = home.ask()
        await until(lambda: home.router.running == 1)
        waiting = home.ask()
        refused = await error_of(home.ask())
        for generation in (running, waiting):
            generation.cancel()

    assert refused.code == "queue_full"
    assert refused.retry_after_s >= 1


async def test_a_wait_that_is_too_long_and_a_deadline_end_with_their_own_errors():
    policy = Policy(queue_wait_s=0.2)
    async with house("hold", ready={"sequences": 1}, policy=policy) as home:
        running = home.ask(deadline_s=0.6)
        await until(lambda: home.router.running == 1)
        waited = await error_of(home.ask())
        late = await error_of(running)

    assert waited.code == "queue_full"
    assert late.code == "latency_exceeds_deadline"
    assert home.router.running == home.router.waiting == 0


async def test_a_prompt_beyond_the_context_is_refused_before_it_waits():
    async with house() as home:
        error = await error_of(home.ask(max_tokens=96))

    assert error.code == "context_length_exceeded"
    assert error.details["context_tokens"] == 100


async def test_draining_refuses_new_and_waiting_requests_and_ends_running_ones():
    async with house("hold", ready={"sequences": 1}) as home:
        running = home.ask()
        await until(lambda: home.router.running == 1)
        waiting = home.ask()

        await home.router.drain(0.1)

        codes = [(await error_of(g)).code for g in (running, waiting, home.ask())]

    assert codes == ["shutting_down"] * 3


async def test_a_flood_is_answered_or_refused_each_exactly_once():
    async with house(policy=Policy(queue_total=20, queue_per_client=20)) as home:
        await home.worker.ensure_ready()
        asked = [home.ask(f"client{n % 7}") for n in range(500)]

        ends = [(await read(g))[-1] for g in asked]

    assert sum(isinstance(e, Finished) for e in ends) >= 20
    assert all(isinstance(e, Finished) or e.error.code == "queue_full" for e in ends)
    assert home.router.running == home.router.waiting == 0
